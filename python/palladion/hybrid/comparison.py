"""The packing of the mode of two parties beside packings in slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from palladion import _native
from palladion.hybrid.costs import HybridClientFacts, Link
from palladion.nn.integers.network import IntNetwork


@dataclass(frozen=True)
class PackingComparison:
    """An encrypted layer in coefficients, as the mode packs it, and in slots."""

    layer: str
    used: str
    """The packing of the mode."""
    used_seconds: float
    slots: tuple[str, ...]
    """The cheapest packing in slots, for each term."""
    slots_seconds: float | None
    """``None`` if no packing in slots takes the layer."""
    compared: int
    """Packings in slots that were compared."""

    @property
    def cheaper_in_slots(self) -> bool:
        """True if slots would be cheaper."""
        return self.slots_seconds is not None and self.slots_seconds < self.used_seconds


def compare_packings(
    network: IntNetwork, facts: HybridClientFacts, link: Link
) -> tuple[PackingComparison, ...]:
    """For each encrypted layer, its costs beside the cheapest packing in slots.

    Shares modulo a power of two have no slots, so the mode packs values in coefficients, as
    ``c2pc`` does, in the layout that takes the least time on this connection. The seconds of
    packings in slots are the planner's, for the core that the mode's predictions are for: of the
    server, one thread, and of ciphertexts on their way, without the floods and keys that the mode
    would need too.
    """
    terms: dict[str, list[tuple[str, float] | None]] = {}
    compared: dict[str, int] = {}
    for name, shape, _weights in _native.packing_layers(network.to_json()):
        layer = next(
            layer.name
            for layer in facts.layers
            if name == layer.name or name.startswith(f"{layer.name} term ")
        )
        choice = _native.packing_choice(
            shape, "bfv", 13, link.bytes_per_second, _native.HYBRID_CORE
        )
        seconds = {
            row["packing"]: row["seconds"] + row["moving_seconds"]
            for row in choice["candidates"]
            if row["packing"] != "c2pc"
        }
        compared.setdefault(layer, len(seconds))
        best = min(seconds, key=seconds.__getitem__) if seconds else None
        # Without candidates, its windows fit no row of slots.
        terms.setdefault(layer, []).append(None if best is None else (best, seconds[best]))
    linear = {layer.name: layer.linear for layer in facts.layers}
    return tuple(
        compared_layer(layer, link.seconds(linear[layer], waiting=False), best, compared[layer])
        for layer, best in terms.items()
    )


def compared_layer(
    layer: str, used: float, terms: Sequence[tuple[str, float] | None], compared: int
) -> PackingComparison:
    """The comparison of a layer, of the cheapest packing of each of its terms."""
    known = [best for best in takewhile(lambda best: best is not None, terms) if best]
    seconds = sum(each for _, each in known) if len(known) == len(terms) else None
    slots = tuple(name for name, _ in known)
    return PackingComparison(layer, "c2pc", used, slots, seconds, compared)
