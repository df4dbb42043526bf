"""``palladion simulate sweep``: grids of machines, what is best, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from palladion import circuit
from palladion.accelerators.pictures import short
from palladion.accelerators.sweeps import GOALS, Point, Sweep, grid, pareto
from palladion.cli.simulate import simulate
from palladion.cli.simulate_sweep import lanes_note
from palladion.errors import FormatError, UsageError
from palladion.machines import Machine, VectorSummary

pytestmark = pytest.mark.long

PNG = b"\x89PNG\r\n\x1a\n"


def output(*arguments: str) -> str:
    result = CliRunner().invoke(simulate, arguments, catch_exceptions=False, standalone_mode=False)
    assert result.exit_code == 0
    return result.stdout


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The trace of LoLa-MNIST, in words of 32 bits: a small program, which is scheduled often."""
    path = tmp_path_factory.mktemp("sweep") / "lola-mnist.trace"
    path.write_text(circuit.benchmark("lola-mnist").lower().text)
    return str(path)


def sweep(path: str, *arguments: str, machine: str = "f1") -> dict[str, Any]:
    text = output("sweep", path, "--machine", machine, "--json", *arguments)
    found: dict[str, Any] = json.loads(text)
    return found


def test_sweeps_double_or_list() -> None:
    assert Sweep.parse("lanes=256:2048") == Sweep("lanes", (256, 512, 1024, 2048))
    assert Sweep.parse("lanes=3:13") == Sweep("lanes", (3, 6, 12))
    assert Sweep.parse("a.b c.d=7,5,6") == Sweep("a.b c.d", (7, 5, 6))
    assert Sweep.parse("lanes=8:8").values == (8,)
    assert Sweep.parse("lanes=8").values == (8,)
    two = grid([Sweep("a", (1, 2)), Sweep("b", (3, 4))])
    assert two == [{"a": 1, "b": 3}, {"a": 1, "b": 4}, {"a": 2, "b": 3}, {"a": 2, "b": 4}]


def test_values_are_written_in_few_characters() -> None:
    values = [512, 65536, 3 * 2**20, 500 * 10**9, 10**12, 2_500_000_000_000, 1_234_567]
    written = ["512", "64Ki", "3Mi", "500G", "1T", "2.5T", "1234567"]
    assert [short(value) for value in values] == written


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lanes", r"the sweep is 'lanes', expected KEY=A:B"),
        ("=1:2", "expected KEY=A:B"),
        ("lanes=", "expected KEY=A:B"),
        ("lanes=1:2:3", "expected KEY=A:B"),
        ("lanes=1.5", "expected KEY=A:B"),
        ("lanes=1,,2", "expected KEY=A:B"),
        ("lanes=٣", "expected KEY=A:B"),
        ("lanes=0:8", "from 0 to 8, expected A:B with A at least 1"),
        ("lanes=9:8", "from 9 to 8, expected A:B with A at least 1"),
        ("lanes=1,2,1", "has a value twice"),
        ("lanes=99999999999999999999", "expected at most 9223372036854775807"),
        ("lanes=9223372036854775808", "expected at most 9223372036854775807"),
    ],
)
def test_what_is_no_sweep_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Sweep.parse(text)


def test_grids_that_are_none_are_refused() -> None:
    with pytest.raises(UsageError, match="two sweeps are of lanes"):
        grid([Sweep("lanes", (1,)), Sweep("lanes", (2,))])
    with pytest.raises(UsageError, match="2000 points, expected at most 1024"):
        grid([Sweep("a", tuple(range(1000))), Sweep("b", (1, 2))])


def test_points_that_others_beat_are_not_best() -> None:
    def point(*goals: float) -> Point:
        return Point({}, dict(zip(GOALS, goals, strict=True)), None)

    points = [
        point(1, 5, 5),
        point(2, 4, 5),
        point(2, 5, 5),
        point(1, 5, 5),
        Point({}, None, "it does not fit"),
    ]
    # Two that are equal are both best.
    assert pareto(points) == [True, True, False, True, False]


def test_more_lanes_and_bandwidth_never_slow_and_take_area(path: str) -> None:
    found = sweep(
        path,
        "--sweep=lanes=64:256",
        "--sweep=memory.bytes_per_second=1000000000000,2000000000000",
    )
    points = {tuple(point["values"].values()): point for point in found["points"]}
    assert len(points) == 6
    for (lanes, rate), point in points.items():
        if (2 * lanes, rate) in points:
            more = points[2 * lanes, rate]
            assert more["cycles"] <= point["cycles"]
            # All units of F1: 16 (2.27 + 0.58 + 2 x 0.25 + 2 x 0.03) mm2 with 128 lanes.
            assert more["area_mm2"] - point["area_mm2"] == pytest.approx(54.56 * lanes / 128)
        if (lanes, 2 * rate) in points:
            assert points[lanes, 2 * rate]["cycles"] < point["cycles"]
    given = json.loads(output("run", path, "--machine", "f1", "--json"))
    same = points[128, 1_000_000_000_000]
    for name in ("cycles", "joules", "area_mm2", "edp", "edap"):
        assert same[name] == pytest.approx(given[name])
    assert any(point["pareto"] for point in points.values())
    assert "lanes" in found["scaling"]


def test_a_point_that_does_not_fit_is_a_row_with_a_reason(path: str) -> None:
    key = "--sweep=scratchpad.bytes=1048576,67108864"
    small, large = sweep(path, key)["points"]
    assert "enough for 32 limbs" in small["refused"]
    assert small["seconds"] is None
    assert large["refused"] is None
    assert large["pareto"]
    text = output("sweep", path, "--machine", "f1", key)
    assert "does not fit" in text
    assert "best" in text
    assert "not synthesis" in text
    assert max(map(len, text.splitlines())) <= 98
    with pytest.raises(UsageError, match=r"fits no point of the sweep.*32 limbs"):
        sweep(path, "--sweep=scratchpad.bytes=1048576")


def test_lanes_are_those_of_the_widest_unit_and_the_note_says_which(path: str) -> None:
    summary = Machine.named("craterlake").summary()
    assert isinstance(summary, VectorSummary)
    lanes = summary.unit_lanes
    widest = max(lanes, key=lambda name: lanes[name])
    text = " ".join(output("sweep", path, "--machine", "tiny", "--sweep=lanes=8").split())
    assert "unit.NAME.lanes is that of one unit alone" in text or "the lanes of every unit" in text
    note = lanes_note(Machine.named("craterlake"), Sweep.parse("lanes=2048"))
    assert f"the lanes of {widest}" in note
    assert f"{lanes[widest]:,} in the file" in note
    assert f"ntt {max(1, lanes['ntt'] * 2048 // lanes[widest]):,}" in note


def test_keys_and_values_that_cannot_be_are_refused_before_the_work(path: str) -> None:
    for text, words in [
        ("unit.fft.lanes=8:16", r"key \"unit\.fft\.lanes\" is no integer of its file.*unit\.ntt"),
        ("name=8", "no integer of its file"),
        ("unit.ntt.lanes=0", r"f1: at unit\.ntt\.lanes=0: .*unit\.ntt\.lanes is 0, expected 1 to"),
        ("cluster.count=16,2048", r"at cluster\.count=2048: .*expected 1 to 1024"),
        ("memory.latency=-5", r"memory\.latency=-5"),
    ]:
        with pytest.raises(FormatError, match=words):
            sweep(path, f"--sweep={text}")
    with pytest.raises(UsageError, match=r"spatial"):
        sweep(path, "--sweep=lanes=8", machine="versal")


def test_the_best_points_are_drawn(path: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = sweep(path, "--sweep=lanes=64:128", "--plot", str(tmp_path))
    assert sorted(found["files"]) == [str(tmp_path / f"pareto.{kind}") for kind in ("png", "svg")]
    data = (tmp_path / "pareto.png").read_bytes()
    assert data.startswith(PNG)
    assert int.from_bytes(data[16:20], "big") == 1200
