"""Traces through XLA: the words of a replay, and refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import palladion
import pytest
from palladion import _native, xla
from palladion.errors import UsageError
from palladion.xla.kernels.kernel_sets import KERNEL_SETS

from tests.conftest import Command, Halves, refused
from tests.random_traces import random_trace

pytest.importorskip("jax")
pytestmark = [pytest.mark.long, pytest.mark.usefixtures("quick_to_compile")]

Stored = dict[str, list[bytes]]


def given(
    rng: np.random.Generator, n: int, least: int, length: int = 90
) -> tuple[str, dict[str, list[bytes]]]:
    """A random trace and the values that it loads: random residues and extreme ones."""
    writer = random_trace(rng, n, least, length)
    values = {}
    for name, value in writer.inputs.items():
        limbs = []
        for limb in value.limbs:
            q = writer.moduli[limb]
            words = rng.integers(q, size=n, dtype=np.uint64)
            words[:4] = [0, q - 1, q // 2, q // 2 + 1]
            limbs.append(words.tobytes())
        values[name] = limbs
    return writer.text(), values


@pytest.mark.parametrize(
    ("n", "seed", "rows", "variant"), [(16, 1, 1, 0), (16, 5, 1, -1), (64, 2, 1, 0), (256, 3, 3, 0)]
)
def test_random_traces_give_the_words_of_a_replay(
    n: int, seed: int, rows: int, variant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    xla.enable()
    from palladion.waves.plan import Plan
    from palladion.xla import device, stages
    from palladion.xla.executor import Executor
    from palladion.xla.kernels import choice

    monkeypatch.setattr(device, "CACHED", rows)
    kept = {
        name: [kernel for kernel in kernels if choice.fits(kernel, "cpu")][variant]
        for name, kernels in choice.OPERATIONS.items()
    }
    monkeypatch.setattr(stages, "choose_kernels", lambda *_: kept)
    rng = np.random.default_rng(seed)
    text, values = given(rng, n, 1 << 16)
    seeds = {"seed": bytes(range(32))}
    replayed = _native.WavesOutside.of_values(values, seeds)
    ran = _native.WavesOutside.of_values(values, seeds)
    waves = _native.Waves.of_text(text, 50)
    waves.replay(replayed)
    plan = Plan(waves)
    kernels = {stage.kernel for stage in plan.stages}
    assert len(kernels) == 13, kernels
    Executor(plan, device.chosen_device("cpu")).run(ran)
    expected, found = replayed.values(), ran.values()
    assert expected.keys() == found.keys()
    for name, limbs in expected.items():
        for index, limb in enumerate(limbs):
            theirs, ours = (np.frombuffer(data, np.uint64) for data in (limb, found[name][index]))
            np.testing.assert_array_equal(ours, theirs, err_msg=f"{name}, limb {index}")


@pytest.mark.parametrize("named", [name for name in KERNEL_SETS if "pallas" not in name])
def test_every_set_of_kernels_gives_the_words_of_a_replay(named: str) -> None:
    xla.enable()
    from palladion.waves.plan import Plan
    from palladion.xla import device
    from palladion.xla.executor import Executor

    text, values = given(np.random.default_rng(5), 16, 1 << 16)
    seeds = {"seed": bytes(range(32))}
    replayed = _native.WavesOutside.of_values(values, seeds)
    ran = _native.WavesOutside.of_values(values, seeds)
    waves = _native.Waves.of_text(text, 50)
    waves.replay(replayed)
    Executor(Plan(waves), device.chosen_device("cpu"), named).run(ran)
    assert ran.values() == replayed.values()


def test_moduli_below_16_bits_are_refused_by_name() -> None:
    xla.enable()
    from palladion.waves.plan import Plan
    from palladion.xla import device
    from palladion.xla.executor import Executor

    text, _ = given(np.random.default_rng(4), 16, 0)
    with pytest.raises(UsageError, match=r"the modulus \d+ is no odd number between 2\^16 and"):
        Executor(Plan(_native.Waves.of_text(text, 50)), device.chosen_device("cpu"))


def test_what_does_not_fit_is_refused_by_name(
    command: Command, halves: Halves, tmp_path: Path
) -> None:
    answer = tmp_path / "answer"
    run = ["run", "--program", halves.program, "--keys", halves.evaluation, "--output", answer]
    wide = command(*run, "--target", "xla", halves.query)
    refused(wide, "modulus 1 is", "of 34 bits", "--words 32")
    refused(command(*run, "--device", "cpu", halves.query), "--target xla")
    missing = command(*run, "--target", "xla", "--device", "tpu", halves.query)
    refused(missing, "no device tpu", "cpu")
    assert not answer.exists()


def test_values_of_a_run_are_asked_for_by_name() -> None:
    with pytest.raises(UsageError, match="expected those of a run"):
        _native.WavesOutside.of_values({}, {}).answer()
    body = "main:\n  %0: eval 0..1 = load x\n  store y %0\nend\n"
    text = f"palladion-trace/1\nring 16\nmoduli 97\n\n{body}"
    waves = _native.Waves.of_text(text)
    with pytest.raises(palladion.FormatError, match="the value x is missing"):
        waves.replay(_native.WavesOutside.of_values({}, {}))
    with pytest.raises(palladion.UsageError, match="2\\^64, expected a prime"):
        _native.Waves.of_text(text.replace("moduli 97", "moduli 97 2^64"))
