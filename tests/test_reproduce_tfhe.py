"""``palladion reproduce athena-tfhe``: the paper's figures, and what is simulated beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from palladion.cli.reproduce import WIDTH, reproduce
from palladion.reproduce import PAPERS
from palladion.reproduce.athena_tfhe import (
    algorithm2,
    fig10,
    readings,
    sensitivity,
    table2,
    table4,
    table5,
)
from palladion.reproduce.athena_tfhe.paper import ATHENA, TABLE_2, TABLE_5
from palladion.reproduce.reproduction import Column

pytestmark = pytest.mark.long

MODULES = {
    "table2": table2,
    "table4": table4,
    "table5": table5,
    "readings": readings,
    "sensitivity": sensitivity,
    "fig10": fig10,
    "algorithm2": algorithm2,
}


def run(*arguments: object) -> str:
    line = ["athena-tfhe", *map(str, arguments)]
    result = CliRunner().invoke(reproduce, line, catch_exceptions=False, standalone_mode=False)
    assert result.exit_code == 0
    return result.output


def rows(item: str, *arguments: str) -> list[dict[str, Any]]:
    found: dict[str, Any] = json.loads(run(item, *arguments, "--json"))
    assert (found["paper"], found["item"]) == ("athena-tfhe", item)
    result: list[dict[str, Any]] = found["rows"]
    return result


def test_every_item_has_its_module_and_fits_a_terminal() -> None:
    assert PAPERS["athena-tfhe"].items.keys() == MODULES.keys()
    for item, module in MODULES.items():
        columns: tuple[Column, ...] = module.COLUMNS
        for names in ([c.name for c in columns], [c.title for c in columns]):
            assert len(set(names)) == len(names), item
        assert max(map(len, run(item).splitlines())) <= WIDTH, item


def test_intervals_of_table_2_are_within_a_tenth() -> None:
    found = rows("table2")
    assert len(found) == len(TABLE_2)
    for row in found:
        assert row["ratio"] == pytest.approx(1, abs=0.1)
        assert row["ratio"] == pytest.approx(row["interval_us"] / row["paper_us"])
        assert row["gbps"] == pytest.approx(row["paper_gbps"], rel=0.1)
    # Eight arrays of 32 elements: an eighth of one's time.
    assert found[3]["interval_us"] == found[2]["interval_us"] / 8


def test_the_throughputs_of_table_2_have_both_operands() -> None:
    for given in TABLE_2:
        assert table2.throughput(given.n, given.latency) == pytest.approx(
            given.throughput, abs=0.02
        )
        assert table2.equation_12(given.latency) < given.throughput / 3


def test_table_4_counts_two_operands_for_its_own_designs_alone() -> None:
    over = {(row["design"], row["paper_us"]): row["paper_over_formula"] for row in rows("table4")}
    assert over["ATHENA-Wavefront", 1.46] == pytest.approx(2, abs=0.01)
    for name, value in over.items():
        if name[0].startswith("2D-BFU") or name[0] in ("Saber-Karatsuba", "Saber-Winograd"):
            assert value == pytest.approx(1, abs=0.05), name
    # The FFT's throughput is the rate of two channels of 32 bits at 520 MHz.
    assert pytest.approx(2 * 32 * 520 / 1000, rel=0.01) == table4.FFT.throughput / 1000


def test_table_5_holds_time_power_and_energy() -> None:
    found = rows("table5")
    assert len(rows("table5", "--no-measure")) == len(TABLE_5) + 2
    assert len(found) == len(TABLE_5) + 4
    gates = found[-2:]
    assert all(row["measured_ms"] > 0 and row["simulated_ms"] is None for row in gates)
    found = found[:-2]
    assert all(row["measured_ms"] is None for row in found)
    # Energies as printed: 242.65 and 389.16 mJ, 998.4 of the TFHE library.
    assert [row["paper_mj"] for row in found[-2:]] == pytest.approx([242.65, 389.16], abs=0.01)
    assert found[0]["paper_mj"] == pytest.approx(998.4)
    for row in found[-2:]:
        assert row["time_ratio"] == pytest.approx(1, abs=0.1)
        assert row["simulated_mj"] == pytest.approx(row["simulated_ms"] * row["watts"])
    assert all(row["simulated_ms"] is None for row in found[:-2])


def test_a_product_of_the_fft_pipeline_takes_about_what_the_paper_prints() -> None:
    found = next(row for row in rows("table4") if row["design"] == "ATHENA-FFT")
    # The tiles are inferred from their number: the order of the time is all that can agree.
    assert 0.5 < found["ratio"] < 2


def test_readings_of_table_5_are_the_rotation_and_whole_bootstrappings() -> None:
    found = rows("readings")
    assert [(row["set"], row["reading"]) for row in found] == [
        (name, reading)
        for name in ("I", "II")
        for reading in ("rotation alone", "whole, processor", "whole, array")
    ]
    for row in found:
        if row["reading"] == "rotation alone":
            assert row["ratio"] == pytest.approx(1, abs=0.1)
            assert row["simulated_ms"] == row["rotation_ms"]
            continue
        parts = ("words_ms", "starts_ms", "rotation_ms", "switch_ms")
        assert row["simulated_ms"] == pytest.approx(sum(row[part] for part in parts))
        assert row["ratio"] > 1.1


def test_the_published_times_have_no_room_for_a_key_switch() -> None:
    text = " ".join(run("readings").split())
    # 6190 / 586 and 10350 / 500, beside table II; 19.2 and 30.8 MB at 25.6 GB/s.
    for words in ("10.56 us", "11.56 us", "20.70 us", "21.33 us", "19.2 MB", "0.75 ms", "1.20 ms"):
        assert words in text, words


def test_inferred_keys_change_the_time_in_the_right_direction() -> None:
    found = rows("sensitivity")
    base, changed = found[0], found[1:]
    assert [row["key"] for row in changed] == [key for key in sensitivity.KEYS for _ in range(2)]
    for smaller, larger in zip(changed[::2], changed[1::2], strict=True):
        times = [row["processor_ms"] for row in (smaller, base, larger)]
        better = smaller["key"] in ("efficiency_percent", "buffer_words", "megabytes_per_second")
        assert times == sorted(times, reverse=better), smaller["key"]


def test_notes_of_table_5_compare_like_with_like() -> None:
    text = " ".join(run("table5").split())
    # (7.53 - 6.19) / 7.53, and 10.35 / 7.53.
    assert "17.8 %" in text
    assert "1.37 times YKP's time" in text
    # 9.34 x 200 over 10.35 x 37.6.
    assert "at 110 bits 4.8" in text
    assert ATHENA["II"].security == 110


def test_figure_10_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run("fig10", "--output", tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {f"athena-tfhe-fig10.{kind}" for kind in ("csv", "svg", "png")}
    assert (tmp_path / "athena-tfhe-fig10.png").read_bytes().startswith(b"\x89PNG")


def test_algorithm_2_is_wrong_as_printed_and_its_limbs_are_short_enough() -> None:
    for row in rows("algorithm2"):
        assert row["wrong_residues"] > 99
        assert row["wrong_words"] > 99
        assert row["log_rms_error"] == pytest.approx(row["log_estimate"], abs=0.3)
        assert 0 < row["bound"] < 0.5
