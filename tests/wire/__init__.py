"""Literal messages in, literal messages out, per revision."""
