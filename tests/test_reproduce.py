"""``palladion reproduce``: the papers' formulas, and what is measured beside them."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import palladion
import pytest
from click.testing import CliRunner
from palladion.cli.reproduce import reproduce, show
from palladion.errors import DataError, UsageError
from palladion.reproduce import PAPERS, Reproduction
from palladion.reproduce.athena import fig4, fig12, headline, table2, table3, table4, table5
from palladion.reproduce.athena.measured import images_for
from palladion.reproduce.athena.paper import BENCHMARKS, EDP, OTHERS
from palladion.reproduce.athena.table2 import Convolution
from palladion.reproduce.plot import draw
from palladion.reproduce.reproduction import Column, Panel, Series

from tests.test_mnist import idx, write

MODELS = Path(__file__).parent.parent / "models"
MODULES = {
    "table2": table2,
    "table4": table4,
    "table5": table5,
    "fig4": fig4,
    "fig12": fig12,
    "headline": headline,
}


def run(*arguments: object) -> Any:
    """A command of the Athena paper, in this process."""
    line = ["athena", *map(str, arguments)]
    return CliRunner().invoke(reproduce, line, catch_exceptions=False, standalone_mode=False)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with the first 10 digits of MNIST's test set, and no CIFAR-10."""
    sample = palladion.mnist_sample()
    (tmp_path / "mnist").mkdir()
    write(tmp_path / "mnist", idx(10, 28, 28)[:16] + sample.images[:10].tobytes(),
          idx(10)[:8] + sample.labels[:10].tobytes())  # fmt: skip
    return tmp_path


def test_columns_have_different_names() -> None:
    assert PAPERS["athena"].items.keys() >= MODULES.keys()
    for module in MODULES.values():
        columns: tuple[Column, ...] = module.COLUMNS
        for names in ([c.name for c in columns], [c.title for c in columns]):
            assert len(set(names)) == len(names)


# Table 2 of the paper. Its 6.25 % for 64 output channels at stride 2 contradicts the rule of the
# other rows; by that rule 64 x 8 x 8 of 32,768 coefficients are 12.5 %.
@pytest.mark.parametrize(
    ("shape", "cheetah", "athena"),
    [
        ((32, 3, 16, 3, 1, 1), 25, 50),
        ((32, 16, 16, 3, 1, 1), 3.13, 50),
        ((32, 16, 32, 1, 2, 0), 1.56, 25),
        ((16, 32, 32, 3, 1, 1), 2.27, 25),
        ((16, 32, 64, 1, 2, 0), 0.78, 12.5),
        ((8, 64, 64, 3, 1, 1), 0.96, 12.5),
    ],
)
def test_shares_of_both_layouts(
    shape: tuple[int, int, int, int, int, int], cheetah: float, athena: float
) -> None:
    given = Convolution(*shape)
    assert table2.cheetah(given) == pytest.approx(cheetah, abs=0.006)
    assert table2.athena(given) == athena


def test_shares_where_channels_exceed_a_polynomial() -> None:
    # 64 channels of 34 x 34: one output channel in a result by Cheetah's layout; by Athena's 28 of
    # 64, so three results.
    given = Convolution(32, 64, 64, 3, 1, 1)
    assert table2.cheetah(given) == 100 / 32
    assert table2.athena(given) == pytest.approx(200 / 3)


def test_share_of_our_layout() -> None:
    # One line of zeros between rows serves both: 64 channels of 9 x 9 positions leave room for the
    # kernels of 32,768 / 5,184 = 6 output channels, so 64 of them take 11 products.
    results, slots = table2.compiled(Convolution(8, 64, 64, 3, 1, 1))
    assert results == 100 * 4096 / (11 * 32768)
    assert slots == 12.5


def test_sums_of_noise() -> None:
    # Table 4 and section 3.3: a product 15 + 16 bits, a scalar product 16, an addition 1.
    sums = {name: table4.noise_bits(counts) for name, counts in table4.PRINTED.items()}
    assert sums == {"Linear": 37, "Packing": 43, "FBS": 558, "S2C": 68, "Total": 706}
    assert sum(sums.values()) == 2 * 706
    assert table4.budget(720) == 703  # Delta / 2 is below the 706 bits said to fit it


def test_steps_use_up_what_the_one_before_left() -> None:
    def step(name: str, margin: float) -> dict[str, Any]:
        return {"name": name, "predicted_bits": 3.0, "measured_bits": 2.0, "margin_bits": margin}

    noise = [step("0 a: pack", 90), step("1 a: table", 30), step("2 b: pack", 95),
             step("3 b: dense", 8), step("4 b: input", 1)]  # fmt: skip
    found = table4.by_step(noise, 100.0)
    assert {name: step.spent for name, step in found.items()} == {
        "Packing": 10, "FBS": 60, "Linear": 22
    }  # fmt: skip


def test_noise_of_an_encrypted_run() -> None:
    network = ("--network", MODELS / "mnist_w7a7.json")
    found = json.loads(run("table4", *network, "--json").stdout)
    rows = {row["step"]: row for row in found["rows"]}
    assert rows["S2C"]["spent_bits"] is None  # dense layers read slots
    steps = [rows[name] for name in ("Packing", "FBS", "Linear")]
    assert all(abs(s["predicted_sigma_bits"] - s["measured_sigma_bits"]) < 1 for s in steps)
    total = sum(step["spent_bits"] for step in steps)
    assert rows["Total"]["spent_bits"] == pytest.approx(total)
    left = rows["Available"]["spent_bits"] - total
    assert left == pytest.approx(rows["Linear"]["margin_bits"])
    assert left > 0


def test_accuracy_of_the_models_that_are_there(data: Path, tmp_path: Path) -> None:
    models = tmp_path / "models"
    models.mkdir()
    (models / "mnist_w7a7.json").write_text((MODELS / "mnist_w7a7.json").read_text())
    found = json.loads(run("table5", "--data", data, "--models", models, "--json").stdout)
    ours = {(r["network"], r["precision"], r["measure"]): r for r in found["rows"]}
    assert len(ours) == 4 + 4 * 2 * 2
    measured = [key for key, row in ours.items() if row["ours"] is not None]
    assert measured == [("MNIST", None, "float"), ("MNIST", "w7a7", "integer"),
                        ("MNIST", "w7a7", "noise-simulated")]  # fmt: skip
    for key in measured:
        row = ours[key]
        assert row["images"] == 10
        assert row["difference"] == pytest.approx(row["ours"] - row["paper"])
    assert ours["ResNet-56", "w6a7", "noise-simulated"]["paper"] == 94.66  # Table 5
    assert sum("not measured" in note for note in found["notes"]) == 7


def test_accumulators_and_changes_of_layers() -> None:
    path = MODELS / "mnist_w7a7.json"
    found = json.loads(run("fig4", "--network", path, "--images", 3, "--json").stdout)
    network, images = palladion.IntNetwork.load(path), palladion.mnist_sample().images[:3]
    traces = [network.trace(image) for image in network.inputs_of_pixels(images)]
    # With noise: accumulators of the layers behind the first are not the exact ones.
    first = max(int(np.abs(trace.accumulators[0]).max()) for trace in traces)
    row, *_, last = found["rows"]
    assert abs(row["largest_accumulator"] - first) < 100
    assert row["percent_of_half_t"] == 100 * row["largest_accumulator"] / 32768
    assert last["changed_simulated"] is None
    assert 0 < row["changed_simulated"] < 11  # section 3.3: not exceeding 11 %


def test_precisions_side_by_side(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "digits_w7a7.json"
    path.write_text((MODELS / "mnist_w7a7.json").read_text())
    line = ["fig12", "--network", path, "--data", data, "--benchmark", "MNIST"]
    (row,) = json.loads(run(*line, "--json").stdout)["rows"]
    assert (row["precision"], row["family"]) == ("w7a7", "digits")
    assert (row["paper_integer"], row["paper_encrypted"]) == (98.27, 98.28)  # Table 5
    assert row["predicted_time_ratio"] == row["paper_time_ratio"] == 1
    assert row["measured_seconds"] is row["simulated_ms"] is None
    (row,) = json.loads(run(*line, "--simulate", "--json").stdout)["rows"]
    assert 1 < row["simulated_ms"] < 4  # 2.2 by table 6
    assert row["simulated_time_ratio"] == 1


def test_a_network_of_expansions(data: Path) -> None:
    model = MODELS / "mnist.onnx"
    rows = json.loads(run("fig1", "--onnx", model, "--data", data, "--json").stdout)["rows"]
    own = {row["order"]: row for row in rows if row["expansion"].startswith("mnist")}
    assert own[3]["plain"] < 4 < 9 < own[63]["plain"]
    assert own[63]["scale_46"] == pytest.approx(own[63]["plain"], abs=0.1)
    with pytest.raises(UsageError, match="--onnx needs test images: give --data"):
        run("fig1", "--onnx", model)


def test_times_are_over_those_of_the_same_family(capsys: pytest.CaptureFixture[str]) -> None:
    def measured(precision: str, family: str, seconds: float) -> fig12.Measured:
        candidate = fig12.Candidate(precision, family, palladion.mnist_network())
        return fig12.Measured(candidate, 90.0, 89.0, seconds, 100.0, 123.4, "", 10 * seconds)

    found = [measured("w6a7", "a", 3), measured("w7a7", "a", 4), measured("w6a7", "b", 5)]
    rows = [fig12.row(each, found, BENCHMARKS["ResNet-20"]) for each in found]
    assert [row[-4:] for row in rows] == [
        (54.9 / 65.5, 0.75, 30, 0.75),
        (1, 1, 40, 1),
        (54.9 / 65.5, None, 50, None),
    ]  # Table 6
    series = fig12.panels(found)[0].series
    assert [(s.name, s.x) for s in series] == [("a", [3, 4]), ("b", [5])]
    show(Reproduction("t", fig12.COLUMNS, rows, fig12.NOTES), [])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 100


def test_a_table_is_printed_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table2, "PRINTED", dict([*table2.PRINTED.items()][-2:]))
    shown = run("table2", "--output", tmp_path / "out")
    table, _, path = shown.stdout.partition("written: ")
    assert max(map(len, table.splitlines())) <= 100
    assert path
    assert "(8^2, 64, 64, 3, 1, 1)" in shown.stdout
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["athena-table2.csv"]
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out/athena-table2.csv").read_text())))
    assert [row["athena_paper"] for row in rows] == ["6.25", "12.5"]


def claims() -> dict[tuple[str, str], dict[str, Any]]:
    """Rows of the headline ratios by the quotient and the precision."""
    rows = json.loads(run("headline", "--json").stdout)["rows"]
    assert all(row["source"] == "printed" for row in rows)
    return {(row["claim"], row["precision"]): row for row in rows}


def test_headline_ratios_by_hand() -> None:
    rows = claims()
    slow, fast = (rows["speed-up over the fastest", bits] for bits in ("w7a7", "w6a7"))
    # Table 6, SHARP over Athena: MNIST 11 / 9.2 and 11 / 7.3, LeNet 56 / 26.6 and 56 / 24.1.
    assert (slow["least"], slow["least_of"], slow["most"], slow["holds"]) == (
        1.2,
        "MNIST",
        2.11,
        "no",
    )
    assert (fast["least"], fast["most"], fast["holds"]) == (1.51, 2.32, "yes")
    # Table 7 and the areas of table 9: 0.31 / 0.05 = 6.2, and 178.8 / 116.4 times that is 9.52.
    assert rows["EDP over SHARP's", "w6a7"]["most"] == 6.2
    assert rows["EDP over SHARP's", "w6a7"]["holds"] == "yes"
    assert rows["EDAP over SHARP's", "w6a7"]["most"] == pytest.approx(9.52)
    assert rows["EDAP over SHARP's", "w6a7"]["holds"] == "no"
    # 93.85 - 93.51 = 0.34 points for ResNet-20.
    assert rows["points that quantisation moves", "w6a7"]["most"] == 0.34
    assert rows["sizes under CKKS", "-"]["least"] == 2.6  # 1900 / 720


@pytest.mark.parametrize(
    ("low", "high", "least", "most", "holds"),
    [
        (1.5, 2.3, 1.51, 2.32, True),
        (1.5, 2.3, 1.46, 2.26, True),  # rounded
        (1.5, 2.3, 1.59, 2.39, True),  # cut off
        (1.5, 2.3, 1.20, 2.11, False),
        (1.5, 2.3, 1.51, 2.41, False),
        (1.5, None, 1.46, 9.0, True),
        (1.5, None, 1.44, 9.0, False),
        (None, 2.3, 0.1, 2.3, True),
        (None, 2.3, 0.1, 2.0, False),
    ],
)
def test_a_claim_holds_at_its_printed_decimals(
    low: float | None, high: float | None, least: float, most: float, holds: bool
) -> None:
    claim = headline.Claim("1", "x", low, high, 1, lambda _: {})
    assert claim.holds({"a": least, "b": most}) is holds


def test_figures_of_the_other_accelerators() -> None:
    assert {name: other.milliseconds["ResNet-20"] for name, other in OTHERS.items()} == {
        "CraterLake": 321, "ARK": 125, "BTS": 1910, "SHARP": 99
    }  # fmt: skip
    assert {name: other.edp["MNIST"] for name, other in OTHERS.items()} == {
        "CraterLake": 0.42, "ARK": 0.138, "BTS": 6.987, "SHARP": 0.012
    }  # fmt: skip
    assert EDP["w6a7"]["ResNet-56"] == 1.96


def test_products_with_plaintexts_are_counted_for_each_call() -> None:
    trace = """
sub lift.1.t5 (%0: coeff 1..2):
  return %0

sub giant_steps.1 (%0: coeff 1..2, %1: eval 0..1, %2: eval 0..1):
  %3: eval 0..1 = call lift.1.t5 %0
  %4: eval 0..1 = dot %1 %3
  %5: eval 0..1 = dot %2 %3
  return %4 %5

main:
step a: pack:
  %1: eval 0..1, %2: eval 0..1 = call giant_steps.1 %8 %9 %10
  %3: eval 0..1, %4: eval 0..1 = call giant_steps.1 %8 %9 %10
step a: table:
  %5: eval 0..1, %6: eval 0..1, %7: eval 0..1 = combine %1 %3 list @3 first 0 rows 1 2 3
  %11: eval 0..1, %12: eval 0..1, %13: eval 0..1 = combine %2 %4 list @3 first 0 rows 1 2 3
  %14: eval 0..1 = dot %1 %2, %3 %4
step b: dense:
  %15: eval 0..1 = call lift.1.t5 %8
  %16: eval 0..1 = dot %1 %15, %2 %3
  %17: eval 0..1 = dot %15 %2, %3 %4
"""
    # Three results of two powers, each with a number; a plaintext for each giant step.
    assert table3.plain_products(trace) == {"pack": 2, "table": 6, "dense": 1}


def test_cells_without_a_value() -> None:
    found = Reproduction("t", (Column("a", "A", ".1f"), Column("b", "B")), [(1.25, None)])
    assert found.shown() == [{"A": "1.2", "B": "-"}]
    assert found.to_csv() == "a,b\n1.25,\n"
    assert found.to_dict()["rows"] == [{"a": 1.25, "b": None}]


def test_plots_of_lines_and_bars() -> None:
    pytest.importorskip("matplotlib")
    lines = Panel("x", "y", [Series("a", range(1, 3), [1, None], ["p", "q"])], limit=2)
    bars = Panel("x", "y", [Series(name, ["u", "v"], [1, None]) for name in "ab"])
    found = draw("title", [lines, bars])
    assert b"<svg" in found["svg"]
    assert found["png"].startswith(b"\x89PNG")


def test_without_matplotlib_the_table_and_its_file_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    found = run("fig4", "--images", 1, "--output", tmp_path / "out")
    assert "max |MAC|" in found.stdout
    assert "no plots: plots need matplotlib" in found.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["athena-fig4.csv"]


def test_where_networks_come_from_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="the folder models of Palladion's repository"):
        run("table6")


def test_what_a_user_can_get_wrong(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "plain.json"
    path.write_text(palladion.mnist_network().to_json())
    with pytest.raises(UsageError, match="the name has no precision, expected one like w6a7"):
        run("fig12", "--network", path, "--data", data)
    with pytest.raises(UsageError, match=r"fig12 needs --onnx, .* or --network"):
        run("fig12", "--data", data)
    shutil.rmtree(data / "mnist")
    with pytest.raises(DataError, match=r"mnist is missing: --data is a folder with mnist/"):
        run("fig4", "--data", data)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot make the folder"):
        run("table2", "--output", tmp_path / "file" / "out")
    packaged = palladion.mnist_network()
    renamed = palladion.IntNetwork("other", packaged.input, packaged.layers)
    with pytest.raises(UsageError, match="other needs test images: give --data"):
        images_for(renamed, None, 1)
