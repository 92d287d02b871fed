"""Other people's clients against a served file."""
