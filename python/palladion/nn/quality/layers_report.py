"""Reports about quantised layers, which print as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from palladion.nn.integers.network import IntNetwork
from palladion.support.records import Json
from palladion.support.text import table, times

if TYPE_CHECKING:
    from palladion.nn.quantisation import Quantised
    from palladion.nn.quantisation.compare.answers import Answers


SHOWN: Final = {
    "name": "layer",
    "shape": "shape",
    "bound": "bound",
    "weight_bits": "bits",
    "coarsened": "coarser",
    "weights_error": "rounding",
    "weights_error_free": "at best",
    "error": "error",
    "beyond": "beyond",
    "changed": "noise moves",
    "differing": "differing",
}
"""Columns of a layer's report. The other fields are in the JSON."""

SHARES: Final = {
    "weights_error", "weights_error_free", "error", "beyond", "changed", "differing"
}  # fmt: skip


def cell(name: str, value: Any) -> object:
    """A field of a layer's report in the form of a table cell."""
    if value is None:
        return None
    if name == "shape":
        return times(value)
    return f"{value:.2%}" if name in SHARES else value


@dataclass(frozen=True)
class LayersReport:
    """The layers of a quantised model, one row each, with notes and warnings."""

    layers: tuple[Json, ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    answers: Answers | None = None
    """The answers on the calibration data, compared with the float model's."""

    @classmethod
    def of(
        cls, network: IntNetwork, quantised: Quantised | None, notes: tuple[str, ...] = ()
    ) -> LayersReport:
        """The report of a quantisation, or of a network alone. ``notes`` are the notes of
        the import."""
        if quantised is not None:
            rows = tuple(layer.to_dict() for layer in quantised.layers)
            return cls(rows, notes, quantised.warnings, quantised.answers)
        pairs = zip(network.layers, network.shapes, strict=True)
        return cls(tuple(
            {"name": layer.name, "shape": list(shape), "bound": layer.bound}
            for layer, shape in pairs
        ), notes, network.warnings)  # fmt: skip

    def to_dict(self) -> Json:
        """As plain data, with everything known about each layer."""
        return {
            "layers": [dict(row) for row in self.layers],
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "answers": None if self.answers is None else self.answers.to_dict(),
        }

    def __str__(self) -> str:
        known = [name for name in SHOWN if any(row.get(name) is not None for row in self.layers)]
        rows = [{SHOWN[name]: cell(name, row.get(name)) for name in known} for row in self.layers]
        lines = [*table(rows)]
        if self.answers is not None:
            lines.append(f"answers: {self.answers}")
        lines += [f"note: {note}" for note in self.notes]
        lines += [f"warning: {warning}" for warning in self.warnings]
        return "\n".join(lines)
