"""Which job a worker takes next.

Tenants take turns by the seconds that they used, divided by their weights, and a tenant's oldest
job comes first. A worker reads keys for a second before it runs a job of a client whose keys are
not in its memory. So jobs whose keys are there may come before their turn, within bounds: a worker
takes them for some seconds in a row only, and only those of tenants who are ahead of the one whose
turn it is by these seconds at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, RowMapping, bindparam, or_, select, update

from palladion.service.jobs.job import State
from palladion.service.state.schema import jobs, tenants
from palladion.support.records import Json

LATER: Final = 60.0
"""Seconds for which a job that was put back may wait at most. A later moment is one of a clock that
has jumped."""

# Statements that are built once: to build one takes longer than to run it.

DUE: Final = (jobs.c.state == State.QUEUED.value) & or_(
    jobs.c.not_before <= bindparam("now"), jobs.c.not_before > bindparam("later")
)
"""The condition that a job may be taken."""

NEXT: Final = (
    select(
        jobs.c.id, jobs.c.fence, jobs.c.tenant, jobs.c.key_id, jobs.c.predicted_seconds,
        tenants.c.used,
    )
    .join(tenants, tenants.c.id == jobs.c.tenant)
    .where(DUE)
    .order_by(tenants.c.used, tenants.c.id, jobs.c.created)
    .limit(1)
)  # fmt: skip
"""The next job: the oldest one of the tenant who used least."""

TO_TAKE: Final = NEXT.with_for_update(of=jobs, skip_locked=True)
"""The next job that no other worker is taking now."""

BEFORE_ITS_TURN: Final = TO_TAKE.where(
    jobs.c.key_id.in_(bindparam("in_memory", expanding=True)),
    tenants.c.used <= bindparam("most"),
)
"""The next job of those whose keys a worker has in memory, and whose tenant used little enough."""

TAKE: Final = (
    update(jobs)
    .where(jobs.c.id == bindparam("job"), jobs.c.fence == bindparam("last"), DUE)
    .values(
        state=State.RUNNING.value, fence=bindparam("new"), beat=0, worker=bindparam("by"),
        started=bindparam("at"),
    )
    .returning(*jobs.c)
)  # fmt: skip


def due(at: float) -> Json:
    """The parameters of the condition that a job may be taken."""
    return {"now": at, "later": at + LATER}


def choose(
    connection: Connection, at: float, in_memory: Sequence[str], ahead: float
) -> RowMapping | None:
    """The next job that no other worker is taking now.

    Parameters
    ----------
    in_memory
        Keys whose jobs may come before their turn.
    ahead
        Seconds by which their tenants may be ahead of the one whose turn it is.
    """
    row = connection.execute(TO_TAKE, due(at)).mappings().first()
    if row is None or row["key_id"] in in_memory or not in_memory:
        return row
    bounds = {"in_memory": in_memory, "most": row["used"] + ahead}
    earlier = connection.execute(BEFORE_ITS_TURN, {**due(at), **bounds}).mappings().first()
    return earlier or row
