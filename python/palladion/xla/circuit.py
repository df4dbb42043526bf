"""Runs a circuit on a device: from ciphertexts to ciphertexts.

:func:`palladion.xla.enable` must be called before this is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
from numpy.typing import ArrayLike

from palladion import _native
from palladion.circuit.predictions import Lowered
from palladion.circuit.written import Ciphertext, Written
from palladion.schemes.keys import EvaluationKeys
from palladion.waves.clock import Progress
from palladion.xla.run import Prepared


@dataclass(frozen=True)
class CircuitRun:
    """A circuit of CKKS, BGV or BFV that is ready to run on a device."""

    circuit: Written
    prepared: Prepared

    @staticmethod
    def of(circuit: Written, lowered: Lowered, device: jax.Device) -> CircuitRun:
        """Plan a lowered circuit, and bring its tables to the device.

        Raises
        ------
        BudgetError
            If the device has too little memory.
        UsageError
            If a modulus has more than 32 bits.
        """
        waves = _native.Waves.of_circuit(lowered.circuit)
        return CircuitRun(circuit, Prepared.of(waves, "a run of the circuit", device))

    def run(
        self,
        inputs: Mapping[str, Ciphertext | ArrayLike],
        keys: EvaluationKeys,
        progress: Progress | None = None,
        *,
        profile: bool = False,
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Run the circuit. The ciphertexts have the same bytes as from :meth:`Written.run`.

        Inputs that are plaintexts have the values with which the circuit was lowered. The report is
        the one of :meth:`palladion.xla.run.Prepared.execute`.

        Raises
        ------
        MissingKeyError, UsageError
            As :meth:`Written.run`.
        StoppedError
            If ``progress`` returned ``False``.
        """
        native_inputs = {name: self.circuit.given(name, value) for name, value in inputs.items()}
        of = (self.circuit.native, self.circuit.params.native)
        outside = _native.WavesOutside.of_circuit(*of, native_inputs, keys.native)
        report = self.prepared.execute(outside, progress, profile=profile)
        outputs = outside.outputs().items()
        return {name: self.circuit.made(native, keys) for name, native in outputs}, report
