"""Measurements of the core: schemes, transforms, tables, and the whole loop."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from palladion import _native
from palladion.data.digits import mnist_network, mnist_sample
from palladion.deployment import CompiledModel
from palladion.errors import UsageError
from palladion.support import records
from palladion.support.seconds import threads

NAMES: Final = ("ntt", "bfv", "bgv", "ckks", "tfhe", "lut", "loop")
"""Measurements, besides ``bootstrap``, which takes 7 GB of memory."""


@dataclass(frozen=True)
class Measurement:
    """The median of a few samples."""

    name: str
    parameters: Mapping[str, object]
    threads: int
    seconds: float
    samples: int


def measure(name: str, hear: Callable[[Measurement], object], samples: int = 5) -> None:
    """Measure one of :data:`NAMES`, or ``bootstrap``. ``hear`` is called with each measurement.

    ``loop`` has the steps of the demo's program, including the client's work. Short operations are
    repeated for at least a tenth of a second.

    Raises
    ------
    UsageError
        If there is no such measurement.
    """
    if name not in (*NAMES, "bootstrap"):
        raise UsageError(f"no measurement {name!r}, expected one of {', '.join(NAMES)}")
    if name == "loop":
        for measurement in loop(samples):
            hear(measurement)
        return

    def hear_row(row: Mapping[str, object]) -> None:
        hear(records.read(Measurement, row))

    _native.bench(name, samples, hear_row)


def loop(samples: int) -> list[Measurement]:
    """The steps of the demo's program."""
    network = mnist_network()
    program = CompiledModel.of_network(network)
    client = program.client()
    keys = client.keys()
    image = network.inputs_of_pixels(mnist_sample().images[:1])
    seconds: dict[str, list[float]] = defaultdict(list)
    for _ in range(samples + 1):
        answer = program.run(keys, client.encrypt_integers(image))
        for step in answer.report.steps:
            seconds[step.name].append(step.seconds)
        seconds["whole run"].append(answer.seconds)
    facts = program.facts
    parameters = {
        "network": facts.network,
        "batch": facts.batch,
        "log_n": facts.log_n,
        "log_qp": round(facts.log_qp),
    }
    return [  # the first sample fills caches and tables
        Measurement(f"loop {name}", parameters, threads(), statistics.median(taken[1:]), samples)
        for name, taken in seconds.items()
    ]
