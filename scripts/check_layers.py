"""Check that crates and Python packages import only what their layer may use.

The table lists the layers directly beneath each layer. A layer may use these and everything beneath
them. Development dependencies are not restricted, since tests may use higher layers.

Two more rules separate client and server. Only some crates may name a type that holds a secret. And
the crates of a client in a browser ask the operating system only for randomness."""

from __future__ import annotations

import ast
import json
import re
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
    "network": set(),
    "trace": set(),
    "program": {"trace"},
    # Prices of work on the reference machine, for all who predict.
    "cost": {"trace"},
    # Both halves of the hybrid mode: docs/adr/0032-linear-layers-between-two-parties.md.
    "hybrid": {"rlwe", "network", "mpc", "cost"},
    # Shared by both halves, then the halves: docs/adr/0021-client-and-server-are-crates.md.
    "exchange": {"bfv", "program"},
    "client": {"exchange"},
    # A recording is data of `program`: docs/adr/0019-one-description-of-every-run.md.
    "circuits": {*SCHEMES, "exchange", "cost"},
    # The schemes for users, whole: what owner and server of a key do.
    "schemes": {"circuits"},
    "applications": {"circuits"},
    # Plans are dry runs of the circuits: docs/adr/0002-plans-are-dry-runs.md.
    "compiler": {"network", "program", "circuits"},
    "lower": {"program", "rlwe"},
    # What runs traces. A backend is written over it: docs/backends.md.
    "executor": {"exchange", "lower", "waves"},
    # Circuits of slots and of TFHE, without a secret.
    "evaluate": {"circuits", "executor"},
    # The server of networks.
    "runtime": {"circuits", "executor"},
    # Builds circuits of layers, without a secret: docs/adr/0029-packings-are-circuits.md.
    "packings": {"network", "evaluate"},
    "inspect": {"client", "packings", "runtime"},
    "timing": {"client", "circuits"},
    # Arrays and multipliers share elements: docs/adr/0013-machines-share-elements.md.
    "sim": {"trace", "ring"},
    # Machines of many limbs run traces: docs/adr/0026-traces-as-waves.md.
    "waves": {"trace", "kernels"},
    # Streams for the library of oblivious transfers: docs/adr/0031-shares-by-gmw.md.
    "cryprot-net": set(),
    "mpc": {"cryprot-net"},
    # The door for users of Rust: features choose what is behind it.
    "palladion": {"client", "schemes", "compiler", "runtime", "evaluate", "sim"},
    "python": {
        "runtime",
        "inspect",
        "timing",
        "compiler",
        "applications",
        "schemes",
        "sim",
        "waves",
        "hybrid",
    },
}
# External crates that only some of our crates may use.
RESERVED = {"pyo3": {"python"}}
# The crates that may name a type which holds a secret. Every other crate belongs to the server, or
# to both halves.
MAY_HOLD_SECRETS = {
    *{"ring", "rlwe", "exact", "circuits"},
    *SCHEMES,
    *{"client", "inspect", "timing", "python", "hybrid", "schemes", "palladion"},
}
# Words of crates that stand on no holder of secrets: they only look like such a type.
NAMESAKES = {"mpc": {"Client"}}  # a variant of `Role`
# The crates of a client in a browser, and what they may not use.
PORTABLE = {"exchange", "client"}
SYSTEM = re.compile(r"\bstd::(?:env|fs|net|os|process|thread|time)\b")

PYTHON_STANDS_ON: dict[str, set[str]] = {
    "errors": set(),
    "fetch": {"errors"},
    "destination": {"errors", "text"},
    "files": {"destination", "errors"},
    "image": {"errors"},
    "masks": set(),
    "tabular": {"errors"},
    "records": set(),
    # What an estimator of other libraries consists of, and who exports it.
    "estimators": {"errors"},
    "nn": {"estimators", "errors", "files", "masks", "records", "tabular", "text", "_native"},
    "packaged": {"nn"},
    "packings": {"errors", "nn", "_native"},
    "_native": {"errors"},
    "schemes": {"masks", "sets", "security"},
    "ckks": {"schemes"},
    "bfv": {"schemes"},
    "bgv": {"schemes"},
    "tfhe": {"schemes"},
    "circuit": {"ckks", "bfv", "bgv", "tfhe", "files", "traces"},
    # How objects of the core are pickled.
    "copies": {"errors", "_native"},
    "security": {"_native", "records"},
    "sets": {"records", "security", "_native"},
    "evaluation": {"deployment", "memory", "text", "packaged"},
    "machines": {"files", "records", "_native"},
    "simulation": {"machines", "records", "traces"},
    "sweeps": {"errors", "simulation"},
    # Shapes alone: a model of time and energy, with no ciphertext.
    "packing_model": {"errors", "files", "nn", "security", "simulation", "_native"},
    "reproduce": {
        *{"circuit", "ckks", "errors", "evaluation", "packing_model", "simulation", "xla"},
        "_native",
    },
    "pictures": {"reproduce", "sweeps", "text"},
    # The facade, from its floor up: docs/python.md.
    "facts": {"_native", "prediction", "records", "security", "text"},
    "runs": {"_native", "records"},
    "targets": {"_native", "errors", "records", "runs", "xla"},
    "traces": {"_native", "errors", "files", "records", "runs", "targets"},
    "choices": {"records"},
    "client": {"_native", "errors", "facts", "files", "memory", "nn", "runs"},
    "deployment": {"choices", "client", "facts", "files", "memory", "nn", "targets", "traces"},
    "hybrid": {"_native", "errors", "files", "nn", "records", "runs"},
    "model": {"deployment", "hybrid", "report", "sklearn_export", "tabular"},
    "measure": {"deployment", "packaged", "prediction", "records"},
    # Commands use the facade: not the core.
    "cli": {
        *{"evaluation", "fetch", "hybrid", "image", "measure", "model", "packing_model"},
        *{"packings", "pictures", "report", "sets", "sweeps", "text"},
    },
    # Another machine for programs; only those who ask for it import it.
    "xla": {"_native", "circuit", "destination", "errors", "files", "memory", "schemes", "text"},
    "text": set(),
    "memory": {"errors", "facts", "text"},
    "prediction": {"_native"},
    "report": {"nn", "records", "text"},
    "sklearn_export": {"estimators", "errors", "nn"},
    # The package's own names.
    "": {
        "copies",
        "model",
        "simulation",
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


# The core of Python is only for the library: what commands need of it, the facade has.
NO_CORE = {"cli"}


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


def sources(crate: str) -> dict[Path, str]:
    """The sources of a crate without comments and tests, by path."""
    found = {}
    for path in sorted((ROOT / "crates" / crate / "src").rglob("*.rs")):
        if path.stem == "tests" or "tests" in path.parts:
            continue
        # Test modules are at the end of their file.
        text = path.read_text(encoding="utf-8").split("#[cfg(test)]")[0]
        found[path] = re.sub(r"//.*", "", text)
    return found


def secret_types(texts: list[str]) -> set[str]:
    """Public types that hold a secret: types that are overwritten when dropped, or contain one."""
    types: dict[str, str] = {}
    public: set[str] = set()
    # A variant of an enum may contain braces.
    fields = r";|\{(?:[^{}]|\{[^{}]*\})*\}"
    declared = rf"^\s*(pub(?:\(\w+\))? )?(?:struct|enum) (\w+)([^;{{]*(?:{fields}))"
    secrets = set()
    for text in texts:
        secrets |= set(re.findall(r"impl.* ZeroizeOnDrop for (\w+)", text))
        for visible, name, body in re.findall(declared, text, flags=re.MULTILINE):
            types[name] = types.get(name, "") + body
            if visible == "pub ":
                public.add(name)
    secrets |= {name for name, body in types.items() if re.search(r"\bZeroizing\b", body)}
    waiting = list(secrets)
    while waiting:
        # Not before a parenthesis, where it is the name of a variant.
        word = re.compile(rf"\b{waiting.pop()}\b(?!\()")
        new = {name for name, body in types.items() if word.search(body)} - secrets
        secrets |= new
        waiting += new
    return secrets & public


def named(text: str, types: set[str]) -> list[str]:
    """The types that a source names."""
    return sorted(types & set(re.findall(r"\w+", text)))


def halves() -> list[str]:
    """Violations: secrets in the server's crates, and system calls in the client's."""
    holders = [text for crate in MAY_HOLD_SECRETS for text in sources(crate).values()]
    secrets = secret_types(holders)
    faults = []
    for crate in STANDS_ON:
        for path, text in sources(crate).items():
            place = path.relative_to(ROOT)
            if crate not in MAY_HOLD_SECRETS:
                faults += [
                    f"{place} names {name}, which holds a secret"
                    for name in named(text, secrets - NAMESAKES.get(crate, set()))
                ]
            if crate in PORTABLE:
                faults += [f"{place} uses {used}" for used in sorted(set(SYSTEM.findall(text)))]
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
        if layer in NO_CORE:
            allowed -= {"_native"}
            if reaches_core(path):
                faults.append(f"{path.relative_to(ROOT)} uses an object of the core")
        for used in imported(path):
            # The package's own names are only for its users and for the commands.
            if used not in allowed and not (used == "" and layer == "cli"):
                faults.append(f"{path.relative_to(ROOT)} imports palladion.{used}")
    return faults


def reaches_core(path: Path) -> bool:
    """Whether a file takes an object of the core from one of the library."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return any(isinstance(n, ast.Attribute) and n.attr in {"native", "_native"} for n in nodes)


def imported(path: Path) -> set[str]:
    """Parts of this package that a file imports. ``""`` stands for the package itself."""
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
    faults = crates() + halves() + python()
    for fault in faults:
        print(fault, file=sys.stderr)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
