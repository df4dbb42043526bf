"""The models that a service would serve, and how many requests an hour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from palladion.errors import UsageError
from palladion.service.assembly import Parts
from palladion.service.models.catalogue import Refused, TwoPartyVersion, Version
from palladion.service.models.inspection import THREADS, Facts
from palladion.service.sessions.budgets import BOUND, log2_distance
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
class TwoPartyServable:
    """A version of a model for two parties that can be served."""

    model: str
    version: str
    program_hash: str
    seconds: float
    """Predicted seconds of both parties' computation for one input, on one core."""
    bytes: int
    """Bytes of a session of one input, in both directions."""
    rounds: int
    inputs_allowed: int
    """Inputs of each tenant, unless it has a limit of its own or grants."""
    log2_distance: float
    """log2 of the distance that floods leave for all of them."""

    @property
    def gives_away(self) -> bool:
        """Whether more inputs are allowed than floods hide."""
        return self.log2_distance > BOUND

    @classmethod
    def of(cls, version: TwoPartyVersion, limit: int) -> TwoPartyServable:
        """A version, with the operator's limit of inputs or 0."""
        facts = version.facts
        allowed = limit or facts.hidden_inputs
        return cls(
            model=version.model,
            version=version.version,
            program_hash=facts.program_hash,
            seconds=facts.seconds,
            bytes=facts.bytes_to_server + facts.bytes_to_client,
            rounds=facts.rounds,
            inputs_allowed=allowed,
            log2_distance=log2_distance(facts, allowed),
        )


@dataclass(frozen=True)
class Check:
    """The models that a service would serve, and the files that it refuses."""

    models: tuple[Servable, ...]
    two_parties: tuple[TwoPartyServable, ...]
    refused: tuple[Refused, ...]
    grpc: str | None
    """Address for gRPC, if the settings ask for it."""

    def to_json(self) -> Json:
        """As data for JSON."""
        return {
            "models": [records.to_json(model) for model in self.models],
            "two_parties": [records.to_json(model) for model in self.two_parties],
            "refused": [{"path": str(r.path), "reason": r.reason} for r in self.refused],
            "grpc": self.grpc,
        }


def check(parts: Parts) -> Check:
    """Read the folder of programs.

    Raises
    ------
    UsageError
        If there is no such folder, or the packages for gRPC are needed and not installed.
    """
    check_folder(parts)
    check_grpc(parts)
    found = parts.models.refresh()
    every = [version for versions in found.versions.values() for version in versions.values()]
    models = tuple(
        servable(version, parts.settings.key_memory_bytes)
        for version in every
        if isinstance(version, Version)
    )
    limit = parts.settings.limits.hybrid_inputs
    two_parties = tuple(
        TwoPartyServable.of(version, limit)
        for version in every
        if isinstance(version, TwoPartyVersion)
    )
    return Check(models, two_parties, found.refused, parts.settings.grpc_address)


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


def check_folder(parts: Parts) -> None:
    """Refuse a folder of programs that is not there. Raises as :func:`check`."""
    if not parts.settings.programs.is_dir():
        raise UsageError(f"there is no folder {parts.settings.programs}, expected one with "
                         "programs that `palladion compile` wrote, as NAME.program or "
                         "NAME.hybrid")  # fmt: skip


def check_grpc(parts: Parts) -> None:
    """Refuse settings that ask for gRPC where its packages are not installed. Raises as
    :func:`check`."""
    if parts.settings.grpc_port is not None:
        import palladion.service.open_inference  # noqa: F401
