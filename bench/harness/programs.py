"""The programs that are compared, and their installation on this machine."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

from . import limits
from .environments import BENCH, NotRunError, checked, environment

DEFINITIONS = BENCH / "definitions.json"
VENV = BENCH / ".venv"

# The command line of a program, or the reason why it cannot be run.
Command = Union[list[str], NotRunError]

# The output of a program: one JSON object per line.
Line = dict[str, Any]


@dataclass(frozen=True)
class Program:
    """One column of the tables."""

    name: str
    groups: tuple[str, ...]
    version: str
    # Installs the program and returns its command line, or raises NotRunError.
    build: Callable[[], list[str]]


def definition(group: str) -> dict[str, Any]:
    """The measurements of a group."""
    found: dict[str, Any] = json.loads(DEFINITIONS.read_text(encoding="utf-8"))[group]
    return found


@dataclass(frozen=True)
class Run:
    """A program, its task, and its number of threads, for any thread pool of its library."""

    program: str
    verb: str
    group: str
    threads: int


# The longest stage is one operation with its warm-up, or the keys. This is far above it.
_STAGE_SECONDS = 900.0


def run_program(command: list[str], run: Run, say: Callable[[str], None]) -> tuple[list[Line], int]:
    """The lines that one run of a program prints, and the memory of its largest process in
    bytes."""
    available = limits.available_memory()
    needed = definition(run.group).get("available_gb", {}).get(run.program, 0)
    if available < needed * 1e9:
        raise NotRunError(f"needs {needed} GB of free memory, there are {available / 1e9:.1f}")
    command = [*command, run.verb, run.group, str(DEFINITIONS)]
    bounds = limits.Limits(available, _STAGE_SECONDS)
    finished = limits.run(command, run.threads, bounds, say)
    return [json.loads(line) for line in finished.output.splitlines()], finished.peak_memory


def _target_directory() -> Path:
    metadata = checked(["cargo", "metadata", "--no-deps", "--format-version=1"], "cargo metadata")
    return Path(json.loads(metadata)["target_directory"])


def _rust(package: str, binary: str, profile: str, flags: str) -> list[str]:
    environment = {"RUSTFLAGS": flags} if flags else {}
    command = ["cargo", "build", "--package", package, "--bin", binary, "--profile", profile]
    checked(command, "cargo build", **environment)
    return [str(_target_directory() / profile / binary)]


def _ours() -> list[str]:
    """The product as shipped: for any CPU, with kernels chosen at run time."""
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
        Program(
            "ours",
            ("ntt", "bfv", "bgv", "ckks", "bootstrap", "lookup", "tfhe"),
            "this tree",
            _ours,
        ),
        Program(
            "tfhe-ntt",
            ("ntt",),
            pinned(cargo, r'tfhe-ntt = "=(\S+)"'),
            lambda: _rust_peer("tfhe_ntt"),
        ),
        Program(
            "Lattigo",
            ("ntt", "bfv", "bgv", "ckks", "bootstrap"),
            pinned("lattigo/go.mod", r"lattigo/v6 v(\S+)"),
            _lattigo,
        ),
        Program("OpenFHE BV", ("bfv",), openfhe, lambda: _openfhe("BV")),
        Program(
            "OpenFHE HYBRID",
            ("bfv", "bgv", "ckks", "bootstrap", "lookup"),
            openfhe,
            lambda: _openfhe("HYBRID"),
        ),
        Program("fhe.rs", ("bfv",), pinned(cargo, r'fhe = "=(\S+)"'), lambda: _rust_peer("fhe_rs")),
        Program(
            "tfhe-rs",
            ("tfhe",),
            pinned(cargo, r'tfhe = \{ version = "=([^"]+)"'),
            lambda: _rust_peer("tfhe_rs"),
        ),
    ]


PROGRAMS = _programs()


def build_all(programs: list[Program], say: Callable[[str], None]) -> dict[str, Command]:
    """For each program its command line, or the reason why there is none."""
    built: dict[str, Command] = {}
    for program in programs:
        say(f"installing {program.name} ({program.version})")
        try:
            built[program.name] = program.build()
        except NotRunError as reason:
            built[program.name] = reason
    return built
