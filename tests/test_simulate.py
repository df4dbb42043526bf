"""``palladion simulate``: machines of the package, of files, and of nobody."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from palladion import _native
from palladion.cli.simulate import simulate
from palladion.errors import FormatError, UsageError
from palladion.machines import BootstrapSet, Machine
from palladion.reproduce.athena_tfhe.published import SETS


def output(*arguments: str) -> str:
    result = CliRunner().invoke(simulate, arguments, catch_exceptions=False, standalone_mode=False)
    assert result.exit_code == 0
    return result.output


def pbs(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output("pbs", "--json", *arguments))
    return found


# Table V of ATHENA: ms and W. Tiles of set II are those of its published graph.
@pytest.mark.parametrize(
    ("name", "milliseconds", "watts", "tiles"), [("I", 6.19, 39.2, 183), ("II", 10.35, 37.6, 217)]
)
def test_both_sets_come_near_the_paper(
    name: str, milliseconds: float, watts: float, tiles: int
) -> None:
    found = pbs("--machine", "versal", "--set", name)
    assert found["latency_ms"] == pytest.approx(milliseconds, rel=0.1)
    assert found["watts"] == pytest.approx(watts, rel=0.01)  # the machine's file is fitted to it
    assert found["energy_mj"] == pytest.approx(found["latency_ms"] * found["watts"])
    assert (found["tiles"], found["channels"]) == (tiles, 9)
    assert sum(kind["tiles"] for kind in found["kinds"]) == tiles
    assert all(0 < kind["busy"] < 1 for kind in found["kinds"] if kind["tiles"])
    each = found["latency_ms"] * 1000 / found["iterations"]
    assert each == pytest.approx(found["iteration_us"], rel=0.01)


@pytest.mark.parametrize("name", SETS)
def test_a_whole_bootstrapping_is_its_parts_on_either_place(name: str) -> None:
    found = pbs("--set", name)
    for place in ("processor", "array"):
        whole = found["whole"][place]
        times = {part["name"]: (part["at"], part["us"]) for part in whole["parts"]}
        assert times["key switch"][0] == place
        assert times["modulus switch"][0] == times["extraction"][0] == "processor"
        total = sum(us for _, us in times.values()) / 1000
        assert whole["latency_ms"] == pytest.approx(total)
        assert whole["energy_mj"] == pytest.approx(whole["watts"] * total)
        # The memory delivers the keys of the blind rotation in time.
        assert times["blind rotation"][1] / 1000 == pytest.approx(found["latency_ms"], rel=0.002)
        assert found["tiles"] <= whole["tiles"] <= found["tiles_available"]
    assert found["whole"]["array"]["tiles"] > found["tiles"]
    assert found["whole"]["array_refused"] is None
    assert len(found["published"]) == 4


def test_pipelines_of_transforms_are_slower_and_need_more_tiles() -> None:
    direct, fft = pbs("--set", "II"), pbs("--set", "II", "--multiplier", "fft")
    # 4 + 3 x 9 stages for N = 1024, and 25 tiles that are no multipliers.
    assert (fft["elements"], fft["tiles"]) == (31, 12 * 31 + 25)
    assert fft["passes"] > fft["as_printed"]["passes"] == 3
    assert fft["latency_ms"] > fft["as_printed"]["latency_ms"] > direct["latency_ms"]
    assert (direct["multiplier"], direct["passes"], direct["as_printed"]) == ("direct", 1, None)
    with pytest.raises(UsageError, match="543 tiles"):
        pbs("--set", "I", "--multiplier", "fft")


def test_a_key_switch_without_room_on_the_array_is_said(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(Machine.named("versal").text.replace("tiles = 400", "tiles = 217"))
    found = pbs("--machine", str(path), "--set", "II")
    assert found["whole"]["array"] is None
    assert "220 tiles" in found["whole"]["array_refused"]
    assert "220 tiles" in output("pbs", "--machine", str(path), "--set", "II")


def test_the_table_fits_a_terminal_and_says_what_is_insecure() -> None:
    for name, given in SETS.items():
        text = output("pbs", "--set", name)
        assert given.security in text
        assert "simulated time" in text
        assert max(map(len, text.splitlines())) <= 98
    assert all("INSECURE" in given.security for given in SETS.values())
    assert "2^-7.3: one bootstrapping in 158 is WRONG" in output("pbs", "--set", "II")
    assert "WRONG" not in output("pbs", "--set", "I")


def test_a_machine_of_ones_own(tmp_path: Path) -> None:
    text = output("machine", "versal")
    path = tmp_path / "mine.toml"
    path.write_text(text)
    assert pbs("--machine", str(path)) == {**pbs(), "machine_file": str(path)}
    assert f"versal-vck190 of {path}" in output("pbs", "--machine", str(path))
    # Loops that start an iteration before the last has ended: 4 cycles instead of 12.
    path.write_text(text.replace("pipelined = false", "pipelined = true"))
    faster = pbs("--machine", str(path))
    assert 2 < pbs()["latency_ms"] / faster["latency_ms"] < 3


def test_sizes_of_ones_own() -> None:
    same = pbs("--set", "II", "--lwe-dimension", "500", "--digits", "10x3", "--ring-degree", "1024")
    printed = pbs("--set", "II")
    assert same["latency_ms"] == printed["latency_ms"]
    assert same["security"].startswith("NOT ESTIMATED")
    assert (printed["log2_failure"] > -8, same["log2_failure"]) == (True, None)
    assert (same["published"], same["published_ms"]) == ([], None)
    # Iterations take the same time, and their number is the dimension.
    longer = pbs("--set", "II", "--lwe-dimension", "1000")
    assert longer["iteration_us"] == pytest.approx(printed["iteration_us"])
    assert longer["parameters"]["lwe_dimension"] == longer["iterations"] == 1000
    # Two levels instead of three: 8 multipliers instead of 12.
    shorter = pbs("--set", "II", "--digits", "10x2")
    assert (printed["multipliers"], shorter["multipliers"]) == (12, 8)
    assert shorter["bootstrap_key_bytes"] * 3 == printed["bootstrap_key_bytes"] * 2
    assert "NOT ESTIMATED" in output("pbs", "--set", "II", "--digits", "10x2")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--ring-degree", "4096"), r"4096.*512, 1024, 2048"),
        (("--set", "II", "--digits", "3x10"), r"versal: .*tiles.*fewer `elements`"),
        (("--digits", "10"), r"--digits is '10', expected BITSxNUMBER"),
        (("--digits", "20x3"), "60"),
        (("--rank", "0"), r"--rank is 0, expected 1 or more"),
        (("--lwe-dimension", "70000"), r"LWE dimension.*70000.*65536"),
        (("--set", "II", "--rank", "2"), r"number of components.*3.*multiple of 2"),
    ],
)
def test_sizes_that_do_not_fit_are_refused_by_name(options: tuple[str, ...], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        pbs(*options)


def test_power_of_tiles_follows_the_clock(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    text = Machine.named("versal").text
    path.write_text(text.replace("\nclock_mhz = 1250", "\nclock_mhz = 625"))
    slow, nominal = pbs("--machine", str(path)), pbs()
    assert slow["latency_ms"] > 1.9 * nominal["latency_ms"]
    assert slow["tile_watts"] == pytest.approx(nominal["tile_watts"] / 2)
    assert slow["static_watts"] == nominal["static_watts"]


def test_unknown_and_broken_machines_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"f2.*versal"):
        output("pbs", "--machine", "f2")
    with pytest.raises(UsageError, match=r"f2.*versal"):
        output("machine", "f2")
    with pytest.raises(UsageError, match=r"family.*vector.*simulate run"):
        output("pbs", "--machine", "f1")
    path = tmp_path / "mine.toml"
    text = Machine.named("versal").text
    for changed, words in [
        (text.replace("tiles = 400", "tiles = 0"), r"array\.tiles is 0, expected 1 to"),
        (text.replace("tiles = 400\n", ""), "missing field `tiles`"),
        (text.replace("[power]", "[power]\nmood = 1"), "unknown field `mood`"),
        ("", "missing field"),
        (text.replace("start_us = 20.0", ""), r"missing field `start_us`[^$]*start_us = 20\.0"),
        (text.replace("[memory]", "[memories]"), r"missing field `memory`[^$]*burst_words = 16"),
        (
            text.replace("efficiency_percent = 70", "efficiency_percent = 0"),
            r"memory\.efficiency_percent is 0, expected 1 to 100",
        ),
    ]:
        path.write_text(changed)
        with pytest.raises(FormatError, match=words):
            pbs("--machine", str(path))
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="no machine"):
        pbs("--machine", str(path))
    path.write_text(text.replace("tiles = 400", "tiles = 100"))
    with pytest.raises(UsageError, match=r"mine\.toml: .*183 tiles.*fewer `elements` in the"):
        pbs("--machine", str(path))
    # The way out that the error names.
    path.write_text(
        text.replace("tiles = 400", "tiles = 170").replace("elements = 8", "elements = 4")
    )
    assert pbs("--machine", str(path))["tiles"] <= 170


def test_sizes_without_a_mapping_are_refused() -> None:
    machine = Machine.named("versal")
    with pytest.raises(UsageError, match="4096"):
        machine.bootstrap(BootstrapSet("large", 10, 1, 4096, (10, 3), (1, 15), ""))
    with pytest.raises(UsageError, match="digits"):
        machine.bootstrap(BootstrapSet("odd", 10, 1, 1024, (31, 3), (1, 15), ""))
    with pytest.raises(UsageError, match="7 elements"):
        machine.products(1024, 7)


def test_names_of_machines() -> None:
    known = ["versal", "f1", "athena", "craterlake", "sharp", "hyena", "tiny"]
    assert _native.machine_names() == known
