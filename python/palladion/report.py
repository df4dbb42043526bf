"""Reports that print as text: about quantised layers, and about a program before it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from palladion.nn.network import IntNetwork
from palladion.prediction import HERE, on_this_machine
from palladion.text import at_most, size, table, times

if TYPE_CHECKING:
    from palladion.nn.quantisation import Quantised
    from palladion.nn.quantisation.answers import Answers


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

    layers: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    answers: Answers | None = None
    """The answers on the calibration data, compared with the float model's."""

    @classmethod
    def of(
        cls, network: IntNetwork, quantised: Quantised | None, notes: tuple[str, ...] = ()
    ) -> LayersReport:
        """The report of a quantisation, or of a network alone. ``notes`` are those of the
        import."""
        if quantised is not None:
            rows = tuple(layer.to_dict() for layer in quantised.layers)
            return cls(rows, notes, quantised.warnings, quantised.answers)
        pairs = zip(network.layers, network.shapes, strict=True)
        return cls(tuple(
            {"name": layer.name, "shape": list(shape), "bound": layer.bound}
            for layer, shape in pairs
        ), notes, network.warnings)  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
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


class ProgramReport(Mapping[str, Any]):
    """The predictions for a run, by name. Prints as text.

    ``predicted_seconds`` are those of one thread of the cost model's machine,
    ``predicted_wall_seconds`` those of a run here. The names are those of ``palladion inspect
    --json``.
    """

    def __init__(self, found: Mapping[str, Any], warnings: Sequence[str] = ()) -> None:
        self._found = {**found, "warnings": list(warnings)}

    @cached_property
    def _here(self) -> dict[str, Any]:
        return on_this_machine(self._found)

    def __getitem__(self, name: str) -> Any:
        return self._here[name] if name in HERE else self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*self._found, *HERE))

    def __len__(self) -> int:
        return len(self._found) + len(HERE)

    def __str__(self) -> str:
        rows = {
            "inputs": f"{self['batch']} of {times(self['input_shape'])} in one run",
            "time": f"{self['predicted_wall_seconds']:.1f} s predicted, on {self['threads']} "
            "threads here",
            "memory": f"{size(self['predicted_run_memory_bytes'])} predicted, keys included",
            "evaluation keys": size(self["predicted_evaluation_key_bytes"]),
            "ciphertexts": f"{size(self['predicted_ciphertext_bytes'])} in {self['ciphertexts']}",
            "noise margin": f"{self['predicted_margin_bits']:.1f} bits predicted",
            "failure": f"a run is wrong with at most {at_most(self['predicted_log2_failure'])}",
            "security": self["security"]["text"],
            "estimated by": self["security"]["basis"],
            "parameters": f"N = {1 << self['log_n']}, log2(QP) = {self['log_qp']:.0f}, "
            f"t = {self['plaintext_modulus']}",
        }
        width = max(map(len, rows)) + 2
        lines = [self["network"], *(f"  {name:{width}}{value}" for name, value in rows.items())]
        lines += [f"warning: {warning}" for warning in self["warnings"]]
        return "\n".join(lines)
