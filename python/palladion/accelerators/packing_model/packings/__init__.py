"""The packings of the paper, one file each: the cut of a layer, and the work of its pipelines."""

from __future__ import annotations

from typing import Final

from palladion.accelerators.packing_model.packings.activations_weights import ACTIVATIONS_WEIGHTS
from palladion.accelerators.packing_model.packings.batchwise import BATCHWISE, BATCHWISE_PLUS
from palladion.accelerators.packing_model.packings.c2pc import C2PC
from palladion.accelerators.packing_model.packings.channel import CHANNEL, GALA
from palladion.accelerators.packing_model.packings.hyena import HYENA, HYENA_PLUS
from palladion.accelerators.packing_model.packings.lola import LOLA
from palladion.accelerators.packing_model.packings.packing import Given, Packing
from palladion.errors import UsageError

__all__ = ["PACKINGS", "Given", "Packing", "packing_named"]

PACKINGS: Final = {
    packing.name: packing
    for packing in (
        LOLA,
        CHANNEL,
        C2PC,
        ACTIVATIONS_WEIGHTS,
        HYENA,
        GALA,
        BATCHWISE,
        BATCHWISE_PLUS,
        HYENA_PLUS,
    )
}
"""Packings by the name that commands take."""


def packing_named(name: str) -> Packing:
    """A packing by its name.

    Raises
    ------
    UsageError
        If there is none of this name.
    """
    if name not in PACKINGS:
        raise UsageError(f"{name!r} is no packing: {', '.join(PACKINGS)}")
    return PACKINGS[name]
