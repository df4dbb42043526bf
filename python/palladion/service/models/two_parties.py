"""The facts of a program for two parties, which sessions serve."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import asdict, dataclass
from queue import SimpleQueue
from typing import Any

from palladion import _native
from palladion.errors import StoppedError
from palladion.hybrid import (
    Event,
    Failed,
    HybridClient,
    HybridFacts,
    HybridModel,
    Listening,
    identity_for_one_use,
)
from palladion.service.settings import MOST_INPUTS
from palladion.support.records import Json


@dataclass(frozen=True)
class TwoPartyFacts:
    """The facts of a program for two parties, as the database has them. Figures are of one input,
    keys and material of its session included."""

    network: str
    """Name of the network."""
    program_hash: str
    """Hash of the program's public part, which clients may insist on."""
    boundary: Json
    """``input``, ``interface`` and ``classes``: conversion between arrays and integers."""
    hidden_inputs: int
    """Inputs of one client that the floods hide together."""
    log2_distance: float
    """log2 of the distance that the floods leave for one input. That of several adds up."""
    reveals_accumulators: bool
    seconds: float
    """Predicted seconds of both parties' computation on one core."""
    bytes_to_server: int
    bytes_to_client: int
    rounds: int

    def to_json(self) -> Json:
        """As data for JSON."""
        return asdict(self)

    @classmethod
    def of_json(cls, data: Any) -> TwoPartyFacts | None:
        """From data of :meth:`to_json`. None if they are of another kind or version."""
        try:
            return cls(**data)
        except TypeError:
            return None

    @classmethod
    def of(cls, program: HybridModel) -> TwoPartyFacts:
        """Find the facts of a program out.

        Raises
        ------
        PalladionError
            If it cannot be served.
        """
        facts = program.facts
        parts = (facts.keys, facts.material, facts.online)
        return cls(
            network=facts.network,
            program_hash=facts.program_hash,
            boundary=boundary_of(program),
            hidden_inputs=hidden_inputs(facts),
            log2_distance=facts.log2_distance,
            reveals_accumulators=facts.reveals_accumulators,
            seconds=sum(part.compute_seconds for part in parts),
            bytes_to_server=sum(part.bytes_to_server for part in parts),
            bytes_to_client=sum(part.bytes_to_client for part in parts),
            rounds=sum(part.rounds for part in parts),
        )


def hidden_inputs(facts: HybridFacts) -> int:
    """Inputs of one client that the floods of a program hide together, at least 1."""
    log2_inputs = -facts.statistical_bits - facts.log2_distance
    return max(1, min(MOST_INPUTS, int(2.0 ** min(log2_inputs, 1000.0))))


def boundary_of(program: HybridModel) -> Json:
    """``input``, ``interface`` and ``classes`` of a program: as a client receives them, who
    connects here, sees the public part, and asks for nothing. Raises as :meth:`TwoPartyFacts.of`.
    """
    events: SimpleQueue[Event | BaseException] = SimpleQueue()

    def hear(event: Event) -> None:
        events.put(event)
        if isinstance(event, Failed):
            raise StoppedError("the client has seen what it came for")

    def serve(certificate_hash: str) -> None:
        try:
            with suppress(StoppedError):
                program.serve("127.0.0.1:0", hear, clients=[certificate_hash], inputs_per_client=1)
        except BaseException as error:
            events.put(error)

    # A server and a client of one process need a thread of the core's pool each.
    _native.set_threads(2)
    with identity_for_one_use() as identity:
        server = threading.Thread(target=serve, args=(identity.certificate_hash,), daemon=True)
        server.start()
        begun = events.get()
        if not isinstance(begun, Listening):
            server.join()
            assert isinstance(begun, BaseException), "the first event of a server is Listening"
            raise begun
        client = HybridClient.connect(
            begun.address, begun.certificate_hash, identity=identity.path, patience=30.0
        )
        boundary = client.description
        del client  # it ends the connection, and with it the server
        server.join()
    return boundary
