"""What is logged of exceptions: enough, and never without end."""

from __future__ import annotations

import logging

import pytest

from snodo._logging import JsonFormatter, TextFormatter
from snodo._report import report


def reported(caplog: pytest.LogCaptureFixture, exception: Exception) -> logging.LogRecord:
    try:
        raise exception
    except Exception as raised:
        identifier = report("Tool", "fails", raised)
    (record,) = caplog.records
    assert identifier in record.getMessage()
    return record


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()])
def test_a_traceback_is_logged(
    caplog: pytest.LogCaptureFixture, formatter: logging.Formatter
) -> None:
    record = reported(caplog, ValueError("no database"))
    assert record.exc_info is not None
    assert "ValueError: no database" in formatter.format(record)
    assert "raise exception" in formatter.format(record)


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()])
def test_a_text_without_end_is_cut(
    caplog: pytest.LogCaptureFixture, formatter: logging.Formatter
) -> None:
    line = formatter.format(reported(caplog, ValueError("é" * 10_000_000)))
    assert len(line.encode()) < 66 * 1024
    assert "bytes cut]" in line
    assert "raise exception" in line


def test_an_exception_that_cannot_tell_its_text_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Silent(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    line = TextFormatter().format(reported(caplog, Silent()))
    assert "Silent" in line
    assert "raise exception" in line
