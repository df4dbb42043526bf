"""Runs a random trace on a mesh of eight host devices, and prints what came out as JSON.

A program of its own: the number of host devices is fixed when JAX starts.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import jax
import numpy as np
from palladion import _native, xla

from tests.test_xla import given

N = 16
LENGTH = 30


def main(queries: int) -> None:
    xla.enable()
    from palladion.waves.plan import Plan
    from palladion.xla.mesh.mesh_executor import MeshExecutor, mesh_of

    rng = np.random.default_rng(3)
    text, values = given(rng, N, 1 << 16, LENGTH)
    # The first input is the query, and the others are keys.
    text = text.replace("load in/0\n", "load query/0\n")
    values["query/0"] = values.pop("in/0")
    waves = _native.Waves.of_text(text, 50)
    outsides: Any = []
    expected = []
    for k in range(queries):
        own = {**values, "query/0": [bytes([k]) + limb[1:] for limb in values["query/0"]]}
        seeds = {"seed": bytes(range(32))}
        replayed, outside = (_native.WavesOutside.of_values(own, seeds) for _ in range(2))
        waves.replay(replayed)
        outsides.append(outside)
        expected.append(replayed.values())
    executor = MeshExecutor(Plan(waves), mesh_of(jax.devices(), queries))
    executor.run_queries(outsides)
    found = {
        "devices": executor.mesh.size,
        "values": len(expected[0]),
        "equal": [
            outside.values() == want for outside, want in zip(outsides, expected, strict=True)
        ],
        "differ": queries > 1 and expected[0] != expected[1],
        "gathering": sorted({s.stage.kernel for s in executor.split.shares if s.gathered.size}),
        "rows": [executor.split.rows, executor.plan.rows],
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]))
