"""Several devices: the words of one, queries side by side, and refusals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner
from palladion import _native, xla
from palladion.cli.target import target_options
from palladion.errors import UsageError
from palladion.targets import Target

from tests.test_xla import given

pytestmark = pytest.mark.long

pytest.importorskip("jax")


@pytest.mark.parametrize("queries", [1, 2])
def test_eight_devices_give_the_words_of_a_replay(queries: int) -> None:
    settings = {
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
        "JAX_PLATFORMS": "cpu",
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",  # quick to compile
    }
    result = subprocess.run(
        [sys.executable, "-m", "tests.eight_devices", str(queries)],
        env={**os.environ, **settings},
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["devices"] == 8
    assert found["values"] > 30
    assert found["equal"] == [True] * queries
    assert found["differ"] == (queries > 1)
    # Transforms, products and combinations move no row to another device.
    assert set(found["gathering"]) == {"convert", "round"}


def test_rows_are_spread_and_a_conversion_gathers_once() -> None:
    xla.enable()
    from palladion.waves.plan import Plan
    from palladion.xla.mesh.split import split

    moduli = "65537 114689 147457 163841 557057 638977"
    body = "main:\n  %0: coeff 0..3 = load x\n  %1: coeff 3..6 = convert %0\n  store y %1\nend\n"
    waves = _native.Waves.of_text(f"palladion-trace/1\nring 16\nmoduli {moduli}\n\n{body}")
    whole, shared = split(Plan(waves), 1), split(Plan(waves), 3)
    assert shared.loads[0].devices == (0, 1, 2)
    assert shared.stores[0].devices == (0, 1, 2)
    (share,) = shared.shares
    assert share.stage.writes == 1
    assert share.counts.tolist() == [[1], [1], [1]]
    assert share.starts.tolist() == [[0, 0, 1]]
    assert shared.scratch < whole.scratch


def test_every_row_of_a_random_trace_has_one_place() -> None:
    xla.enable()
    from palladion.waves.plan import Plan
    from palladion.xla.mesh.split import split

    text, _ = given(np.random.default_rng(5), 16, 1 << 16, 90)
    plan = Plan(_native.Waves.of_text(text, 50))
    for devices in (2, 5):
        found = split(plan, devices)
        instructions = sum(int(share.counts.sum()) for share in found.shares)
        assert instructions >= sum(len(stage.read_rows) for stage in plan.stages)
        assert found.scratch < plan.rows
        for share in found.shares:
            assert share.writes.max(initial=0) < found.scratch
            assert share.reads.min(initial=0) >= 0
            assert share.reads.max(initial=0) < found.rows


def test_devices_that_are_not_there_are_refused() -> None:
    xla.enable()
    import jax
    from palladion.xla.device import several_devices
    from palladion.xla.mesh.mesh_executor import mesh_of

    with pytest.raises(UsageError, match=r"99 devices are asked for, and cpu has .* XLA_FLAGS"):
        several_devices(99, "cpu")
    with pytest.raises(UsageError, match="2 queries on 1 devices, expected a number that divides"):
        mesh_of(jax.devices()[:1], 2)


def test_devices_are_of_the_target_xla() -> None:
    @click.command()
    @target_options
    def show(target: Target) -> None:
        click.echo(f"{target.name} {target.device} {target.devices}")

    run = CliRunner().invoke
    assert "--devices is for the target xla" in str(run(show, ["--devices", "8"]).exception)
    assert "--kernels is for the target xla" in str(run(show, ["--kernels", "bat"]).exception)
    unknown = run(show, ["--target", "xla", "--kernels", "fast"]).exception
    assert "no set of kernels 'fast', expected one of default, bat" in str(unknown)
    asked = ["--target", "xla", "--device", "cpu", "--devices", "8"]
    assert run(show, asked).stdout == "xla cpu 8\n"
    assert run(show, []).stdout == "cpu None None\n"
