"""The command: files that it writes, tables, and errors with the way out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from palladion_hardware import machine
from palladion_hardware.circuit import Circuit
from palladion_hardware.circuit.inventory import count
from palladion_hardware.command import commands, main
from palladion_hardware.errors import ParameterError
from palladion_hardware.tools import yosys
from palladion_hardware.tools.programs import has
from palladion_hardware.units.f1.multiplier import F1Multiplier
from palladion_hardware.units.f1.ntt import F1Ntt
from palladion_hardware.units.unit import Shape

SMALL = ["--lanes", "4", "--word", "14", "--degree", "16", "--round-bits", "7"]
F1 = Path(__file__).parents[2] / "crates/sim/machines/f1.toml"
needs_yosys = pytest.mark.skipif(not has("yosys"), reason="Yosys is not installed")


def run(*words: str) -> str:
    result = CliRunner().invoke(commands, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_verilog_and_facts_are_written(tmp_path: Path) -> None:
    run("generate", "f1-ntt", *SMALL, "--output", str(tmp_path / "new"))
    text = (tmp_path / "new/f1_ntt.v").read_text()
    facts = json.loads((tmp_path / "new/f1_ntt.json").read_text())
    assert "module f1_ntt(" in text
    assert facts["latency"] == F1Ntt(F1Ntt.small()).latency
    assert facts["ports"]["words"] == {"bits": 14, "lanes": 4}


def test_the_list_has_the_latencies_of_a_machines_file() -> None:
    rows = {row["unit"]: row for row in json.loads(run("list", "--machine", str(F1), "--json"))}
    assert rows["f1-automorphism"]["latency"] == 257
    assert rows["f1-automorphism"]["latency_of_file"] == 260
    assert rows["f1-ntt"]["latency"] == 218
    assert rows["f1-ntt"]["latency_of_file"] == 270


def test_a_check_says_what_it_compared() -> None:
    row = json.loads(run("check", "f1-multiplier", "--lanes", "2", "--json"))
    assert row["judges"] == ["definition"]
    assert row["latency"] == 5


@needs_yosys
def test_cells_by_operations_are_near_those_of_the_whole() -> None:
    circuit = F1Ntt(Shape(lanes=2, word=12, degree=4, round_bits=6)).circuit
    whole, estimate = yosys.synthesise(circuit), yosys.estimate(circuit)
    # Narrow words have more that a synthesis of the whole removes: 9 % at 32 bits and 4 lanes.
    assert 1.0 < estimate.gates / whole.gates < 1.3
    # The synthesis has the pointers of delay lines too.
    assert 0 <= whole.registers - estimate.registers < 100


@needs_yosys
def test_a_restricted_multiplier_is_smaller() -> None:
    gates = {}
    for kind in ("montgomery", "restricted"):
        unit = F1Multiplier(Shape(lanes=1, word=16, degree=2, multiplier=kind, round_bits=8))
        gates[kind] = yosys.synthesise(unit.circuit).gates
    assert gates["restricted"] < 0.9 * gates["montgomery"]


def test_multipliers_are_beside_what_the_papers_print(monkeypatch: pytest.MonkeyPatch) -> None:
    """Synthesis is replaced by a count of products, which takes no time."""

    def products(circuit: Circuit) -> yosys.Cells:
        return yosys.Cells(0, float(count(circuit).multipliers), 0, 0, 0)

    monkeypatch.setattr(yosys, "synthesise", products)
    tables = json.loads(run("multipliers", "--json"))
    assert tables["multipliers"][1]["beside_montgomery"] == 1.0
    elements = {row["element"]: row for row in tables["elements"]}
    assert elements["montgomery-own"]["beside_plain"] == 3.0
    assert elements["montgomery"]["beside_plain"] == 1.0
    assert [elements[kind]["printed"] for kind in ("barrett", "hardcoded", "montgomery")] == [
        1.55, 1.49, 2.03,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("word_bits = 3", "its units are none"),
        ("[unit.ntt]\nlanes = 4", "is missing"),
        ("[unit", "simulate machine f1"),
    ],
)
def test_files_that_are_no_machines(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "machine.toml"
    path.write_text(text)
    with pytest.raises(ParameterError, match=words):
        machine.read(path, "ntt")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["check", "f1-nt"], "there are: f1-ntt"),
        (["check", "f1-ntt", "--lanes", "3"], "expected a power of 2"),
        (["check", "f1-ntt", "--machine", "nowhere.toml"], "nowhere.toml"),
    ],
)
def test_errors_are_one_line(
    line: list[str], words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["palladion-hardware", *line])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert words in error
    assert error.count("\n") == 1
