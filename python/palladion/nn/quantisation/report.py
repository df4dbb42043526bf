"""What quantisation did to each layer."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from palladion.errors import NetworkError
from palladion.nn.graph import Shape
from palladion.nn.quantisation.settings import Settings


@dataclass(frozen=True)
class LayerReport:
    """One layer, on the calibration data."""

    name: str
    shape: Shape
    bound: int
    largest: int
    """Largest accumulator."""
    weight_bits: float
    """Bits of the integer weights with their sign, after any coarsening."""
    coarsened: float
    """How much coarser the weights are than asked for, to keep the limit; 1 if they are not."""
    beyond: float
    """Share of accumulators beyond the bound."""
    error: float
    """Noise to signal: squared error of the layer's real values against the float network's."""

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {**asdict(self), "shape": list(self.shape)}


def refuse(name: str, wanted: float, settings: Settings) -> NetworkError:
    """The error of a layer that does not fit: of a strict run, or where weights are given exactly.

    ``wanted`` is the bound that its accumulators need.
    """
    return NetworkError(
        f"layer {name}: with weights of {settings.weights} bits its bound would be {wanted:.0f}, "
        f"the limit is {settings.limit}. Ways out: (1) fewer bits of weights, --weights; (2) fewer "
        "bits of activations, --activations; (3) another calibration, --per-channel or --method, "
        "accumulators limited in training, as `palladion train` does, or the layer split in two"
    )
