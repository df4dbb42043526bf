"""``palladion simulate run``: a whole program on vector machines, and what its report says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Any

import palladion
import pytest
from palladion import _native
from palladion.cli.simulate_run import show
from palladion.simulation import SimulationReport
from palladion.support import records

from tests.simulations import run, written

pytestmark = pytest.mark.long

Reports = Callable[..., dict[str, Any]]
"""The report of the whole program, by machine and options: each is made once."""


@pytest.fixture(scope="module")
def program() -> _native.Program:
    """MNIST's, for words of 32 bits."""
    return _native.compile(palladion.mnist_network().to_json(), batch=1, words=32)


@pytest.fixture(scope="module")
def report(program: _native.Program, tmp_path_factory: pytest.TempPathFactory) -> Reports:
    path = written(program, tmp_path_factory.mktemp("simulate") / "mnist.program")
    return cache(lambda machine, *options: run(path, "--machine", machine, *options))


@pytest.mark.parametrize("machine", ["f1", "athena", "tiny"])
def test_a_schedule_has_the_instructions_of_its_trace(
    machine: str, program: _native.Program, report: Reports
) -> None:
    _, counts = program.lower()
    found = report(machine)
    for kind in ["ntt", "intt"]:
        assert found["instructions"][kind] == counts["passes"][kind]
    assert found["instructions"]["add"] == counts["passes"]["additions"]
    # A conversion from one modulus scales nothing on a machine.
    assert found["instructions"]["scale"] <= counts["passes"]["scalings"]
    assert found["cycles"] >= max(found["lower_bounds"].values())
    assert found["gap"] == pytest.approx(found["cycles"] / max(found["lower_bounds"].values()))
    assert max(found["lower_bounds"].values()) <= found["tight_bound"] <= found["cycles"]
    assert found["tight_gap"] == pytest.approx(found["cycles"] / found["tight_bound"])
    assert found["seconds"] == pytest.approx(found["cycles"] / 1e9)
    assert found["edp"] == pytest.approx(found["joules"] * found["seconds"])
    assert sum(found["traffic_bytes"].values()) == found["traffic_total"]
    assert sum(found["stalls"].values()) == pytest.approx(1)
    assert sum(found["joules_by_component"].values()) == pytest.approx(found["joules"])
    assert all(0 <= share <= 1 for share in found["utilisation"].values())


def test_steps_are_those_of_the_program_and_add_up(
    program: _native.Program, report: Reports
) -> None:
    found = report("f1")
    steps = found["steps"]
    assert [step["name"] for step in steps] == [
        name
        for name in dict.fromkeys(f"{step['layer']}: {step['op']}" for step in layers(program))
        if name in {step["name"] for step in steps}
    ]
    assert "conv: pack" in {step["name"] for step in steps}
    assert sum(step["cycles"] for step in steps) == found["cycles"]
    assert sum(step["instructions"] for step in steps) == sum(found["instructions"].values())
    assert sum(step["joules"] for step in steps) == pytest.approx(found["joules"])
    for kind, count in found["traffic_bytes"].items():
        assert sum(step["traffic_bytes"][kind] for step in steps) == count
    assert found["edap"] == pytest.approx(found["edp"] * found["area_mm2"])
    assert sum(found["area_mm2_by_component"].values()) == pytest.approx(found["area_mm2"])


def layers(program: _native.Program) -> list[dict[str, str]]:
    """Layer and operation of each step, read off the text of the program."""
    steps, layer = [], ""
    for line in program.to_text().splitlines():
        if line.endswith(":") and not line.startswith(" "):
            layer = line[:-1]
        elif line.startswith("  %"):
            operation = line.split(" = ", 1)[1].replace(",", " ").split()[0]
            steps.append({"layer": layer, "op": operation})
    return steps


def test_every_part_has_a_stream_and_its_stalls(report: Reports) -> None:
    found = report("f1")
    components = {entry["name"]: entry for entry in found["components"]}
    # 16 clusters with 6 units and their ports, and memory; F1 has no generators.
    assert len(components) == 16 * 7 + 1
    transforms = [entry for name, entry in components.items() if "ntt" in name]
    counts = found["instructions"]
    assert sum(entry["instructions"] for entry in transforms) == counts["ntt"] + counts["intt"]
    for entry in components.values():
        assert entry["busy_cycles"] + entry["stall_cycles"] <= found["cycles"]
        assert 0 <= entry["longest_stall"] <= entry["stall_cycles"]
    memory = components["memory"]
    assert memory["busy_cycles"] / found["cycles"] == pytest.approx(found["utilisation"]["memory"])


def test_regions_work_side_by_side(report: Reports) -> None:
    found = report("athena")
    cycles, works = found["cycles"], found["works_cycles"]
    assert [*works] == ["region 0", "region 1"]
    assert 0 < found["together_cycles"] <= min(works.values()) <= max(works.values()) <= cycles
    over_time = found["over_time"]
    for name, shares in over_time["works"].items():
        whole = found["together_cycles"] if name == "together" else works[name]
        assert sum(shares) / len(shares) == pytest.approx(whole / cycles)
    tables = [step for step in found["steps"] if step["name"].endswith(": table")]
    assert len(tables) == 2
    for table in tables:
        # Sums in region 1 go on beside products and key switches in region 0.
        assert 0 < table["together_cycles"] <= min(table["works_cycles"].values())
        assert table["overlap_cycles"] < table["ends"] - table["begins"]


def test_what_the_rule_of_eviction_is_worth(report: Reports) -> None:
    ours, lru = report("athena"), report("athena", "--eviction", "lru")
    assert ours["traffic_total"] < lru["traffic_total"]
    assert ours["cycles"] < lru["cycles"]
    assert ours["traffic_compulsory"] == lru["traffic_compulsory"]
    # A result that leaves is written and loaded, so hints leave in its place. Half of each is made
    # from its seed, again and again, and the other half is loaded again.
    results, hints = [
        [sum(found["traffic_bytes"][kind] for kind in kinds) for found in (ours, lru)]
        for kinds in (("results written", "results loaded"), ("hints again",))
    ]
    assert results[0] < 0.7 * results[1]
    # Sums that are made part by part leave few results to write, so hints matter more.
    assert results[1] - results[0] > 3 * abs(hints[0] - hints[1])
    for found in (ours, lru):
        assert found["traffic_bytes"]["hints again"] > found["traffic_bytes"]["hints"]
        assert found["utilisation"]["prng"] > 0


@pytest.mark.parametrize(("machine", "regions"), [("f1", False), ("athena", True)])
def test_the_table_fits_a_terminal(
    machine: str, regions: bool, report: Reports, capsys: pytest.CaptureFixture[str]
) -> None:
    fields_ = {field.name for field in fields(SimulationReport)}
    found = {name: value for name, value in report(machine).items() if name in fields_}
    show(records.read(SimulationReport, found), machine)
    text = capsys.readouterr().out
    assert "lower bound" in text
    assert "hints again" in text
    assert ("two at a time" in text) == regions
    assert max(map(len, text.splitlines())) <= 98
