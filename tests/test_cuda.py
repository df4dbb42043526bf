"""Kernels for GPUs of NVIDIA, on an emulated one: the words of a replay, and refusals."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import palladion
import pytest
from palladion import _native
from palladion.cuda import launch, tables
from palladion.cuda.gpu_executor import Executor
from palladion.errors import FormatError, UsageError
from palladion.waves.plan import Plan
from palladion.waves.roots import least_root

from tests.emulated import COMPILER, EmulatedGpu
from tests.random_traces import random_trace
from tests.rings import ntt, primes

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no compiler of C++")

SEEDS = {"seed": bytes(range(32))}


def emulated(plan: Plan, folder: Path) -> EmulatedGpu:
    """A device with the kernels of a plan."""
    each = [one for stage in plan.stages for one in launch.launches(stage, plan.n)]
    return EmulatedGpu({one.kernel for one in [*each, launch.place(plan.n)]}, folder)


def words_of(outside: _native.WavesOutside) -> dict[str, list[Any]]:
    """The stored values, in words."""
    return {
        name: [np.frombuffer(limb, np.uint64).tolist() for limb in limbs]
        for name, limbs in outside.values().items()
    }


@pytest.mark.parametrize(("n", "seed"), [(16, 1), (64, 2), (256, 4), (8192, 3)])
def test_random_traces_give_the_words_of_a_replay(n: int, seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    writer = random_trace(rng, n, 1 << 16, 90)
    values = {}
    for name, value in writer.inputs.items():
        limbs = []
        for limb in value.limbs:
            q = writer.moduli[limb]
            words = rng.integers(q, size=n, dtype=np.uint64)
            words[:4] = [0, q - 1, q // 2, q // 2 + 1]
            limbs.append(words.tobytes())
        values[name] = limbs
    waves = _native.Waves.of_text(writer.text(), 50)
    replayed = _native.WavesOutside.of_values(values, SEEDS)
    waves.replay(replayed)
    expected = words_of(replayed)
    plan = Plan(waves)
    assert len({stage.kernel for stage in plan.stages}) == 13
    device = emulated(plan, tmp_path)
    executor, keys = Executor(plan, device, keeps=seed % 2 == 0), object()
    for _ in range(3 if n < 8192 else 1):  # launches, records, replays
        ran = _native.WavesOutside.of_values(values, SEEDS)
        executor.run(ran, keys=keys)
        found = words_of(ran)
        assert expected.keys() == found.keys()
        wrong = [name for name, limbs in expected.items() if limbs != found[name]]
        assert not wrong
    assert bool(device.replayed) == (seed % 2 == 0 and n < 8192)


@pytest.mark.parametrize("log_n", range(4, 18))
def test_transforms_of_every_degree(log_n: int, tmp_path: Path) -> None:
    n = 1 << log_n
    least, most = primes(n, 32)
    text = f"""palladion-trace/1
ring {n}
moduli {least} {most}

main:
  %0: coeff 0..2 = load x
  %1: eval 0..2 = ntt %0
  %2: coeff 0..2 = intt %1
  store y %1
  store z %2
end
"""
    rng = np.random.default_rng(log_n)
    words = [rng.integers(q, size=n, dtype=np.uint64) for q in (least, most)]
    plan = Plan(_native.Waves.of_text(text))
    outside = _native.WavesOutside.of_values({"x": [limb.tobytes() for limb in words]}, {})
    Executor(plan, emulated(plan, tmp_path), keeps=False).run(outside)
    stored = words_of(outside)
    for limb, q, values, again in zip(words, (least, most), stored["y"], stored["z"], strict=True):
        assert values == ntt(limb, q, least_root(q, n)).tolist()
        assert again == limb.tolist()


TEXT = """palladion-trace/1
ring 16
moduli 97 193

main:
  %0: eval 0..2 = load keys/a
  %1: eval 0..2 = load x
  %2: eval 0..2 = add %0 %1
  store y %2
end
"""


def sums(executor: Executor, values: dict[str, int], keys: object) -> list[list[int]]:
    """The results of a run on rows of one word each."""
    limbs = {name: [np.full(16, value, np.uint64).tobytes()] * 2 for name, value in values.items()}
    outside = _native.WavesOutside.of_values(limbs, {})
    executor.run(outside, keys=keys)
    return words_of(outside)["y"]


def test_keys_stay_on_the_device_for_runs_with_the_same_keys(tmp_path: Path) -> None:
    plan = Plan(_native.Waves.of_text(TEXT))
    device = emulated(plan, tmp_path)
    keeps, mine, yours = Executor(plan, device, keeps=True), object(), object()
    assert sums(keeps, {"keys/a": 5, "x": 7}, mine) == [[12] * 16] * 2
    for x in (8, 9, 10):  # there is no key to load
        assert sums(keeps, {"x": x}, mine) == [[5 + x] * 16] * 2
    assert device.replayed == 3
    assert sums(keeps, {"keys/a": 6, "x": 8}, yours) == [[14] * 16] * 2
    assert sums(keeps, {"x": 9}, yours) == [[15] * 16] * 2
    assert device.replayed == 4
    with pytest.raises(FormatError, match="the value keys/a is missing"):
        sums(keeps, {"x": 8}, mine)  # those of another client are not kept
    with pytest.raises(FormatError, match="the value keys/a is missing"):
        sums(keeps, {"x": 8}, mine)  # and the run that failed left nothing
    assert sums(keeps, {"keys/a": 5, "x": 7}, None) == [[12] * 16] * 2
    with pytest.raises(FormatError, match="the value keys/a is missing"):
        sums(keeps, {"x": 7}, None)
    forgets = Executor(plan, device, keeps=False)
    assert sums(forgets, {"keys/a": 5, "x": 7}, mine) == [[12] * 16] * 2
    with pytest.raises(FormatError, match="the value keys/a is missing"):
        sums(forgets, {"x": 7}, mine)


def test_what_is_missing_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"of 2 words, expected .* from 2\^4 to 2\^17"):
        tables.transform_factors(np.array([97], np.uint32), 2, inverse=False)
    with pytest.raises(UsageError, match="a device of the target cuda, which has no choice"):
        palladion.Target("cuda", device="gpu")
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(UsageError, match="needs the package `cupy`, which was not found"):
        palladion.Target("cuda").place()
