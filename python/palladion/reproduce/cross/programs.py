"""The programs of table 6: circuits of ours, with counts of their traces and times here."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

from palladion import ckks
from palladion.circuit import Written, benchmark
from palladion.errors import UsageError
from palladion.reproduce.cross.measured import median
from palladion.reproduce.cross.model import Work
from palladion.support.records import Json

FOLDER: Final = "real_data"
"""The folder of the applications among the repository's examples."""
OWN_MODULES: Final = ("files", "layers", "helr", "helr_bootstrapped", "lenet", "lola_mnist")
WORD_BITS: Final = 32
SAMPLES: Final = (2048, 197)
"""Samples of a training and their features: 14 x 14 pixels and a one."""


@dataclass(frozen=True)
class Program:
    """A circuit with its parameters."""

    circuit: Written
    iterations: int = 1
    """Steps of a training in a run."""
    plain: Mapping[str, Any] = field(default_factory=dict)
    """The plaintexts among the inputs."""

    @property
    def params(self) -> ckks.Params:
        """The parameters, which are of CKKS."""
        assert isinstance(self.circuit.params, ckks.Params)
        return self.circuit.params

    def work(self) -> Work:
        """Counts of the circuit's trace."""
        counts = self.circuit.lower(self.plain).counts().to_json()
        return Work.of(self.params.n, WORD_BITS, counts)

    def seconds(self, runs: int) -> float:
        """Median seconds of an iteration on this machine's CPU, on encrypted random numbers.

        Keys, encryption and decryption are no part of it.
        """
        c, rng = self.circuit, np.random.default_rng(1)
        secret = ckks.keygen(self.params)
        keys = c.keys(secret)
        names = [name for name, level in c.inputs.items() if level is not None]
        ciphertexts = c.encrypt(secret, {name: rng.uniform(-0.01, 0.01, c.slots) for name in names})
        return median(lambda: c.run({**ciphertexts, **self.plain}, keys), runs) / self.iterations


def of_benchmark(name: str, digit_limbs: int) -> Program:
    """A program that ``palladion reproduce f1`` simulates."""
    return Program(benchmark(name, digit_limbs))


def of_examples(name: str, folder: Path) -> Program:
    """A program of ``examples/real_data``, whose circuit does not depend on the images.

    Parameters
    ----------
    name
        ``helr``, two iterations without a bootstrapping; ``helr-bootstrapped``, two iterations
        after one; ``lenet`` or ``lola-mnist``.
    folder
        The folder ``examples`` of the repository.

    Raises
    ------
    UsageError
        If the folder has no such program.
    """
    module = name.replace("-", "_")
    place = folder / FOLDER
    if not (place / f"{module}.py").is_file():
        raise UsageError(
            f"{place} has no {module}.py, expected the examples of Palladion's repository: run the "
            "command in the repository, or give the folder with --examples"
        )
    with importable(place):
        loaded = import_module(module)
        if name == "lenet":
            return Program(loaded.LeNet().circuit)
        if name == "lola-mnist":
            return Program(loaded.LolaMnist().circuit)
        samples = np.random.default_rng(1).uniform(0, 1, SAMPLES)
        if name == "helr-bootstrapped":
            step = loaded.Bootstrapped(samples, loaded.PAIR, loaded.parameters())
            return Program(step.circuit, loaded.PAIR, step.plain_inputs)
        images, labels = samples_of_digits()
        return Program(loaded.Helr(images, labels, 2).circuit, 2)


def samples_of_digits() -> tuple[Any, Any]:
    """Random images of 28 x 28 pixels, half of them called 3 and half 8."""
    images = np.random.default_rng(1).integers(256, size=(SAMPLES[0], 28 * 28)).astype(float)
    return images, np.tile([3, 8], SAMPLES[0] // 2)


@contextmanager
def importable(place: Path) -> Iterator[None]:
    """Let modules of a folder be imported in the body, and forget them afterwards."""
    kept: Json = {name: sys.modules.pop(name) for name in OWN_MODULES if name in sys.modules}
    sys.path.insert(0, str(place))
    try:
        yield
    finally:
        sys.path.remove(str(place))
        for name in OWN_MODULES:
            sys.modules.pop(name, None)
        sys.modules.update(kept)
