"""Reports of sessions, and the events of a server."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final, TypeAlias

from palladion.support import records


@dataclass(frozen=True)
class Measured:
    """Time and traffic of a part of a session at one party."""

    seconds: float
    sent: int
    """Bytes."""
    received: int
    """Bytes."""
    rounds: int


@dataclass(frozen=True)
class LayerReport:
    """Time and traffic of a layer."""

    name: str
    linear: Measured
    activation: Measured


@dataclass(frozen=True)
class SessionReport:
    """Time and traffic of a session."""

    inputs: int
    handshake: Measured
    offline: Measured
    online: Measured
    layers: tuple[LayerReport, ...]

    def to_json(self) -> records.Json:
        """As data for JSON."""
        return records.to_json(self)


@dataclass(frozen=True)
class Listening:
    """A server waits for clients."""

    event: str
    address: str
    """HOST:PORT."""
    certificate_hash: str
    """The hash that clients trust."""
    program_hash: str
    log2_distance: float
    inputs_of_client: int
    """Inputs of one client that are answered."""
    any_client: bool


@dataclass(frozen=True)
class Connected:
    """A client has connected."""

    event: str
    address: str


@dataclass(frozen=True)
class Served:
    """A session has ended well."""

    event: str
    address: str
    client: str | None
    """Hash of the client's certificate. All clients without one count together."""
    inputs: int
    """Inputs of this client so far."""
    log2_distance: float
    """log2 of the distance for all of them."""
    report: SessionReport


@dataclass(frozen=True)
class Failed:
    """A session has failed."""

    event: str
    address: str
    reason: str


Event: TypeAlias = Listening | Connected | Served | Failed

EVENTS: Final[dict[str, type[Event]]] = {
    "listening": Listening, "connected": Connected, "served": Served, "failed": Failed,
}  # fmt: skip


def event_of(text: str) -> Event:
    """An event from the text of the core."""
    data = json.loads(text)
    if "from" in data:
        data["address"] = data.pop("from")
    event: Event = records.read(EVENTS[data["event"]], data)
    return event
