"""A job: a run of a program on a client's query."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from typing import Final

from sqlalchemy import RowMapping

from palladion.support.records import Json


class State(str, Enum):
    """The states of a job."""

    QUEUED = "queued"
    """It waits for a worker."""
    RUNNING = "running"
    DONE = "done"
    """Its answer is there."""
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    """Its answer was kept for its time, and is gone."""


ACTIVE: Final = (State.QUEUED.value, State.RUNNING.value)
"""States that a job leaves by itself."""


@dataclass(frozen=True)
class Job:
    """A job as its row has it. Times are seconds since 1970."""

    id: str
    tenant: str
    model: str
    version: str
    program: str
    """SHA-256 of the program's file: its name in the store."""
    program_id: str
    key_id: str
    query_id: str
    """SHA-256 of the query."""
    query_bytes: int
    predicted_seconds: float
    state: str
    fence: int
    """Counts the workers that took it. A worker whose count is not the last one has lost it."""
    beat: int
    """Counts the signs of life of its worker."""
    lost: int
    """Counts the workers that died with it."""
    step: str | None
    done: float
    """Share of the work, from 0 to 1."""
    seconds: float | None
    """Of the run that gave the answer."""
    answer: str | None
    """Name of the answer's blob."""
    answer_bytes: int | None
    error_kind: str | None
    error_detail: str | None
    error_retry: bool | None
    created: float
    started: float | None
    finished: float | None
    traceparent: str | None
    """Trace of the request that submitted it, if the service traces."""

    @property
    def active(self) -> bool:
        """Whether it waits or runs."""
        return self.state in ACTIVE

    @property
    def query_blob(self) -> str:
        """The name of the query in the store."""
        return query_blob(self.id)

    @property
    def checkpoint_blob(self) -> str:
        """The name of the checkpoint in the store."""
        return f"checkpoints/{self.id}"

    @classmethod
    def of_new(cls, values: Json) -> Job:
        """A job that was just added, with some columns."""
        columns: Json = {name: values.get(name) for name in COLUMNS}
        return cls(**columns)

    @classmethod
    def of_row(cls, row: RowMapping) -> Job:
        """A job, from its row."""
        return cls(**{name: row[name] for name in COLUMNS})


COLUMNS: Final = tuple(field.name for field in fields(Job))
"""The columns that a job has of its row."""


def query_blob(job: str) -> str:
    """The name of a query in the store."""
    return f"queries/{job}"
