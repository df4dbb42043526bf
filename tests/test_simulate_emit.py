"""``palladion simulate pbs --emit``: places, folders that are refused, and words that are equal."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from palladion.cli.simulate import simulate
from palladion.errors import UsageError
from palladion.machines import Machine

SMALL = ("--set", "II", "--lwe-dimension", "2")


def pbs(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(
        simulate, ["pbs", "--json", *arguments], catch_exceptions=False, standalone_mode=False
    )
    assert result.exit_code == 0
    found: dict[str, Any] = json.loads(result.output)
    return found


def test_a_folder_has_every_tile_at_its_place(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "pbs"
    found = pbs(*SMALL, "--emit", str(folder))
    written = [path for path in folder.rglob("*") if path.is_file()]
    lengths = sum(path.stat().st_size for path in written)
    assert found["emitted"] == {"folder": str(folder), "files": len(written), "bytes": lengths}
    assert [path.name for path in folder.parent.iterdir()] == ["pbs"]  # nothing unfinished
    header, *rows = (folder / "placement.csv").read_text().splitlines()
    assert header == "name,kind,column,row"
    places = {tuple(row.split(",")[2:]) for row in rows}
    assert len(places) == len(rows) == found["tiles"] + found["channels"]
    shims = sorted(int(column) for column, row in places if row == "shim")
    assert shims == found["placement"]["shim_columns"]
    graph = (folder / "graph.h").read_text()
    for name, _kind, column, row in (line.split(",") for line in rows):
        place = f"shim({column})" if row == "shim" else f"tile({column}, {row})"
        assert f"({name}) = adf::{place};" in graph


@pytest.mark.skipif(
    not (shutil.which("make") and shutil.which("c++")), reason="no make or no C++ compiler"
)
def test_two_steps_of_set_two_give_every_word_and_a_changed_key_does_not(tmp_path: Path) -> None:
    folder = tmp_path / "pbs"
    folder.mkdir()  # an empty folder is taken
    pbs(*SMALL, "--emit", str(folder))

    def check() -> subprocess.CompletedProcess[str]:
        run = ["make", "--jobs=2", "check", "CXXFLAGS=-O1"]
        return subprocess.run(run, cwd=folder, capture_output=True, text=True, check=False)

    equal = check()
    assert equal.returncode == 0, equal.stderr
    assert "all words are those of the emulation" in equal.stdout
    key = folder / "data" / "key3.txt"
    first, rest = key.read_text().split("\n", 1)
    key.write_text(f"{int(first) ^ 1}\n{rest}")
    other = check()
    assert other.returncode != 0
    assert "streams.txt differ" in other.stdout + other.stderr


def test_folders_with_files_and_designs_without_kernels_are_refused(tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"--emit: .*full exists, expected a new folder"):
        pbs(*SMALL, "--emit", str(full))
    with pytest.raises(UsageError, match="cannot make the folder"):
        pbs(*SMALL, "--emit", str(full / "mine.txt" / "pbs"))
    new = tmp_path / "new"
    with pytest.raises(UsageError, match="direct multipliers"):
        pbs(*SMALL, "--multiplier", "fft", "--emit", str(new))
    machine = tmp_path / "mine.toml"
    text = Machine.named("versal").text
    machine.write_text(text.replace("last_shim = 44", "last_shim = 12"))
    with pytest.raises(UsageError, match=r"9 shim tiles, versal-vck190 has 7: .*first_shim"):
        pbs(*SMALL, "--machine", str(machine), "--emit", str(new))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full", "mine.toml"]
    assert [path.name for path in full.iterdir()] == ["mine.txt"]
