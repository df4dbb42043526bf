"""The modes ``fhe`` and ``hybrid`` on the same images: classes, and differences of logits."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from .environments import NotRunError
from .parties import Row, Task, agreeing, palladion

DRAWS = 20
"""Simulations of the rounding noise."""


def fhe(task: Task, batch: int, threads: int) -> Row:
    """All images in runs of ``batch``, by the commands of client and server."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program, keys = str(folder / "program"), folder / "keys"
        at = ("--threads", str(threads))
        palladion("compile", str(task.network), "--batch", str(batch), "--output", program)
        palladion("keygen", "--client", f"{program}.client", "--output", str(keys), *at)
        secret = ("--client", f"{program}.client", "--secret", str(keys / "secret.key"))
        logits: list[list[int]] = []
        classes: list[Any] = []
        seconds, runs, sizes = 0.0, 0, [0, 0]
        query, answer, inputs = folder / "query", folder / "answer", folder / "x.npy"
        for start in range(0, len(task.values), batch):
            np.save(inputs, task.values[start : start + batch])
            palladion("encrypt", *secret, "--output", str(query), str(inputs), *at)
            before = time.perf_counter()
            palladion("run", "--program", program, "--keys", str(keys / "evaluation.key"),
                      "--output", str(answer), str(query), *at)  # fmt: skip
            seconds += time.perf_counter() - before
            found = palladion("decrypt", *secret, "--query", str(query), "--integers", str(answer))
            runs += 1
            sizes = [
                size + path.stat().st_size
                for size, path in zip(sizes, (query, answer), strict=True)
            ]
            logits += found["logits"]
            classes += found["predicted"]
        key_bytes = (keys / "evaluation.key").stat().st_size
    return {
        "images": len(task.values),
        "batch": batch,
        "runs": runs,
        # With the start of the process and the reading of the keys.
        "seconds_of_a_run": seconds / runs,
        "bytes_of_a_run": sum(sizes) / runs,
        "key_bytes": key_bytes,
        "threads": threads,
        "same_class": agreeing(classes, task.classes),
        "noise": noise(task, np.array(logits)),
    }


def noise(task: Task, found: np.ndarray) -> Row:
    """How far logits are from the integer network's, beside simulations of the rounding before each
    table."""
    from palladion import IntNetwork

    network = IntNetwork.load(task.network)
    if found.shape != task.logits.shape:
        raise NotRunError(
            f"decrypt gave logits of shape {found.shape}, expected {task.logits.shape}"
        )
    measured = found - task.logits
    simulated = [
        network.evaluate(task.integers.reshape(len(found), -1), network.sigmas(), seed).logits
        - task.logits
        for seed in range(DRAWS)
    ]
    largest = [int(np.abs(part).max()) for part in simulated]
    return {
        "deviation": deviation(measured),
        "simulated_deviation": deviation(np.array(simulated)),
        "largest": int(np.abs(measured).max()),
        "simulated_largest": [min(largest), max(largest)],
        "largest_logit": int(np.abs(task.logits).max()),
        "draws": DRAWS,
    }


def deviation(differences: np.ndarray) -> float:
    """Root of the mean square."""
    return float(np.sqrt(np.mean(np.square(differences, dtype=np.float64))))
