"""``palladion reproduce hyena`` and ``palladion simulate packing``: the paper beside the model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from palladion.circuit import benchmark
from palladion.cli import commands
from palladion.cli.reproduce import WIDTH
from palladion.errors import FormatError, UsageError
from palladion.machines import Machine
from palladion.reproduce import PAPERS
from palladion.reproduce.hyena.fig7 import gains
from palladion.reproduce.hyena.paper import CLAIMS, FIGURE_3_GB, TABLE_4, TOTAL
from palladion.simulation import simulate

pytestmark = pytest.mark.long

PLOTTED = {"fig1", "fig3", "fig7", "fig8", "fig9"}
ITEMS = PAPERS["hyena"].items


def run(*arguments: object, fails: bool = False) -> str:
    line = [*map(str, arguments)]
    result = CliRunner().invoke(commands, line, catch_exceptions=False, standalone_mode=False)
    assert (result.exit_code == 0) is not fails
    return result.stdout


def rows(item: str) -> list[dict[str, Any]]:
    found: dict[str, Any] = json.loads(run("reproduce", "hyena", item, "--json"))
    assert (found["paper"], found["item"]) == ("hyena", item)
    result: list[dict[str, Any]] = found["rows"]
    return result


def packing(*arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("simulate", "packing", *arguments, "--json"))
    return found


def test_the_items_are_those_that_print_numbers() -> None:
    tables, figures = range(1, 6), (1, 3, 6, 7, 8, 9)
    assert [*ITEMS] == [f"table{n}" for n in tables] + [f"fig{n}" for n in figures]
    assert {name for name, item in ITEMS.items() if item.plots} == PLOTTED


def test_two_parties_are_measured_on_request(tmp_path: Path) -> None:
    found = json.loads(run("reproduce", "hyena", "table5", "--measure", "--json"))
    online, offline = found["rows"][-2:]
    assert online["work"] == "Palladion, online, measured"
    assert online["total_ms"] == pytest.approx(online["he_ms"] + online["mpc_ms"])
    assert 0 < online["total_ms"] < offline["total_ms"]
    assert "MB offline" in found["notes"][-1]
    with pytest.raises(UsageError, match=r"no resnet20_w7a7\.json in it"):
        run("reproduce", "hyena", "fig1", "--measure", "--models", tmp_path)


@pytest.mark.parametrize("item", [*ITEMS])
def test_notes_fit_a_terminal_and_plots_are_written(item: str, tmp_path: Path) -> None:
    text = run("reproduce", "hyena", item, "--output", tmp_path)
    notes = text.split("\n\n")[-1].splitlines()
    assert max(len(line) for line in notes if not line.startswith("written")) <= WIDTH
    written = {path.suffix for path in tmp_path.iterdir()}
    assert written == ({".csv", ".svg", ".png"} if item in PLOTTED else {".csv"})


def test_figures_agree_with_the_paper() -> None:
    """The published model gives each bar that the public simulator still gives."""
    for row in rows("fig7"):
        if row["packing"] == "C2PC":  # 30 ns became 15
            assert row["ratio"] == pytest.approx(0.5, rel=0.02)
        elif (row["packing"], row["machine"]) == ("Ch", "f1"):  # a cycle became 0 ns
            assert row["published_s"] == 0
        else:
            assert row["published_s"] == pytest.approx(row["paper_s"], abs=6e-6)
    for row in rows("fig8"):
        assert row["published_j"] == pytest.approx(row["paper_j"], abs=6e-6)
    for row in rows("fig9"):
        assert row["published_s"] == pytest.approx(row["paper_s"], abs=6e-6)
        assert row["published_j"] == pytest.approx(row["paper_j"], abs=6e-6)
    for row in rows("fig3"):
        if row["packing"] == "LoLa":
            assert row["published_gb"] == pytest.approx(FIGURE_3_GB["lola"], rel=0.04)


def test_claims_hold_for_the_published_model() -> None:
    found = gains(corrected=False)
    for claim, printed in CLAIMS.items():
        assert found[claim] == pytest.approx(printed, rel=0.045), claim
    assert gains(corrected=True)["Ch / Hyena, time"] < CLAIMS["Ch / Hyena, time"]


def test_communication_of_figure_1() -> None:
    found = {row["part"]: row for row in rows("fig1")}
    assert found["communication"]["ours_ms"] == pytest.approx(9.47, abs=0.005)
    assert found["communication"]["ratio"] == pytest.approx(1, abs=0.005)


def test_table_4_adds_up_to_its_total_and_to_the_machine() -> None:
    for column, total in zip(zip(*TABLE_4.values(), strict=True), TOTAL, strict=True):
        assert sum(column) == pytest.approx(total, abs=0.01)
    parts = Machine.named("hyena").parts()
    assert sum(area for _, area, _ in parts) == pytest.approx(TOTAL[1], abs=0.01)
    watts = sum(watts for name, _, watts in parts if name != "memory")
    assert watts == pytest.approx(TOTAL[0], abs=0.01)


def test_the_command_prints_the_reference() -> None:
    found = packing("resnet50", "--packing", "hyena", "--machine", "hyena", "--published")
    assert (found["seconds"], round(found["joules"], 5)) == (0.032850045, 0.24273)
    assert found["published"]
    assert found["cycles"] == 6570009
    assert found["traffic"]["total"] == 4 * 1124775936
    kinds = ("inputs", "weights", "hints", "partial_sums")
    assert sum(found["traffic"][kind] for kind in kinds) == found["traffic"]["total"]
    assert "INSECURE" in found["security"]
    assert "layers" not in found


def test_the_command_says_what_corrections_cost() -> None:
    found = packing("mobilenetv2", "--packing", "hyena", "--layers")
    names = [step["step"] for step in found["steps"]]
    assert names == ["published", "tiles", "offsets", "partial-sums", "strides", "rotation"]
    assert found["steps"][-1]["seconds"] == found["seconds"]
    assert len(found["layers"]) == 56
    text = run("simulate", "packing", "resnet50", "--log-tree", "--memory-bound", "--layers")
    for words in ("67.11", "log-tree", "memory-bound", "INSECURE", "FC1000", "5 of 9"):
        assert words in text.replace("\n  ", " ")


def test_an_integer_network_and_a_machine_from_a_file(tmp_path: Path) -> None:
    machine = tmp_path / "mine.json"
    machine.write_text(run("simulate", "packing-machine"), encoding="utf-8")
    network = Path(__file__).parent.parent / "models" / "lenet5_w7a7.json"
    found = packing(network, "--machine", machine, "--packing", "c2pc", "--batch", 2)
    assert (found["machine"], found["packing"], found["batch"]) == ("hyena", "c2pc", 2)
    assert found["skipped"], "pooling"
    assert found["seconds"] > 0


def test_mistakes_are_errors_that_say_what_is_expected(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_bytes(b"")
    hyena = tmp_path / "hyena.toml"
    hyena.write_text(Machine.named("hyena").text, encoding="utf-8")
    for arguments, error, message in (
        (("nothing",), UsageError, "nothing is no file, and no network of ours: resnet50"),
        (("resnet50", "--packing", "hyena++"), UsageError, "no packing: lola, channel, c2pc"),
        (("resnet50", "--machine", "tpu"), UsageError, "tpu is no file, and no machine of the"),
        (("resnet50", "--machine", hyena), FormatError, "hyena.toml is no JSON; expected a mach"),
        (("resnet50", "--machine", empty), FormatError, "empty is no JSON; expected a machine"),
        (("resnet50", "--published", "--log-tree"), UsageError, "neither --log-tree nor"),
    ):
        with pytest.raises(error, match=message):
            run("simulate", "packing", *arguments)
    with pytest.raises(Exception, match="0 is not in the range x>=1"):
        run("simulate", "packing", "resnet50", "--batch", 0)


def test_a_circuit_of_a_packing_runs_on_the_machine() -> None:
    """LoLa-MNIST packs as LoLa does. A circuit is lowered and simulated like any other."""
    found = simulate(benchmark("lola-mnist").lower(), "hyena").report
    assert found.seconds == pytest.approx(found.cycles / 200e6)
    assert found.cycles >= found.lower_bounds["compulsory traffic"]
    # 64 GB/s of 3.9 pJ a bit.
    moved = 8 * found.traffic_total * 3.9e-12
    assert found.joules_by_component["memory"] == pytest.approx(moved, rel=0.01)
    assert found.instructions["permute"] > 0
