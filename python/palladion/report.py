"""Reports that print as text: of quantised layers, and of a program before it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from palladion.nn.network import IntNetwork
from palladion.text import size, table, times

if TYPE_CHECKING:
    from palladion.nn.quantisation import Quantised


@dataclass(frozen=True)
class LayersReport:
    """The layers of a quantised model, one row each, with notes and warnings."""

    layers: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, network: IntNetwork, quantised: Quantised | None) -> LayersReport:
        """From what quantisation found, or from a network alone."""
        if quantised is not None:
            rows = tuple(layer.to_dict() for layer in quantised.layers)
            return cls(rows, quantised.notes, quantised.warnings)
        pairs = zip(network.layers, network.shapes, strict=True)
        return cls(tuple(
            {"name": layer.name, "shape": list(shape), "bound": layer.bound}
            for layer, shape in pairs
        ))  # fmt: skip

    def __str__(self) -> str:
        rows = [{**row, "shape": times(row["shape"])} for row in self.layers]
        lines = [*table(rows)]
        lines += [f"note: {note}" for note in self.notes]
        lines += [f"warning: {warning}" for warning in self.warnings]
        return "\n".join(lines)


class ProgramReport(Mapping[str, Any]):
    """What is predicted of a run, by name; prints as text."""

    def __init__(self, found: Mapping[str, Any]) -> None:
        self._found = dict(found)

    def __getitem__(self, name: str) -> Any:
        return self._found[name]

    def __iter__(self) -> Any:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __str__(self) -> str:
        rows = {
            "inputs": f"{self['batch']} of {times(self['input_shape'])} in one run",
            "time": f"{self['predicted_seconds']:.1f} s predicted, on one thread",
            "memory": f"{size(self['predicted_peak_memory_bytes'])} predicted, keys included",
            "evaluation keys": size(self["predicted_evaluation_key_bytes"]),
            "ciphertexts": f"{size(self['predicted_ciphertext_bytes'])} in {self['ciphertexts']}",
            "noise margin": f"{self['predicted_margin_bits']:.1f} bits predicted",
            "failure": f"a run is wrong with at most 2^{self['predicted_log2_failure']:.0f}",
            "security": f"{self['security_bits']} bits, N = {1 << self['log_n']}, log2(QP) = "
            f"{self['log_qp']:.0f}, t = {self['plaintext_modulus']}",
        }
        width = max(map(len, rows)) + 2
        return "\n".join([self["network"], *(f"  {n:{width}}{v}" for n, v in rows.items())])
