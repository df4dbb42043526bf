"""The facts of a program for two parties, and the predicted costs of its sessions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from palladion.support import records

BYTES_OF_MBIT: Final = 125_000
"""Bytes of a Mbit."""


@dataclass(frozen=True)
class Predicted:
    """The predicted costs of a part of a session, for one input."""

    rounds: int
    messages: int
    bytes_to_server: int
    bytes_to_client: int
    compute_seconds: float
    """Seconds of both parties' computation on one core."""

    @property
    def bytes(self) -> int:
        """Bytes in both directions."""
        return self.bytes_to_server + self.bytes_to_client


@dataclass(frozen=True)
class Link:
    """A connection."""

    bandwidth: float = 2000.0
    """Mbit/s."""
    latency: float = 0.2
    """Milliseconds there and back."""

    @property
    def bytes_per_second(self) -> float:
        """Bytes per second in each direction."""
        return self.bandwidth * BYTES_OF_MBIT

    def seconds(self, part: Predicted, *, waiting: bool = True) -> float:
        """Predicted seconds of a part: computation, bytes, and, if ``waiting``, messages."""
        seconds = part.compute_seconds + part.bytes / self.bytes_per_second
        return seconds + waiting * part.messages * self.latency / 2000


LINK: Final = Link()
"""The connection that is assumed unless another is given."""


@dataclass(frozen=True)
class HybridLayer:
    """A layer of a program for two parties. Figures of encryption are ``None`` without it."""

    name: str
    bits: int
    """Shares are modulo ``2**bits``."""
    n: int | None
    """Ring degree."""
    log_q: float | None
    security_bits: float | None
    flood_bits: int | None
    tile_channels: tuple[int, ...]
    """Channels that share a ciphertext, for each linear term."""
    layouts: tuple[int, ...]
    """Layouts that were compared, for each linear term."""
    ciphertexts: tuple[int, ...]
    """Ciphertexts to the server and to the client."""
    values: int
    """Values of the activation."""
    linear: Predicted
    activation: Predicted


@dataclass(frozen=True)
class HybridProducts:
    """Products of random numbers that are made under BFV in the offline phase."""

    kind: str
    bits: int
    count: int
    """Products of one input."""
    n: int
    log_q: float
    security_bits: float | None
    primes: int
    making: Predicted


@dataclass(frozen=True)
class HybridClientFacts:
    """A client's knowledge of a program for two parties."""

    network: str
    program_hash: str
    reveals_accumulators: bool
    """True if the client sees every accumulator, and with them much of the weights."""
    keys: Predicted
    """Keys, once for a session."""
    material: Predicted
    """Random material of the offline phase, for one input."""
    online: Predicted
    """The online phase of one input."""
    layers: tuple[HybridLayer, ...]
    products: tuple[HybridProducts, ...]

    def to_json(self) -> records.Json:
        """As data for JSON."""
        return records.to_json(self)

    def costs(self, link: Link) -> HybridCosts:
        """Predicted seconds of both phases, for one input."""
        offline = link.seconds(self.keys) + link.seconds(self.material)
        return HybridCosts(offline, link.seconds(self.online))


@dataclass(frozen=True)
class HybridFacts(HybridClientFacts):
    """The statements of a program for two parties."""

    statistical_bits: int
    """Floods hide weights to a distance of ``2**-statistical_bits``."""
    log2_distance: float
    """log2 of the distance that the floods leave for one input."""

    @property
    def hidden_inputs(self) -> int:
        """Inputs of one client whose distances add up to the bound."""
        return int(2.0 ** (-self.statistical_bits - self.log2_distance))


@dataclass(frozen=True)
class HybridCosts:
    """Predicted seconds of a session, for one input."""

    offline: float
    online: float

    def to_json(self) -> records.Json:
        """As data for JSON."""
        return records.to_json(self)
