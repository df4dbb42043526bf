"""Structured logs: a JSON object a line, with identities and numbers, and never with data."""

from __future__ import annotations

import json
import logging
from datetime import datetime, timezone
from typing import Final, TextIO

STANDARD: Final = {*logging.makeLogRecord({}).__dict__, "message", "asctime", "taskName"}
"""Fields that every record has."""

ROOTS: Final = ("palladion", "uvicorn.error", "grpc")


class AsJson(logging.Formatter):
    """A record as a line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        at = datetime.fromtimestamp(record.created, timezone.utc)
        more = {key: value for key, value in record.__dict__.items() if key not in STANDARD}
        if record.exc_info and record.exc_info[1]:
            # The type alone: the text of an error may quote an input.
            more["error"] = type(record.exc_info[1]).__name__
            more["where"] = places(record)
        line = {"at": at.isoformat(timespec="milliseconds"), "level": record.levelname.lower(),
                "logger": record.name, "message": record.getMessage(), "process": record.process,
                **more}  # fmt: skip
        return json.dumps(line, default=str)


def places(record: logging.LogRecord) -> list[str]:
    """Files and lines of a traceback."""
    trace = record.exc_info[2] if record.exc_info else None
    lines = []
    while trace is not None:
        code = trace.tb_frame.f_code
        lines.append(f"{code.co_filename}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return lines[-6:]


def log_to(stream: TextIO, level: str = "INFO") -> None:
    """Write the events of the service to a stream."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(AsJson())
    for name in ROOTS:
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False
