"""The queue of a service without workers: its order, its limits, and what ends a job."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest
from palladion.remote.session import ServiceError
from palladion.service.assembly import Parts, assemble
from palladion.service.blobs.store import StoreError
from palladion.service.jobs import queue
from palladion.service.jobs.job import Job
from palladion.service.jobs.queue import Lease, Reaper, Request, new_identity
from palladion.service.jobs.sweeper import Sweeper
from palladion.service.models.catalogue import Version
from palladion.service.problems import BusyError, QuotaError
from palladion.service.settings import Limits, Settings
from palladion.service.state.database import DatabaseError, now
from palladion.service.state.schema import identity
from palladion.service.tenants import Tenant
from palladion.service.worker.worker import Worker
from sqlalchemy import text, update

from tests.service.conftest import Linear, Running


@pytest.fixture
def parts(small: Linear, tmp_path: Path, database: str) -> Iterator[Parts]:
    """The parts of a service, without a front and without workers."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "linear.program").write_bytes(small.program.read_bytes())
    settings = Settings(
        programs=tmp_path / "models", data=tmp_path / "data", database=database, lease_seconds=0.2,
        attempts=2,
        limits=Limits(jobs=50),
    )  # fmt: skip
    found = assemble(settings)
    found.models.refresh()
    yield found
    found.database.close()


def version(parts: Parts, seconds: float = 1.0) -> Version:
    """The version of the model, as if its runs took so long."""
    found = parts.models.catalogue.version("linear")
    return replace(found, seconds=seconds)


def submit(
    parts: Parts, tenant: Tenant, seconds: float = 1.0, query: str = "0" * 64, key: str = "0" * 32
) -> Job:
    """Submit a job, whose query nobody reads."""
    name = new_identity()
    request = Request(name, tenant, version(parts, seconds), name, key, query, 1000)
    parts.store.put(f"queries/{name}", b"query")
    return parts.queue.submit(request)


def taken(parts: Parts) -> tuple[Lease, Job]:
    """The next job."""
    found = parts.queue.take("worker")
    assert found is not None
    return found


def test_tenants_take_turns_by_their_weights(parts: Parts) -> None:
    one, two = parts.tenants.add("one"), parts.tenants.add("two", weight=3)
    for _ in range(40):
        submit(parts, one)
        submit(parts, two)
    order = [taken(parts)[1].tenant for _ in range(40)]
    assert abs(order.count(two.id) - 30) <= 1
    assert abs(order[:20].count(two.id) - 15) <= 1


def test_a_tenant_that_was_away_does_not_get_everything(parts: Parts) -> None:
    one, two = parts.tenants.add("one"), parts.tenants.add("two")
    for _ in range(20):
        submit(parts, one)
    for _ in range(10):
        taken(parts)
    for _ in range(20):
        submit(parts, two)
    order = [taken(parts)[1].tenant for _ in range(20)]
    assert abs(order.count(two.id) - 10) <= 1


def test_turns_count_seconds_and_not_jobs(parts: Parts) -> None:
    one, two = parts.tenants.add("one"), parts.tenants.add("two")
    for _ in range(40):
        submit(parts, one, seconds=1.0)
        submit(parts, two, seconds=3.0)
    order = [taken(parts)[1].tenant for _ in range(40)]
    assert abs(order.count(one.id) - 30) <= 1


def test_tenants_whose_keys_are_in_memory_are_ahead_by_a_bound(parts: Parts) -> None:
    one, two = parts.tenants.add("one"), parts.tenants.add("two")
    for _ in range(40):
        submit(parts, two, key="b" * 32)
        submit(parts, one, key="a" * 32)
    order = []
    for _ in range(60):
        next_job = parts.queue.take("worker", ["a" * 32])
        assert next_job is not None
        order.append(next_job[1].tenant)
    assert order[:10] == [one.id] * 10
    leads = [order[:n].count(one.id) - order[:n].count(two.id) for n in range(1, 61)]
    assert 10 <= max(leads) <= 12


def test_a_worker_takes_the_job_whose_turn_it_is_after_some_seconds(parts: Parts) -> None:
    tenant = parts.tenants.add("one")
    for _ in range(2):
        submit(parts, tenant, key="b" * 32)
    for _ in range(30):
        submit(parts, tenant, key="a" * 32)
    own = Worker("worker", parts.settings, parts.queue, parts.keys, parts.store)
    opened: Any = SimpleNamespace(key="a" * 32, in_memory=True)
    own._opened[("program", tenant.id)] = opened
    order = [one[1].key_id[0] for _ in range(32) if (one := own._take()) is not None]
    assert "".join(order) == "aaaaaaaaaabaaaaaaaaaab" + 10 * "a"
    opened.in_memory = False
    submit(parts, tenant, key="b" * 32)
    submit(parts, tenant, key="a" * 32)
    assert [taken(parts)[1].key_id[0] for _ in range(2)] == ["b", "a"]


def test_two_workers_never_take_the_same_job(parts: Parts) -> None:
    tenant = parts.tenants.add("one")
    jobs = {submit(parts, tenant).id for _ in range(20)}
    assert {taken(parts)[1].id for _ in range(20)} == jobs
    assert parts.queue.take("worker") is None


def test_only_the_last_worker_delivers(parts: Parts) -> None:
    job = submit(parts, parts.tenants.add("one"))
    slow, _ = taken(parts)
    parts.queue.lose(slow, reason="test")
    lease, again = taken(parts)
    assert again.id == job.id
    assert lease.fence > slow.fence
    assert not parts.queue.beat(slow, "step", 0.5)
    assert not parts.queue.finish(slow, "answers/slow", 1, 1.0)
    assert not parts.queue.fail(slow, ValueError("slow"))
    assert parts.queue.finish(lease, "answers/right", 1, 1.0)
    assert not parts.queue.finish(lease, "answers/twice", 1, 1.0)
    assert parts.queue.states([job.id])[job.id].answer == "answers/right"


def test_a_worker_without_a_sign_of_life_loses_its_job(parts: Parts) -> None:
    submit(parts, parts.tenants.add("one"))
    lease, job = taken(parts)
    reaper, end = Reaper(parts.queue, 0.2), monotonic() + 0.6
    while monotonic() < end:  # alive for three times the lease
        assert parts.queue.beat(lease, "step", 0.5)
        reaper.reap()
    assert parts.queue.states([job.id])[job.id].state == "running"
    while parts.queue.states([job.id])[job.id].state == "running":
        reaper.reap()
    lost = parts.queue.states([job.id])[job.id]
    assert (lost.state, lost.lost) == ("queued", 1)
    second, _ = taken(parts)
    parts.queue.lose(second, reason="its process ended with status -9")
    failed = parts.queue.states([job.id])[job.id]
    assert failed.state == "failed"
    assert failed.error_kind == "internal"
    assert "2 workers died with this job" in (failed.error_detail or "")


def test_a_clock_that_jumps_does_no_harm(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    tenant = parts.tenants.add("one")
    job = submit(parts, tenant)
    lease, _ = taken(parts)
    for jump in (-1e8, 1e8):
        monkeypatch.setattr(time, "time", lambda jump=jump: 1.7e9 + jump)
        Reaper(parts.queue, 10.0).reap()
        assert parts.queue.expire() == []
        assert parts.queue.beat(lease, None, 0.1)
    # A job that was put back by a process whose clock is far ahead is taken all the same.
    monkeypatch.setattr(queue, "now", lambda: 4e9)
    parts.queue.give_back(lease, seconds=5)
    monkeypatch.undo()
    assert taken(parts)[1].id == job.id


def test_a_job_that_was_given_back_waits(parts: Parts) -> None:
    submit(parts, parts.tenants.add("one"))
    lease, _ = taken(parts)
    assert parts.queue.give_back(lease, seconds=0.3)
    assert parts.queue.take("worker") is None
    end = monotonic() + 10
    while parts.queue.take("worker") is None:
        assert monotonic() < end


def test_limits(parts: Parts) -> None:
    tenant = parts.tenants.add("one", limits={"jobs": 2, "query_bytes": 2500})
    submit(parts, tenant)
    submit(parts, tenant)
    with pytest.raises(QuotaError, match="2 jobs that wait or run"):
        submit(parts, tenant)
    other = parts.tenants.add("two", limits={"query_bytes": 1500})
    submit(parts, other)
    with pytest.raises(QuotaError, match=r"queries of two .* 1\.0 kB, and may have 1\.5 kB"):
        submit(parts, other)
    third = parts.tenants.add("three", limits={"core_seconds_per_day": 10})
    with pytest.raises(QuotaError, match="core-seconds in a day"):
        submit(parts, third, seconds=11.0)
    fourth = parts.tenants.add("four")
    submit(parts, fourth, seconds=3997.0)
    with pytest.raises(BusyError, match="4000 seconds wait already"):
        submit(parts, fourth)


def test_the_sweeper_removes_what_a_crash_left_and_nothing_else(parts: Parts) -> None:
    sweeper = Sweeper(parts.queue, parts.keys, parts.uploads, parts.store)
    job = submit(parts, parts.tenants.add("one"))
    lease, _ = taken(parts)
    parts.store.put(f"answers/{job.id}.{lease.fence}", b"answer")  # its row comes next
    left = {f"queries/{new_identity()}", f"answers/{new_identity()}.1", "keys/a/b", "uploads/a/0",
            f"checkpoints/{new_identity()}"}  # fmt: skip
    for name in left:
        parts.store.put(name, b"left")
    kept = {f"queries/{job.id}", f"answers/{job.id}.{lease.fence}"}
    sweeper.sweep()
    assert blobs(parts) == left | kept  # they might be on their way
    sweeper.sweep()
    assert blobs(parts) == kept
    assert parts.queue.finish(lease, f"answers/{job.id}.{lease.fence}", 6, 1.0)
    for _ in range(3):
        sweeper.sweep()
    assert blobs(parts) == {f"answers/{job.id}.{lease.fence}"}


def blobs(parts: Parts) -> set[str]:
    """The names of all blobs but programs."""
    prefixes = ("queries", "answers", "keys", "uploads", "checkpoints")
    return {name for prefix in prefixes for name in parts.store.names(prefix)}


def test_a_store_of_another_database_is_refused(parts: Parts) -> None:
    """So that a lost database does not cost the clients' keys."""
    settings = parts.settings
    assemble(settings).database.close()  # the same pair
    with parts.database.write() as connection:  # as if it were a new one
        connection.execute(update(identity).values(id="0" * 32))
    with pytest.raises(StoreError, match="restore that database, or give an empty store"):
        assemble(settings)


def test_tables_of_a_later_version_are_refused(parts: Parts) -> None:
    with parts.database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(DatabaseError, match="later version of Palladion"):
        assemble(parts.settings)


def test_answers_expire(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    sweeper = Sweeper(parts.queue, parts.keys, parts.uploads, parts.store)
    job = submit(parts, parts.tenants.add("one"))
    lease, _ = taken(parts)
    parts.store.put("answers/a.1", b"answer")
    parts.queue.finish(lease, "answers/a.1", 6, 1.0)
    day = now() + parts.settings.answer_seconds + 1
    monkeypatch.setattr(queue, "now", lambda: day)
    sweeper.sweep()
    assert parts.queue.states([job.id])[job.id].state == "expired"
    assert blobs(parts) == set()


def test_a_service_without_workers_keeps_jobs(small: Linear, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "linear.program").write_bytes(small.program.read_bytes())
    running = Running(tmp_path / "data", tmp_path / "models", {"workers": 0})
    running.start()
    with running.connect(tmp_path / "home") as client, running.http() as http:
        model = client.model()
        first, second = (model.submit(small.x[:1]) for _ in range(2))
        assert http.get(f"/v2/jobs/{second.id}").json()["seconds_left"] > 0
        second.cancel()
        assert second.state["state"] == "cancelled"
        with pytest.raises(ServiceError, match="is cancelled"):
            second.result()
        reply = http.get(f"/v2/jobs/{first.id}/answer")
        assert reply.status_code == 409
        assert "it is queued" in reply.json()["detail"]
    assert running.stop() == 0
    running.settings["workers"] = 1
    running.start()
    with running.connect(tmp_path / "home") as client:
        first._session = client._session
        found = first.result()
        again = client.predict(small.x[:1])
    assert json.dumps(found.integers.tolist()) == json.dumps(again.integers.tolist())  # type: ignore[union-attr]
    assert running.stop() == 0
