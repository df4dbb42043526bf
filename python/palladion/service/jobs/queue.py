"""The queue, which stands in the database: whoever dies, it stays.

A worker that takes a job gets a *fence*, a number that grows each time. Every later change names
the fence, so that the result of a worker which lost the job changes nothing. A worker shows that it
is alive by *beats*. Its job goes back when a front has seen no beat for the time of a lease, by the
front's own steady clock: no two clocks are compared.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)

from palladion.errors import can_retry, kind_of
from palladion.service.jobs.job import ACTIVE, Job, State
from palladion.service.jobs.order import NEXT, TAKE, choose, due
from palladion.service.models.catalogue import Version
from palladion.service.problems import BusyError, ConflictError, NotThereError, QuotaError
from palladion.service.settings import DAY, Settings
from palladion.service.state import audit
from palladion.service.state.database import Database, now
from palladion.service.state.schema import jobs, tenants
from palladion.service.tenants import Tenant
from palladion.support.records import Json
from palladion.support.text import size

LEFT: Final = jobs.c.predicted_seconds * (1 - jobs.c.done)
"""Predicted seconds until a job ends."""


def total(value: ColumnElement[Any], where: ColumnElement[bool]) -> ColumnElement[Any]:
    """The sum of a column over the rows with a condition; 0 without one."""
    return func.coalesce(func.sum(value).filter(where), 0)


# Statements that are built once: to build one takes longer than to run it.

SPEND: Final = (
    update(tenants)
    .where(tenants.c.id == bindparam("tenant"))
    .values(used=tenants.c.used + bindparam("seconds") / tenants.c.weight)
)

ACTIVE_JOB: Final = jobs.c.state.in_(ACTIVE)
OWN: Final = jobs.c.tenant == bindparam("tenant")
LATELY: Final = OWN & (jobs.c.created > bindparam("since"))
LOAD: Final = select(
    func.count().filter(ACTIVE_JOB & OWN),
    total(jobs.c.query_bytes, ACTIVE_JOB & OWN),
    total(jobs.c.predicted_seconds, LATELY),
    total(LEFT, ACTIVE_JOB),
).where(ACTIVE_JOB | LATELY)
"""Jobs and bytes of queries of a tenant, its seconds of late, and the seconds of all that waits."""

EARLIER: Final = select(jobs).where(OWN, jobs.c.idempotency == bindparam("name"))
NAMED: Final = jobs.c.id.in_(bindparam("ids", expanding=True))
NAMED_JOBS: Final = select(jobs).where(NAMED)
MARKS: Final = select(jobs.c.id, jobs.c.state, jobs.c.step, jobs.c.done).where(NAMED)
OWNED: Final = select(jobs).where(OWN, jobs.c.id == bindparam("job"))


@dataclass(frozen=True)
class Request:
    """A query that is to be run."""

    id: str
    """Identity of the job, under which the query is in the store."""
    tenant: Tenant
    version: Version
    idempotency: str
    """The client's name for the request: the same one gives the same job."""
    key_id: str
    query_id: str
    query_bytes: int
    traceparent: str | None = None


@dataclass(frozen=True)
class Lease:
    """A worker's right to a job."""

    job: str
    fence: int

    def holds(self) -> ColumnElement[bool]:
        """The condition that it still has the job."""
        running = jobs.c.state == State.RUNNING.value
        return (jobs.c.id == self.job) & (jobs.c.fence == self.fence) & running


@dataclass(frozen=True)
class Mean:
    """Mean seconds of runs."""

    seconds: float
    predicted: float


class Queue:
    """The jobs of all tenants."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._settings = settings
        self._database = database

    # Calls of clients.

    def submit(self, request: Request) -> Job:
        """Add a job, or find that of an earlier request of the same name.

        Raises
        ------
        BusyError
            If too much waits already.
        ConflictError
            If the earlier request was for another query.
        QuotaError
            If the tenant has used up a limit.
        """
        tenant, version = request.tenant, request.version
        with self._database.write(tenant.id) as connection:
            earlier = self._earlier(connection, tenant, request.idempotency, request.query_id)
            if earlier is not None:
                return earlier
            self._check_limits(connection, tenant, version, request.query_bytes)
            self._take_a_turn(connection, tenant)
            at = now()
            values: Json = {
                "id": request.id, "tenant": tenant.id, "idempotency": request.idempotency,
                "model": version.model, "version": version.version, "program": version.digest,
                "program_id": version.facts.program_id, "key_id": request.key_id,
                "query_id": request.query_id, "query_bytes": request.query_bytes,
                "predicted_seconds": version.seconds, "state": State.QUEUED.value,
                "fence": 0, "beat": 0, "lost": 0, "done": 0.0, "created": at, "not_before": at,
                "traceparent": request.traceparent,
            }  # fmt: skip
            connection.execute(insert(jobs), values)
            audit.write(connection, tenant.name, "job submitted", request.id)
        return Job.of_new(values)

    def refuse_early(self, tenant: Tenant, version: Version, idempotency: str | None) -> None:
        """Refuse a request before its query is read, where :meth:`submit` would refuse it anyhow. A
        request that came before is not refused.

        Raises
        ------
        BusyError, QuotaError
            As :meth:`submit`.
        """
        earlier = {"tenant": tenant.id, "name": idempotency}
        with self._database.read() as connection:
            if idempotency is None or connection.execute(EARLIER, earlier).first() is None:
                self._check_limits(connection, tenant, version, 0)

    def get(self, tenant: Tenant, job: str) -> Job:
        """A job of a tenant.

        Raises
        ------
        NotThereError
            If the tenant has none of this identity.
        """
        with self._database.read() as connection:
            return self._owned(connection, tenant, job)

    def all(self, tenant: Tenant, limit: int = 100) -> list[Job]:
        """The last jobs of a tenant, the newest first."""
        owned = select(jobs).where(jobs.c.tenant == tenant.id)
        with self._database.read() as connection:
            rows = connection.execute(owned.order_by(jobs.c.created.desc()).limit(limit)).mappings()
            return [Job.of_row(row) for row in rows]

    def cancel(self, tenant: Tenant, job: str) -> Job:
        """Cancel a job. A worker that runs it stops at its next step. Nothing happens to one that
        has ended. Raises as :meth:`get`."""
        with self._database.write() as connection:
            self._owned(connection, tenant, job)
            ended = {"state": State.CANCELLED.value, "finished": now()}
            alive = (jobs.c.id == job) & jobs.c.state.in_(ACTIVE)
            if connection.execute(update(jobs).where(alive).values(**ended)).rowcount:
                audit.write(connection, tenant.name, "job cancelled", job)
            return self._owned(connection, tenant, job)

    def states(self, ids: Iterable[str]) -> dict[str, Job]:
        """The jobs of some identities, whosever they are."""
        with self._database.read() as connection:
            rows = connection.execute(NAMED_JOBS, {"ids": [*ids]}).mappings()
            return {row["id"]: Job.of_row(row) for row in rows}

    def marks(self, ids: Iterable[str]) -> dict[str, tuple[str, str | None, float]]:
        """State, step and share done of some jobs."""
        with self._database.read() as connection:
            rows = connection.execute(MARKS, {"ids": [*ids]})
            return {row.id: (row.state, row.step, row.done) for row in rows}

    def ahead(self, job: Job) -> float:
        """Predicted seconds of the jobs that were there before a job that waits."""
        earlier = jobs.c.state.in_(ACTIVE) & (jobs.c.created < job.created)
        with self._database.read() as connection:
            left = connection.execute(select(total(LEFT, earlier)).where(earlier)).scalar_one()
        return float(left) / max(1, self._settings.workers)

    # Calls of workers.

    def take(self, worker: str, in_memory: Sequence[str] = ()) -> tuple[Lease, Job] | None:
        """Take the next job, as :mod:`palladion.service.jobs.order` has it. ``in_memory`` are keys
        whose jobs may come before their turn."""
        at = now()
        with self._database.read() as connection:
            if connection.execute(NEXT, due(at)).first() is None:
                return None
        with self._database.write() as connection:
            row = choose(connection, at, in_memory, self._settings.ahead_seconds)
            if row is None:
                return None
            fence = row["fence"] + 1
            wanted = {"job": row["id"], "last": row["fence"], "new": fence, "by": worker, "at": at}
            taken = connection.execute(TAKE, {**wanted, **due(at)}).mappings().first()
            if taken is None:
                return None  # another worker was faster
            spent = {"tenant": row["tenant"], "seconds": row["predicted_seconds"]}
            connection.execute(SPEND, spent)
            return Lease(row["id"], fence), Job.of_row(taken)

    def beat(self, lease: Lease, step: str | None, done: float) -> bool:
        """Show that the worker is alive. Returns whether it still has the job."""
        values = {"beat": jobs.c.beat + 1, "step": step, "done": done}
        with self._database.write() as connection:
            return bool(
                connection.execute(update(jobs).where(lease.holds()).values(**values)).rowcount
            )

    def finish(self, lease: Lease, answer: str, answer_bytes: int, seconds: float) -> bool:
        """State the answer, whose blob is in the store. Returns whether it was accepted."""
        values = {"state": State.DONE.value, "answer": answer, "answer_bytes": answer_bytes,
                  "seconds": seconds, "done": 1.0, "finished": now()}  # fmt: skip
        return self._end(lease, values)

    def fail(self, lease: Lease, error: BaseException) -> bool:
        """State why there is no answer. Returns whether it was accepted."""
        return self._end(lease, failure(error))

    def give_back(self, lease: Lease, *, seconds: float = 0.0) -> bool:
        """Put a job back, for another worker, after some seconds at the earliest. Its checkpoint
        stays. Returns whether the worker still had it."""
        values = {"state": State.QUEUED.value, "worker": None, "not_before": now() + seconds}
        return self._end(lease, values)

    def lose(self, lease: Lease, *, reason: str) -> None:
        """Put a job back whose worker died, or fail it if it lost too many."""
        with self._database.write() as connection:
            row = connection.execute(select(jobs).where(lease.holds())).mappings().first()
            if row is None:
                return
            lost = row["lost"] + 1
            values: Json = {"state": State.QUEUED.value, "worker": None, "lost": lost,
                                      "fence": lease.fence + 1, "not_before": now()}  # fmt: skip
            if lost >= self._settings.attempts:
                died = RuntimeError(f"{lost} workers died with this job, the last one: {reason}")
                values.update(failure(died))
            connection.execute(update(jobs).where(lease.holds()).values(**values))

    def running(self, worker: str | None = None) -> dict[Lease, int]:
        """The jobs that run, of one worker or of all, with their beats."""
        chosen = select(jobs.c.id, jobs.c.fence, jobs.c.beat).where(
            jobs.c.state == State.RUNNING.value
        )
        if worker is not None:
            chosen = chosen.where(jobs.c.worker == worker)
        with self._database.read() as connection:
            return {Lease(row.id, row.fence): row.beat for row in connection.execute(chosen)}

    # Calls of the sweeper, and counts.

    def expire(self) -> list[Job]:
        """End the time of old jobs, and return them. Their rows go after the same time again."""
        kept = self._settings.answer_seconds
        ended = jobs.c.state.in_([State.DONE.value, State.FAILED.value, State.CANCELLED.value])
        old = ended & (jobs.c.finished < now() - kept)
        with self._database.write() as connection:
            rows = [
                Job.of_row(row) for row in connection.execute(select(jobs).where(old)).mappings()
            ]
            connection.execute(
                update(jobs).where(old).values(state=State.EXPIRED.value, answer=None)
            )
            gone = (jobs.c.state == State.EXPIRED.value) & (jobs.c.finished < now() - 2 * kept)
            connection.execute(delete(jobs).where(gone))
        return rows

    def counts(self) -> Mapping[str, int]:
        """The number of jobs in each state."""
        with self._database.read() as connection:
            rows = connection.execute(
                select(jobs.c.state, func.count().label("number")).group_by(jobs.c.state)
            )
            return {row.state: row.number for row in rows}

    def waiting_seconds(self) -> float:
        """Predicted seconds until a job that is submitted now would begin."""
        active = select(total(LEFT, jobs.c.state.in_(ACTIVE)))
        with self._database.read() as connection:
            left = connection.execute(active.where(jobs.c.state.in_(ACTIVE))).scalar_one()
        return float(left) / max(1, self._settings.workers)

    def means(self) -> Mapping[str, Mean]:
        """Mean seconds of the runs that are known, by model."""
        chosen = select(
            jobs.c.model, func.avg(jobs.c.seconds), func.avg(jobs.c.predicted_seconds)
        ).where(jobs.c.seconds.is_not(None))
        with self._database.read() as connection:
            rows = connection.execute(chosen.group_by(jobs.c.model))
            return {model: Mean(seconds, predicted) for model, seconds, predicted in rows}

    def _end(self, lease: Lease, values: Json) -> bool:
        with self._database.write() as connection:
            return bool(
                connection.execute(update(jobs).where(lease.holds()).values(**values)).rowcount
            )

    def _row(self, connection: Connection, which: ColumnElement[bool]) -> Job:
        return Job.of_row(connection.execute(select(jobs).where(which)).mappings().one())

    def _owned(self, connection: Connection, tenant: Tenant, job: str) -> Job:
        row = connection.execute(OWNED, {"tenant": tenant.id, "job": job}).mappings().first()
        if row is None:
            raise NotThereError(f"there is no job {job[:40]!r}")
        return Job.of_row(row)

    def _earlier(
        self, connection: Connection, tenant: Tenant, idempotency: str, query_id: str
    ) -> Job | None:
        name = {"tenant": tenant.id, "name": idempotency}
        row = connection.execute(EARLIER, name).mappings().first()
        if row is None:
            return None
        if row["query_id"] != query_id:
            raise ConflictError(f"the Idempotency-Key {idempotency!r} was used for another query: "
                                "give each request a name of its own")  # fmt: skip
        return Job.of_row(row)

    def _check_limits(
        self, connection: Connection, tenant: Tenant, version: Version, query_bytes: int
    ) -> None:
        """Refuse a job beyond a limit of its tenant, or of the service."""
        limits = tenant.limits
        since = {"tenant": tenant.id, "since": now() - DAY}
        count, held, lately, left = connection.execute(LOAD, since).one()
        if count >= limits.jobs:
            raise QuotaError(f"{tenant.name} has {count} jobs that wait or run, and may have "
                             f"{limits.jobs}: wait for one", 5.0)  # fmt: skip
        if held + query_bytes > limits.query_bytes:
            words = f"have {size(held)}, and may have {size(limits.query_bytes)}"
            raise QuotaError(
                f"the queries of {tenant.name} that wait or run {words}: wait for one", 5.0
            )
        cores = self._settings.worker_threads
        if (lately + version.seconds) * cores > limits.core_seconds_per_day:
            words = f"{lately * cores:.0f} of {limits.core_seconds_per_day:.0f}"
            raise QuotaError(f"{tenant.name} has used {words} core-seconds in a day", 3600.0)
        waiting = left / max(1, self._settings.workers)
        if waiting > self._settings.queue_seconds:
            raise BusyError(f"jobs of {waiting:.0f} seconds wait already, and this service lets "
                            f"{self._settings.queue_seconds:.0f} wait: come back later",
                            max(1.0, waiting - self._settings.queue_seconds))  # fmt: skip

    def _take_a_turn(self, connection: Connection, tenant: Tenant) -> None:
        """A tenant who used nothing for long does not get all workers for as long: it begins where
        the last of the others is."""
        active = select(jobs.c.tenant).where(jobs.c.state.in_(ACTIVE))
        if connection.execute(active.where(jobs.c.tenant == tenant.id).limit(1)).first():
            return
        least = select(func.min(tenants.c.used)).where(tenants.c.id.in_(active))
        floor = connection.execute(least).scalar_one()
        if floor is not None:
            behind = (tenants.c.id == tenant.id) & (tenants.c.used < floor)
            connection.execute(update(tenants).where(behind).values(used=floor))


class Reaper:
    """Finds jobs whose workers give no sign of life, by this process's own clock."""

    def __init__(self, queue: Queue, lease_seconds: float) -> None:
        self._queue = queue
        self._lease_seconds = lease_seconds
        self._seen: dict[Lease, tuple[int, float]] = {}

    def reap(self) -> None:
        """Put back the jobs that have been seen without a beat for the time of a lease."""
        running, at = self._queue.running(), monotonic()
        seen = {}
        for lease, beat in running.items():
            last, since = self._seen.get(lease, (-1, at))
            seen[lease] = (beat, since if last == beat else at)
            if at - seen[lease][1] > self._lease_seconds:
                self._queue.lose(lease, reason=f"no sign of life for {self._lease_seconds:.0f} s")
        self._seen = seen


def failure(error: BaseException) -> Json:
    """The columns of a job that ended with an error."""
    return {
        "state": State.FAILED.value,
        "error_kind": kind_of(error).name,
        "error_detail": str(error)[:2000],
        "error_retry": can_retry(error),
        "finished": now(),
    }


def new_identity() -> str:
    """A fresh identity of a job, which nobody can guess."""
    return secrets.token_hex(16)
