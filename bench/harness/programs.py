"""The programs that are compared, and how each is installed on this machine."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

BENCH = Path(__file__).resolve().parent.parent
DEFINITIONS = BENCH / "definitions.json"
VENV = BENCH / ".venv"

# Command line of a program, or why it cannot be run.
Command = Union[list[str], "NotRunError"]

# One thread everywhere, whatever pool a library brings.
ONE_THREAD = {
    "GOMAXPROCS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
}


# What a program prints: a JSON object per line.
Line = dict[str, Any]


class NotRunError(Exception):
    """Why a program cannot be measured here, in a few words."""


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
        raise NotRunError(f"it failed: {_last_line(done.stderr)}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def _checked(command: list[str], what: str, **environment: str) -> str:
    try:
        done = subprocess.run(
            command, cwd=BENCH, env=os.environ | environment, capture_output=True, text=True
        )
    except FileNotFoundError as error:
        raise NotRunError(f"needs {error.filename}") from None
    if done.returncode != 0:
        raise NotRunError(f"{what} failed: {_last_line(done.stderr)}")
    return done.stdout


def _last_line(text: str) -> str:
    """The line that tells most: the first error, else the last line that is no note."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("note:")]
    errors = [line for line in lines if line.lower().startswith(("error", "panic"))]
    return (errors or lines or ["no message"])[0 if errors else -1][:200]


def _target_directory() -> Path:
    metadata = _checked(["cargo", "metadata", "--no-deps", "--format-version=1"], "cargo metadata")
    return Path(json.loads(metadata)["target_directory"])


def _rust(package: str, binary: str, profile: str, flags: str) -> list[str]:
    environment = {"RUSTFLAGS": flags} if flags else {}
    command = ["cargo", "build", "--package", package, "--bin", binary, "--profile", profile]
    _checked(command, "cargo build", **environment)
    return [str(_target_directory() / profile / binary)]


def _ours() -> list[str]:
    """As the product is shipped: for any CPU, with the choice of kernels at run time."""
    return _rust("palladion-bench-ours", "ours", "release", "")


def _rust_peer(binary: str) -> list[str]:
    return _rust("palladion-bench-peers", binary, "peers", "-C target-cpu=native")


def _lattigo() -> list[str]:
    program = _target_directory() / "lattigo"
    command = ["go", "build", "-C", "lattigo", "-buildvcs=false", "-o", str(program), "."]
    _checked(command, "go build")
    return [str(program)]


def _openfhe(technique: str) -> list[str]:
    python = VENV / "bin" / "python"
    command = [str(python), str(BENCH / "openfhe" / "main.py"), technique]
    if python.exists():
        check = [str(python), "-c", "import openfhe"]
        if subprocess.run(check, capture_output=True).returncode == 0:
            return command
    _checked([_cpython_310(), "-m", "venv", "--clear", str(VENV)], "venv")
    requirements = str(BENCH / "openfhe" / "requirements.txt")
    pip = [str(python), "-m", "pip", "install", "--quiet", "--requirement", requirements]
    _checked(pip, "pip install")
    _checked([str(python), "-c", "import openfhe"], "import openfhe")
    return command


def _cpython_310() -> str:
    """From the path, or one that pyenv or uv keeps without putting it there."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = ["python3.10", *map(str, pyenv.glob("versions/3.10.*/bin/python3.10"))]
    if shutil.which("uv"):
        found = subprocess.run(["uv", "python", "find", "3.10"], capture_output=True, text=True)
        candidates += found.stdout.split()
    for candidate in candidates:
        # A shim may be on the path with nothing behind it, so it must really run.
        check = [candidate, "-c", "import sys; sys.exit(sys.version_info[:2] != (3, 10))"]
        if shutil.which(candidate) and subprocess.run(check, capture_output=True).returncode == 0:
            return candidate
    raise NotRunError("needs CPython 3.10")


def _pinned(file: str, pattern: str) -> str:
    found = re.search(pattern, (BENCH / file).read_text(encoding="utf-8"))
    if found is None:
        raise ValueError(f"{file} pins no version: {pattern}")
    return found[1]


def _programs() -> list[Program]:
    cargo = "peers-rust/Cargo.toml"
    openfhe = _pinned("openfhe/requirements.txt", r"openfhe==(\S+)")
    return [
        Program("ours", ("ntt", "bfv"), "this tree", _ours),
        Program(
            "tfhe-ntt",
            ("ntt",),
            _pinned(cargo, r'tfhe-ntt = "=(\S+)"'),
            lambda: _rust_peer("tfhe_ntt"),
        ),
        Program(
            "Lattigo", ("ntt", "bfv"), _pinned("lattigo/go.mod", r"lattigo/v6 v(\S+)"), _lattigo
        ),
        Program("OpenFHE BV", ("bfv",), openfhe, lambda: _openfhe("BV")),
        Program("OpenFHE HYBRID", ("bfv",), openfhe, lambda: _openfhe("HYBRID")),
        Program(
            "fhe.rs", ("bfv",), _pinned(cargo, r'fhe = "=(\S+)"'), lambda: _rust_peer("fhe_rs")
        ),
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
