"""Both databases: the same tables, no races, and what happens while one is away."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TypeVar

import httpx
import numpy as np
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from palladion.service.assembly import Parts, assemble
from palladion.service.jobs.queue import Request, new_identity
from palladion.service.keys.uploads import Upload
from palladion.service.models.two_parties import TwoPartyFacts
from palladion.service.problems import ConflictError, ForbiddenError, QuotaError
from palladion.service.settings import Limits, Settings
from palladion.service.state.database import Database, DatabaseError
from palladion.service.state.schema import META

from tests.service.conftest import Linear, Running
from tests.service.postgres import Postgres

T = TypeVar("T")


@pytest.fixture
def settings(small: Linear, tmp_path: Path, database: str) -> Settings:
    """The settings of a service with one model, over each database."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "linear.program").write_bytes(small.program.read_bytes())
    return Settings(programs=tmp_path / "models", data=tmp_path / "data", database=database,
                    part_bytes=65_536, limits=Limits(jobs=50))  # fmt: skip


@pytest.fixture
def parts(settings: Settings) -> Iterator[Parts]:
    """The parts of such a service."""
    found = assemble(settings)
    found.models.refresh()
    yield found
    found.database.close()


def at_once(acts: list[Callable[[], T]]) -> list[T | BaseException]:
    """Do all of them at the same moment, each in a thread of its own."""
    barrier = threading.Barrier(len(acts))

    def act(one: Callable[[], T]) -> T | BaseException:
        barrier.wait()
        try:
            return one()
        except BaseException as error:
            return error

    with ThreadPoolExecutor(len(acts)) as pool:
        return [future.result() for future in [pool.submit(act, one) for one in acts]]


def request(parts: Parts, idempotency: str, query: str = "0" * 64) -> Request:
    """A request of the tenant ``one``, whose query nobody reads."""
    tenant, version = parts.tenants.named("one"), parts.models.catalogue.version("linear")
    return Request(new_identity(), tenant, version, idempotency, "0" * 32, query, 1000)


def test_migrations_give_the_tables_of_the_schema(database: str, tmp_path: Path) -> None:
    opened = Database(database or f"sqlite:///{tmp_path / 'service.sqlite'}")
    opened.migrate()
    opened.migrate()  # a second time changes nothing
    with opened.engine.connect() as connection:
        options = {"compare_type": True, "compare_server_default": True}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, META) == []
    opened.close()


def test_processes_may_migrate_at_once(settings: Settings) -> None:
    assert not [found for found in at_once([lambda: assemble(settings).database.close()] * 4)
                if isinstance(found, BaseException)]  # fmt: skip


def test_workers_that_race_never_take_the_same_job(settings: Settings, parts: Parts) -> None:
    parts.tenants.add("one")
    submitted = {parts.queue.submit(request(parts, new_identity())).id for _ in range(40)}

    def work() -> list[str]:
        own, jobs, empty = assemble(settings), [], 0
        while empty < 3:
            taken = own.queue.take("worker")
            if taken is None:
                empty += 1
                continue
            jobs.append(taken[1].id)
        own.database.close()
        return jobs

    found = at_once([work] * 6)
    taken = [job for jobs in found if isinstance(jobs, list) for job in jobs]
    assert len(taken) == 40, found
    assert {*taken} == submitted


def test_identical_submissions_at_once_give_one_job(parts: Parts) -> None:
    parts.tenants.add("one")
    for number in range(5):
        found = at_once([lambda n=number: parts.queue.submit(request(parts, f"same{n}"))] * 8)  # type: ignore[misc]
        ids = {getattr(job, "id", job) for job in found}
        assert len(ids) == 1, found
    assert len(parts.queue.all(parts.tenants.named("one"))) == 5


def test_one_name_for_two_queries_at_once(parts: Parts) -> None:
    parts.tenants.add("one")
    asked = [request(parts, "same", str(number) * 64) for number in range(8)]
    found = at_once([lambda r=one: parts.queue.submit(r) for one in asked])  # type: ignore[misc]
    assert len([error for error in found if isinstance(error, ConflictError)]) == 7, found


def test_limits_hold_for_requests_at_once(parts: Parts) -> None:
    parts.tenants.add("one", limits={"jobs": 3})
    found = at_once([lambda: parts.queue.submit(request(parts, new_identity()))] * 8)
    assert len([error for error in found if isinstance(error, QuotaError)]) == 5, found


def test_the_same_upload_at_once(parts: Parts) -> None:
    tenant = parts.tenants.add("one")
    digest = "ab" * 32
    found = at_once([lambda: parts.uploads.open(tenant, digest, 100_000)] * 8)
    (upload,) = {one.id for one in found if isinstance(one, Upload)}
    assert all(isinstance(one, Upload) for one in found), found
    data = bytes(65_536)
    same = hashlib.sha256(data).digest()
    added = at_once([lambda: parts.uploads.add(tenant, upload, 0, data, same)] * 8)
    assert added == [None] * 8
    assert parts.uploads.get(tenant, upload).missing == (1,)


def test_a_quota_holds_for_uploads_at_once(parts: Parts) -> None:
    tenant = parts.tenants.add("one", limits={"key_bytes": 250_000})
    found = at_once([
        lambda n=number: parts.uploads.open(tenant, f"{n:064x}", 100_000)  # type: ignore[misc]
        for number in range(8)
    ])  # fmt: skip
    assert len([error for error in found if isinstance(error, QuotaError)]) == 6, found


def test_a_tenant_that_leaves_in_the_middle(parts: Parts) -> None:
    """A row that contradicts others is an error of the moment, and no fault of the service."""
    stranger = replace(parts.tenants.add("one"), id="f" * 32)
    with pytest.raises(DatabaseError, match="changed at the same moment"):
        parts.uploads.open(stranger, "ab" * 32, 1000)


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    """A server that the test stops and starts."""
    server = Postgres()
    server.start()
    yield server
    server.remove()


def test_a_database_that_is_away(small: Linear, own_postgres: Postgres, tmp_path: Path) -> None:
    server = own_postgres
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "linear.program").write_bytes(small.program.read_bytes())
    settings = {"database": server.new(), "lease_seconds": 2, "limits__requests_per_minute": 10_000}
    running = Running(tmp_path / "data", tmp_path / "models", settings)
    running.start()
    expected = small.model.predict(small.x[:1]).integers
    with running.connect(tmp_path / "home") as client, running.http() as http:
        model = client.model()
        model.upload_keys()
        jobs = [model.submit(small.x[:1]) for _ in range(10)]
        server.stop()
        end = monotonic() + 3
        while monotonic() < end:
            for path in ("/v2/health/ready", "/v2/jobs", f"/v2/jobs/{jobs[0].id}", "/v2/models"):
                reply = http.get(path)
                assert_away(reply)
            assert_away(http.post("/v2/uploads", json={"digest": "ab" * 32, "bytes": 1000}))
        assert http.get("/v2/health/live").status_code == 200
        server.start()
        jobs += [model.submit(small.x[:1]) for _ in range(2)]
        for job in jobs:
            np.testing.assert_array_equal(job.result().integers, expected)
        assert len(http.get("/v2/jobs").json()["jobs"]) == 12
    assert running.stop() == 0
    assert not [event for event in running.events() if event["message"] == "a chore failed"]


def assert_away(reply: httpx.Response) -> None:
    """The response says that the same request may succeed later."""
    assert reply.status_code == 503, reply.text
    assert int(reply.headers["retry-after"]) > 0
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.json()["retry"]
    assert "the database does not answer" in reply.json()["detail"]


def test_a_budget_of_inputs_is_never_exceeded(parts: Parts) -> None:
    tenant = parts.tenants.add("counted")
    facts = TwoPartyFacts(
        network="small", program_hash="ab" * 32, boundary={}, hidden_inputs=10,
        log2_distance=-43.4, reveals_accumulators=False, seconds=1.0, bytes_to_server=1,
        bytes_to_client=1, rounds=1,
    )  # fmt: skip
    budgets = parts.budgets
    results = at_once([lambda: budgets.reserve(tenant, facts, 1)] * 16)
    assert sum(result is None for result in results) == 10
    assert sum(isinstance(result, ForbiddenError) for result in results) == 6
    assert (budgets.of(tenant, facts).used, budgets.of(tenant, facts).left) == (10, 0)
    budgets.settle(tenant, facts, 1, 0, "served")
    assert budgets.of(tenant, facts).left == 0
    budgets.settle(tenant, facts, 4, 3, "served")
    assert budgets.of(tenant, facts).left == 3
    assert budgets.grant(tenant, facts, 5).left == 8
    other = parts.tenants.add("other", limits={"hybrid_inputs": 4})
    assert (budgets.of(other, facts).used, budgets.of(other, facts).allowed) == (0, 4)
