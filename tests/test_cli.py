"""The command: what users get wrong ends in one clear line and a non-zero exit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from palladion.cli import COMMANDS as COMMANDS_OF_ALL

from tests.conftest import Command, refused
from tests.test_mnist import idx, write

COMMANDS = ["demo", "keygen", "encrypt", "run", "decrypt", "evaluate", "bench", "info"]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(command: Command, name: str) -> None:
    result = command(name, "--help")
    assert result.returncode == 0
    assert "--json" in result.stdout


@pytest.mark.parametrize(("line", "heavy"), [
    (["info"], "numpy onnx psutil PIL rich palladion.nn palladion.schemes.arrays"),
    (["--help"], "numpy onnx psutil PIL rich palladion.nn palladion.schemes"),
    (["params"], "numpy onnx psutil PIL rich palladion.nn"),
], ids=str)  # fmt: skip
def test_commands_import_what_they_need(line: list[str], heavy: str) -> None:
    code = (
        "import atexit, sys; from palladion.cli import main; sys.argv[0] = 'palladion'\n"
        f"atexit.register(lambda: print(*{{*{heavy.split()}}} & {{*sys.modules}}, file=sys.stderr))"
        "\nmain()"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, *line], capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stderr.split() == []


def test_the_package_has_all_its_names() -> None:
    """The names include those that are imported on first use. A client loads no tool of ONNX."""
    code = (
        "import palladion, sys\n"
        "assert set(palladion.__all__) <= set(dir(palladion))\n"
        "from palladion import *\n"
        "assert Model is palladion.Model and ckks is palladion.ckks\n"
        "print(*{'onnx', 'rich'} & {*sys.modules}, hasattr(palladion, 'nothing'))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False"]


def test_every_command_is_in_the_help(command: Command) -> None:
    text = command("--help").stdout
    for name in COMMANDS_OF_ALL:
        assert f"  {name} " in text


def test_info_names_the_kernels(command: Command) -> None:
    found = json.loads(command("info", "--json").stdout)
    assert {"version", "kernels", "kernels_available", "threads"} <= found.keys()
    assert found["kernels"] in found["kernels_available"]
    assert found["security"]["bits"] >= 128
    assert (found["security"]["model"], found["security"]["enough"]) == ("MATZOV", True)
    shown = command("info").stdout
    assert found["security"]["text"] in shown
    assert found["security"]["basis"] in shown


def test_a_full_disk_under_standard_output_is_an_error() -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        line = [sys.executable, "-m", "palladion.cli", "info"]
        result = subprocess.run(
            line, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert result.returncode == 6
    assert "No space left" in result.stderr
    assert "Traceback" not in result.stderr


def test_benchmarks_print_one_object_per_row(command: Command) -> None:
    result = command("bench", "ntt", "--samples", 1, "--json")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(rows) == 10
    for row in rows:
        assert row.keys() == {"name", "parameters", "threads", "seconds", "samples"}
        assert 0 < row["seconds"] < 1


def test_threads_are_respected(command: Command) -> None:
    assert json.loads(command("info", "--json", "--threads", 1).stdout)["threads"] == 1


def test_unknown_kernels_are_refused(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALLADION_KERNELS", "abacus")
    refused(command("info"), "abacus", "scalar")


@pytest.mark.parametrize("count", ["0", "-1", "many"])
@pytest.mark.parametrize("name", ["demo", "info"])
def test_wrong_thread_counts_are_refused(command: Command, name: str, count: str) -> None:
    refused(command(name, "--threads", count), "--threads")


def test_what_is_no_image_is_refused(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "notes.png"
    path.write_text("not an image")
    refused(command("demo", "--image", path), "notes.png", "no image")
    refused(command("demo", "--image", tmp_path / "missing.png"), "does not exist")


def test_choices_beyond_the_sample_are_refused(command: Command) -> None:
    refused(command("demo", "--sample", 99, "--count", 2), "100 images")
    refused(command("demo", "--count", 0), "--count")


def test_missing_data_is_refused(command: Command, tmp_path: Path) -> None:
    refused(command("evaluate", "--data", tmp_path), "palladion download", ".npz")
    refused(command("evaluate"), "--data")


def test_a_file_that_is_no_network_is_refused(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "network.json"
    path.write_text("{}")
    refused(command("keygen", "--network", path, "--output", tmp_path), "not an integer network")
    refused(command("keygen", "--network", tmp_path / "x", "--output", tmp_path), "cannot read")


def test_evaluation_counts_in_the_clear(command: Command, tmp_path: Path) -> None:
    write(tmp_path, idx(3, 28, 28), idx(3))
    result = command("evaluate", "--data", tmp_path, "--json")
    found = json.loads(result.stdout)
    assert found["images"] == 3
    assert {"plain_correct", "integer_correct", "noisy_correct", "layers"} <= found.keys()
    assert result.stderr == ""
