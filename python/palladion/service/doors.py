"""Entries for commands and scripts: open a service, check it, serve it."""

from __future__ import annotations

import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from palladion.errors import Termination, UsageError
from palladion.service.assembly import Parts, assemble
from palladion.service.models.catalogue import Refused, Version
from palladion.service.models.inspection import THREADS, Facts
from palladion.service.settings import Settings
from palladion.support import records
from palladion.support.records import Json

CORES: Final = (1, 2, 4, 8, 16)


@dataclass(frozen=True)
class Capacity:
    """The predicted capacity of a machine for one model, with cores as this machine's."""

    cores: int
    workers: int
    threads: int
    """Threads of each worker."""
    seconds: float
    """Of a run."""
    requests_per_hour: float
    memory_bytes: int
    """Memory of all workers, with their budgets for keys."""

    @classmethod
    def of(cls, facts: Facts, cores: int, key_memory: int) -> Capacity:
        """The capacity of some cores: workers of at most 4 threads."""
        threads = min(cores, THREADS[-1])
        workers, seconds = cores // threads, facts.seconds_on[str(threads)]
        memory = workers * (facts.running_bytes + key_memory)
        return cls(cores, workers, threads, seconds, workers * 3600 / seconds, memory)


@dataclass(frozen=True)
class Servable:
    """A version of a model that can be served."""

    model: str
    version: str
    seconds: float
    """Predicted seconds of a run on a worker of this service."""
    memory_bytes: int
    """Predicted memory of a run, with its keys."""
    key_bytes: int
    """Bytes of a client's keys on the disk."""
    capacity: tuple[Capacity, ...]


@dataclass(frozen=True)
class Check:
    """The models that a service would serve, and the files that it refuses."""

    models: tuple[Servable, ...]
    refused: tuple[Refused, ...]

    def to_json(self) -> Json:
        """As data for JSON."""
        return {
            "models": [records.to_json(model) for model in self.models],
            "refused": [{"path": str(r.path), "reason": r.reason} for r in self.refused],
        }


def open_service(config: Path | None = None, **options: Any) -> Parts:
    """The parts of a service, from a file of settings and from options.

    Raises
    ------
    DatabaseError, StoreError
        If one cannot be reached.
    DataError, UsageError
        If settings are wrong.
    """
    return assemble(Settings.read(config, **options))


def check(parts: Parts) -> Check:
    """Read the folder of programs.

    Raises
    ------
    UsageError
        If there is no such folder.
    """
    check_folder(parts)
    found = parts.models.refresh()
    models = tuple(
        servable(version, parts.settings.key_memory_bytes)
        for versions in found.versions.values()
        for version in versions.values()
    )
    return Check(models, found.refused)


def servable(version: Version, key_memory: int) -> Servable:
    """A version, with what it costs."""
    facts = version.facts
    return Servable(
        model=version.model,
        version=version.version,
        seconds=version.seconds,
        memory_bytes=facts.memory_bytes,
        key_bytes=facts.key_bytes,
        capacity=tuple(Capacity.of(facts, cores, key_memory) for cores in CORES),
    )


def first_token(parts: Parts) -> str | None:
    """The token of a first tenant, if there is none yet."""
    if parts.tenants.all():
        return None
    parts.tenants.add("default")
    return parts.tenants.issue("default").text


def check_folder(parts: Parts) -> None:
    """Refuse a folder of programs that is not there. Raises as :func:`check`."""
    if not parts.settings.programs.is_dir():
        raise UsageError(f"there is no folder {parts.settings.programs}, expected one with "
                         "programs that `palladion compile` wrote, as NAME.program")  # fmt: skip


def serve_until_stopped(parts: Parts) -> None:
    """Serve until SIGTERM or Ctrl-C. Requests under way end, and runs are saved.

    Raises
    ------
    UsageError
        If the port cannot be had, or there is no folder of programs.
    """
    import uvicorn

    from palladion.service.front.app import create
    from palladion.service.front.patience import Patient
    from palladion.service.logs import log_to

    check_folder(parts)
    settings = parts.settings
    listening = listen(settings.host, settings.port)
    log_to(sys.stderr)
    host, port = listening.getsockname()[:2]
    print(f"http://{host}:{port}", file=sys.stderr, flush=True)
    config = uvicorn.Config(
        create(parts),
        http=Patient,
        log_config=None,
        access_log=False,
        limit_concurrency=1000,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=10,
        h11_max_incomplete_event_size=1 << 16,
        server_header=False,
    )
    with suppress(Termination, KeyboardInterrupt):  # it passes them on at its end
        uvicorn.Server(config).run(sockets=[listening])


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises
    ------
    UsageError
        If the address cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio sends small responses at once. Otherwise each waits 40 ms for
    # an acknowledgement.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(512)
    except OSError as error:
        listening.close()
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror}") from error
    return listening
