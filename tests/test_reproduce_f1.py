"""``palladion reproduce f1``: the paper's figures, and what is simulated beside them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from palladion import _native
from palladion.cli.reproduce import WIDTH, reproduce
from palladion.errors import SecurityError, UsageError
from palladion.reproduce import PAPERS
from palladion.reproduce.f1 import fig5a, fig5b, fig5c, simulated, speedup, table
from palladion.reproduce.f1.paper import (
    AREA_MM2,
    COMPONENTS,
    FIGURE_5,
    GEOMETRIC_MEAN,
    SHARES,
    SPEEDUP_RANGE,
    WATTS,
)
from palladion.reproduce.reproduction import Column
from palladion.simulation import simulate
from palladion.traces import Trace

pytestmark = pytest.mark.long

MODULES = {"fig5a": fig5a, "fig5b": fig5b, "fig5c": fig5c, "speedup": speedup, "table": table}
SMALL = ("--benchmark", "lola-mnist", "--digit-limbs", "1")


@pytest.fixture(scope="module", autouse=True)
def scheduled_once() -> Iterator[None]:
    """A trace has one schedule: it is made once, for all items."""
    with pytest.MonkeyPatch.context() as patch:
        once = cache(lambda text, machine: simulate(Trace(text), machine))
        patch.setattr(simulated, "simulate", lambda trace, machine: once(trace.text, machine))
        yield


def run(*arguments: object) -> str:
    line = ["f1", *map(str, arguments)]
    result = CliRunner().invoke(reproduce, line, catch_exceptions=False, standalone_mode=False)
    assert result.exit_code == 0
    return result.stdout


def rows(item: str, *arguments: object) -> list[dict[str, Any]]:
    found: dict[str, Any] = json.loads(run(item, *arguments, "--json"))
    assert (found["paper"], found["item"]) == ("f1", item)
    result: list[dict[str, Any]] = found["rows"]
    return result


def test_every_item_has_its_module_and_its_notes_fit_a_terminal() -> None:
    assert PAPERS["f1"].items.keys() == MODULES.keys()
    for item, module in MODULES.items():
        columns: tuple[Column, ...] = module.COLUMNS
        for names in ([c.name for c in columns], [c.title for c in columns]):
            assert len(set(names)) == len(names), item
        arguments = () if item == "table" else SMALL
        lines = run(item, *arguments).splitlines()
        assert max(map(len, lines[-3:])) <= WIDTH, item


def test_every_benchmark_has_programs_of_ours() -> None:
    ours = [name for benchmark in FIGURE_5.values() for name in benchmark.ours]
    assert sorted(ours) == sorted(name for name, _ in _native.benchmark_names())
    for benchmark in FIGURE_5.values():
        secure, *others = benchmark.ours
        assert "insecure" not in secure
        assert all(name.endswith("insecure") for name in others)
    published = [benchmark.f1_ms for benchmark in FIGURE_5.values()]
    assert published == [241, 0.17, 0.36, 1.15, 4.36, 2.40, 1.30]


def test_times_are_of_the_schedule_of_the_trace() -> None:
    (row,) = rows("fig5a", *SMALL)
    trace, made = _native.benchmark_trace("lola-mnist", 1)
    found = simulate(Trace(trace), "f1").report
    assert row["simulated_ms"] == pytest.approx(found.seconds * 1000)
    assert row["ratio"] == pytest.approx(row["simulated_ms"] / 0.17)
    assert row["bound_ms"] == pytest.approx(max(found.lower_bounds.values()) / 1e6)
    assert row["tight_bound_ms"] == pytest.approx(found.tight_bound / 1e6)
    passes = made["counts"]["passes"]
    assert row["transforms"] == passes["ntt"] + passes["intt"]
    assert found.instructions["ntt"] == passes["ntt"]
    moduli = [int(q) for line in trace.splitlines() if "moduli" in line for q in numbers(line)]
    assert moduli
    assert max(moduli) < 2**32


def numbers(line: str) -> list[str]:
    """The numbers in a line of text."""
    return [word for word in line.replace(",", " ").split() if word.isdigit()]


def test_the_fastest_digits_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    secure = replace(FIGURE_5["helr"], ours=("helr",))
    monkeypatch.setitem(FIGURE_5, "helr", secure)
    (row,) = rows("fig5a", "--benchmark", "helr", "--digit-limbs", 1, "--digit-limbs", 2)
    each = [
        simulate(Trace(_native.benchmark_trace("helr", digits)[0]), "f1").report.seconds * 1000
        for digits in (1, 2)
    ]
    assert each[0] != each[1]
    assert row["simulated_ms"] == pytest.approx(min(each))
    assert row["single_ms"] == pytest.approx(each[0])


def test_an_insecure_program_stands_below_the_secure_one() -> None:
    row, insecure = rows("fig5a", "--benchmark", "helr", "--digit-limbs", 3)
    assert (row["program"], insecure["program"]) == ("helr", "helr-f1-insecure")
    # An iteration: 8 ciphertexts, the same key switches whatever the limbs.
    for column in ("rotations", "relinearizations"):
        assert insecure[column] == row[column] > 0


def test_printed_speedups_are_quotients_of_the_printed_times() -> None:
    ratios = [speedup.printed_speedup(benchmark) for benchmark in FIGURE_5.values()]
    assert (round(min(ratios)), round(max(ratios))) == SPEEDUP_RANGE
    assert speedup.geometric_mean(ratios) == pytest.approx(GEOMETRIC_MEAN, rel=2e-3)


def test_speedup_is_of_the_simulated_and_the_measured_time() -> None:
    (row,) = rows("speedup", *SMALL, "--measure", "--runs", 1)
    assert row["speedup"] == pytest.approx(row["measured_cpu_ms"] / row["simulated_ms"])
    assert row["source"].startswith("simulated; measured, threads: ")
    assert row["error"] < 2**-10
    (row,) = rows("speedup", *SMALL)
    assert row["speedup"] is row["measured_cpu_ms"] is row["error"] is None
    assert (row["source"], row["like_f1"]) == ("simulated", "no")


def test_a_program_like_f1_is_shown_with_its_key_switch() -> None:
    line = ("--benchmark", "bgv-bootstrapping", "--digit-limbs", 1, "--digit-limbs", 6)
    secure, like = rows("speedup", *line)
    assert (secure["like_f1"], secure["digit_limbs"]) == ("no", 6)
    assert (like["like_f1"], like["digit_limbs"], like["degree"]) == ("yes", 1, "2^14")
    assert like["ratio"] == pytest.approx(like["simulated_ms"] / 2.40)


def test_what_is_no_circuit_of_slots_is_not_measured() -> None:
    assert speedup.measure("bgv-bootstrapping", 6, 1) is None


def test_shares_of_traffic_add_up() -> None:
    (row,) = rows("fig5b", *SMALL)
    assert sum(row[kind.replace(" ", "_")] for kind in fig5b.KINDS) == pytest.approx(100)
    more = row["hints_again"] + row["inputs_again"] + row["loaded"] + row["stored"]
    assert row["beyond_compulsory"] == pytest.approx(100 * more / (100 - more))


def test_power_is_energy_over_time() -> None:
    (row,) = rows("fig5c", *SMALL)
    groups = [row[group.replace(" ", "_")] for group in fig5c.GROUPS]
    assert sum(groups) == pytest.approx(row["watts"])
    assert row["watts"] <= WATTS
    assert row["compute_percent"] == pytest.approx(100 * groups[0] / sum(groups))


def test_the_chip_is_the_sum_of_its_components() -> None:
    found = {row["component"]: row for row in rows("table")}
    assert found["chip"]["mm2"] == pytest.approx(AREA_MM2, abs=0.1)
    assert found["chip"]["watts"] == pytest.approx(WATTS, abs=0.5)
    for name, (area, watts) in COMPONENTS.items():
        assert found[name]["mm2"] == pytest.approx(area)
        assert found[name]["watts"] == pytest.approx(watts)
    for group, share in SHARES.items():
        assert found[f"all {group}"]["share"] == pytest.approx(share, abs=0.7)


def test_tables_and_plots_are_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run("fig5b", *SMALL, "--output", tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        f"f1-fig5b.{kind}" for kind in ("csv", "svg", "png")
    }


def test_what_a_user_can_get_wrong() -> None:
    with pytest.raises(SecurityError, match="128-bit security"):
        run("fig5a", "--benchmark", "lola-mnist", "--digit-limbs", 4)
    with pytest.raises(UsageError, match="expected one of lola-cifar, "):
        _native.benchmark_trace("lola", 1)
    with pytest.raises(UsageError):
        _native.benchmark_trace("helr", 0)
