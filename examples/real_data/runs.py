"""Runs of a circuit on the CPU and through XLA, whose results must have the same bytes."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from files import Array
from palladion import ckks
from palladion.circuit import Circuit

Progress = Callable[[str, float, float], bool | None]


class Runs:
    """A circuit with keys, and with a plan for XLA if there is a device.

    ``plain`` are the plaintexts among its inputs. They are the same in all runs.
    """

    def __init__(
        self, c: Circuit, device: str | None, plain: Mapping[str, complex] | None = None
    ) -> None:
        self.circuit, self.compared, self.plain = c, 0, dict(plain or {})
        print(f"{c.name}: {c.params.native!r}")
        assert isinstance(c.params, ckks.Params), "these circuits are of CKKS"
        self.secret = ckks.keygen(c.params)
        with timed("keys"):
            self.keys = c.keys(self.secret)
        print(f"{self.keys.native.nbytes() / 1e6:.0f} MB of keys")
        self.prepared: Any = None
        if device is not None:
            from palladion import xla

            xla.enable()
            from palladion.xla.circuit import CircuitRun
            from palladion.xla.device import chosen_device

            with timed("lower and plan"):
                self.prepared = CircuitRun.of(c, c.lower(self.plain), chosen_device(device))

    def run(self, inputs: dict[str, Array], *, through_xla: bool) -> tuple[dict[str, Array], float]:
        """The decrypted results of a run on the CPU, and its seconds."""
        given = self.circuit.encrypt(self.secret, inputs)
        found, seconds, others = self.of_ciphertexts(given, through_xla=through_xla)
        if through_xla:
            print(f"through XLA: {others:.2f} s", flush=True)
        return self.circuit.decrypt(self.secret, found), seconds

    def of_ciphertexts(
        self, given: Mapping[str, Any], *, through_xla: bool, progress: Progress | None = None
    ) -> tuple[dict[str, Any], float, float]:
        """The encrypted results, the CPU's seconds and those through XLA.

        Results of both have the same bytes, or the process ends.
        """
        began = time.perf_counter()
        found = self.circuit.run({**given, **self.plain}, self.keys)
        seconds = time.perf_counter() - began
        if not through_xla:
            return found, seconds, 0.0
        began = time.perf_counter()
        others, report = self.prepared.run({**given, **self.plain}, self.keys, progress)
        for name, ct in found.items():
            if others[name].to_bytes() != ct.to_bytes():
                sys.exit(f"the result {name} through XLA has other bytes than that of the CPU")
        if not self.compared:
            memory = report["device_memory_bytes"] / 1e9
            print(
                f"{report['waves']} waves, {report['executables']} executables, "
                f"{memory:.2f} GB of {report['device']}"
            )
        self.compared += 1
        return others, seconds, time.perf_counter() - began


@contextmanager
def timed(what: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    print(f"{what}: {time.perf_counter() - began:.2f} s", flush=True)


def peak() -> float:
    """Largest resident memory so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
