"""The programs that are compared, and how each is installed on this machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

from .environments import BENCH, NotRunError, checked, environment, last_line

DEFINITIONS = BENCH / "definitions.json"
VENV = BENCH / ".venv"

# Command line of a program, or why it cannot be run.
Command = Union[list[str], NotRunError]

# One thread everywhere, whatever pool a library brings.
ONE_THREAD = {
    "GOMAXPROCS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
}


# What a program prints: a JSON object per line.
Line = dict[str, Any]


@dataclass(frozen=True)
class Program:
    """One column of the tables."""

    name: str
    groups: tuple[str, ...]
    version: str
    # Installs the program and gives its command line, or raises NotRunError.
    build: Callable[[], list[str]]


def run_program(command: list[str], verb: str, group: str) -> list[Line]:
    """The lines that one run of a program prints."""
    done = subprocess.run(
        [*command, verb, group, str(DEFINITIONS)],
        env=os.environ | ONE_THREAD,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise NotRunError(f"it failed: {last_line(done.stderr)}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def _target_directory() -> Path:
    metadata = checked(["cargo", "metadata", "--no-deps", "--format-version=1"], "cargo metadata")
    return Path(json.loads(metadata)["target_directory"])


def _rust(package: str, binary: str, profile: str, flags: str) -> list[str]:
    environment = {"RUSTFLAGS": flags} if flags else {}
    command = ["cargo", "build", "--package", package, "--bin", binary, "--profile", profile]
    checked(command, "cargo build", **environment)
    return [str(_target_directory() / profile / binary)]


def _ours() -> list[str]:
    """As the product is shipped: for any CPU, with the choice of kernels at run time."""
    return _rust("palladion-bench-ours", "ours", "release", "")


def _rust_peer(binary: str) -> list[str]:
    return _rust("palladion-bench-peers", binary, "peers", "-C target-cpu=native")


def _lattigo() -> list[str]:
    program = _target_directory() / "lattigo"
    command = ["go", "build", "-C", "lattigo", "-buildvcs=false", "-o", str(program), "."]
    checked(command, "go build")
    return [str(program)]


def _openfhe(technique: str) -> list[str]:
    folder = BENCH / "openfhe"
    python = environment(VENV, folder / "requirements.txt", "openfhe")
    return [python, str(folder / "main.py"), technique]


def pinned(file: str, pattern: str) -> str:
    found = re.search(pattern, (BENCH / file).read_text(encoding="utf-8"))
    if found is None:
        raise ValueError(f"{file} pins no version: {pattern}")
    return found[1]


def _programs() -> list[Program]:
    cargo = "peers-rust/Cargo.toml"
    openfhe = pinned("openfhe/requirements.txt", r"openfhe==(\S+)")
    return [
        Program("ours", ("ntt", "bfv"), "this tree", _ours),
        Program(
            "tfhe-ntt",
            ("ntt",),
            pinned(cargo, r'tfhe-ntt = "=(\S+)"'),
            lambda: _rust_peer("tfhe_ntt"),
        ),
        Program(
            "Lattigo", ("ntt", "bfv"), pinned("lattigo/go.mod", r"lattigo/v6 v(\S+)"), _lattigo
        ),
        Program("OpenFHE BV", ("bfv",), openfhe, lambda: _openfhe("BV")),
        Program("OpenFHE HYBRID", ("bfv",), openfhe, lambda: _openfhe("HYBRID")),
        Program("fhe.rs", ("bfv",), pinned(cargo, r'fhe = "=(\S+)"'), lambda: _rust_peer("fhe_rs")),
    ]


PROGRAMS = _programs()


def build_all(programs: list[Program], say: Callable[[str], None]) -> dict[str, Command]:
    """For each program its command line, or why there is none."""
    built: dict[str, Command] = {}
    for program in programs:
        say(f"installing {program.name} ({program.version})")
        try:
            built[program.name] = program.build()
        except NotRunError as reason:
            built[program.name] = reason
    return built
