"""Check that crates and Python packages import only what their layer may.

The table says what each layer stands on; it may use that and everything beneath. Development
dependencies are free, since tests may look down from above.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PREFIX = "palladion-"

SCHEMES = {"bfv", "bgv", "ckks", "tfhe"}
STANDS_ON: dict[str, set[str]] = {
    "kernels": set(),
    "ring": {"kernels"},
    "rlwe": {"ring"},
    "exact": {"rlwe"},
    "bfv": {"exact"},
    "bgv": {"exact"},
    "ckks": {"rlwe"},
    "tfhe": {"rlwe"},
    # A recording is data of `program`: docs/adr/0019-one-description-of-every-run.md.
    "circuits": {*SCHEMES, "program"},
    "network": set(),
    "program": set(),
    # Plans are dry runs of the circuits: docs/adr/0002-plans-are-dry-runs.md.
    "compiler": {"network", "program", "circuits"},
    "lower": {"program", "rlwe"},
    "runtime": {"circuits", "lower"},
    # Arrays and multipliers share elements: docs/adr/0013-machines-share-elements.md.
    "sim": {"program", "ring"},
    "server": {"runtime"},
    "python": {"server", "runtime", "compiler", "sim"},
}
# Crates of others that only some of ours may use.
RESERVED = {"pyo3": {"python"}}

PYTHON_STANDS_ON: dict[str, set[str]] = {
    "errors": set(),
    "fetch": {"errors"},
    "files": {"errors"},
    "image": {"errors"},
    "nn": {"errors", "files", "text", "_native"},
    "packaged": {"nn"},
    "_native": {"errors"},
    "schemes": {"sets", "security"},
    "ckks": {"schemes"},
    "bfv": {"schemes"},
    "bgv": {"schemes"},
    "tfhe": {"schemes"},
    "circuit": {"ckks", "bfv", "bgv", "files"},
    "security": {"_native"},
    "sets": {"security", "_native"},
    "evaluation": {"memory", "text", "packaged"},
    "machines": {"files", "_native"},
    "reproduce": {"evaluation", "machines"},
    "cli": {
        "deployment",
        "errors",
        "fetch",
        "files",
        "image",
        "machines",
        "nn",
        "packaged",
        "_native",
        "evaluation",
        "reproduce",
        "security",
        "sets",
        "memory",
        "report",
        "text",
    },
    "text": set(),
    "memory": {"errors", "text"},
    "report": {"nn", "text"},
    "deployment": {"_native", "errors", "files", "memory", "nn", "report"},
    "model": {"_native", "deployment", "errors", "files", "nn", "report"},
    # The package's own names.
    "": {
        "deployment",
        "model",
        "errors",
        "nn",
        "packaged",
        "_native",
        "ckks",
        "bfv",
        "bgv",
        "tfhe",
        "circuit",
    },
}


def beneath(table: dict[str, set[str]], layer: str) -> set[str]:
    """Every layer that ``layer`` may use."""
    found: set[str] = set()
    waiting = [layer]
    while waiting:
        new = table[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def crates() -> list[str]:
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1"]
    text = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    faults = []
    for package in json.loads(text)["packages"]:
        name = package["name"].removeprefix(PREFIX)
        if name not in STANDS_ON:
            faults.append(f"crate {name} is not in the table of {Path(__file__).name}")
            continue
        for dependency in package["dependencies"]:
            if dependency["kind"] == "dev":
                continue
            used = dependency["name"].removeprefix(PREFIX)
            ours = dependency["name"].startswith(PREFIX)
            if ours and used not in beneath(STANDS_ON, name):
                faults.append(f"crate {name} uses {used}, which is not beneath it")
            if name not in RESERVED.get(used, {name}):
                faults.append(f"crate {name} uses {used}, which only {RESERVED[used]} may")
    return faults


def python() -> list[str]:
    faults = []
    package = ROOT / "python" / "palladion"
    for path in sorted(package.rglob("*.py*")):
        if path.suffix not in {".py", ".pyi"}:
            continue
        layer = path.relative_to(package).parts[0].removesuffix(path.suffix)
        layer = "" if layer == "__init__" else layer
        if layer not in PYTHON_STANDS_ON:
            faults.append(f"palladion.{layer} is not in the table of {Path(__file__).name}")
            continue
        allowed = beneath(PYTHON_STANDS_ON, layer) | {layer}
        for used in imported(path):
            # The package's own names are for its users and for the commands.
            if used not in allowed and not (used == "" and layer == "cli"):
                faults.append(f"{path.relative_to(ROOT)} imports palladion.{used}")
    return faults


def imported(path: Path) -> set[str]:
    """Parts of this package that a file imports; ``""`` for the package itself."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "palladion":
            parts = [alias.name for alias in node.names]
            names = [f"palladion.{p}" if p in PYTHON_STANDS_ON else "palladion" for p in parts]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        for name in names:
            first, _, rest = name.partition(".")
            if first == "palladion":
                found.add(rest.split(".")[0])
    return found


def main() -> None:
    faults = crates() + python()
    for fault in faults:
        print(fault, file=sys.stderr)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
