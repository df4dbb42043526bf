"""Traffic between client and server: the communication of figure 1 and table 5."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from palladion.accelerators.packing_model.arithmetic import ceil_div
from palladion.accelerators.packing_model.machine import PackingMachine
from palladion.accelerators.packing_model.shapes import Shape


@dataclass(frozen=True)
class Link:
    """A network between client and server. ``round_trip`` is seconds; the paper counts none."""

    bits_per_second: int
    round_trip: float = 0.0

    def seconds(self, sent: int, rounds: int = 0) -> float:
        """Time of a number of bytes in a number of rounds."""
        return 8 * sent / self.bits_per_second + rounds * self.round_trip


LAN: Final = Link(2_000_000_000)
"""Section 7.4: a LAN of 2 Gbit/s."""


@dataclass(frozen=True)
class Outputs:
    """The answer of the server after each layer."""

    values: int
    ciphertexts: int
    sent: int
    """Bytes."""


def outputs_of(shapes: Sequence[Shape], machine: PackingMachine, *, exact: bool = False) -> Outputs:
    """The results of all layers, one way, with every slot of a ciphertext used.

    ``exact`` counts positions at the border that the published model leaves out.
    """
    each = [
        shape.count * shape.kernels * (shape.outputs_exact if exact else shape.outputs)
        for shape in shapes
    ]
    ciphertexts = sum(ceil_div(values, machine.slots) for values in each)
    sent = ciphertexts * machine.ciphertext * machine.word_bytes
    return Outputs(sum(each), ciphertexts, sent)
