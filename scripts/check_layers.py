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
    "seal": {"client"},
    # The client's half for JavaScript.
    "wasm": {"seal"},
    # A recording is data of `program`: docs/adr/0019-one-description-of-every-run.md.
    "circuits": {*SCHEMES, "exchange", "cost"},
    # The schemes for users, whole: what owner and server of a key do.
    "schemes": {"circuits"},
    "applications": {"circuits"},
    # Plans are dry runs of the circuits: docs/adr/0002-plans-are-dry-runs.md.
    "compiler": {"network", "program", "circuits"},
    "lower": {"program", "rlwe"},
    # The executors of traces. A backend is written over this crate: docs/backends.md.
    # It executes streams of schedules too: docs/adr/0047-schedules-execute.md.
    "executor": {"exchange", "lower", "sim", "waves"},
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
    "palladion": {"client", "seal", "schemes", "compiler", "runtime", "evaluate", "sim"},
    "python": {
        "runtime",
        "inspect",
        "timing",
        "seal",
        "compiler",
        "applications",
        "schemes",
        "sim",
        "waves",
        "hybrid",
    },
}
# External crates that only some of our crates may use.
RESERVED = {"pyo3": {"python"}, "wasm-bindgen": {"wasm"}, "js-sys": {"wasm"}}
# The crates that may name a type which holds a secret. Every other crate belongs to the server, or
# to both halves.
MAY_HOLD_SECRETS = {
    *{"ring", "rlwe", "exact", "circuits"},
    *SCHEMES,
    *{"client", "seal", "wasm", "inspect", "timing", "python", "hybrid", "schemes", "palladion"},
}
# Words of crates that stand on no holder of secrets: they only look like such a type.
NAMESAKES = {"mpc": {"Client"}}  # a variant of `Role`
# The crates of a client in a browser, and what they may not use.
PORTABLE = {"exchange", "client", "seal", "wasm"}
SYSTEM = re.compile(r"\bstd::(?:env|fs|net|os|process|thread|time)\b")

# A row is a module, or a folder without the modules that have rows of their own.
PYTHON_STANDS_ON: dict[str, set[str]] = {
    "errors": set(),
    "_native": {"errors"},
    # Helpers, each with what it needs.
    "support": set(),
    "support.text": set(),
    "support.masks": set(),
    "support.records": set(),
    "support.events": {"errors"},
    "support.extras": {"errors"},
    "support.fetch": {"errors"},
    "support.image": {"errors"},
    "support.destination": {"errors", "support.text"},
    "support.files": {"support.destination"},
    "support.folders": {"support.files"},
    "support.reservations": set(),
    "support.memory": {"errors", "facts", "support.reservations", "support.text"},
    "support.seconds": {"_native"},
    "support.build": {"_native"},
    # How objects of the core are pickled.
    "support.copies": {"_native"},
    "nn": {"support.extras", "support.files", "support.masks", "support.records", "_native"},
    "data": {"nn"},
    "schemes": {"support.masks", "support.records", "_native"},
    "ckks": {"schemes"},
    "bfv": {"schemes"},
    "bgv": {"schemes"},
    "tfhe": {"schemes"},
    "circuit": {"ckks", "bfv", "bgv", "tfhe", "traces"},
    "levelled": {"circuit", "nn", "support.seconds"},
    # The facade, from its floor up: docs/python.md.
    "facts": {"schemes", "support.seconds", "support.text"},
    "runs": {"_native", "support.records"},
    "targets": {"cuda", "runs", "support.events", "xla"},
    "traces": {"support.files", "targets"},
    "choices": {"support.records"},
    "secret": {"support.files", "_native"},
    "key_files": {"secret", "support.records", "support.text"},
    "identity": {"key_files"},
    "manifest": {"deployment", "identity", "support.build"},
    "encryption": {"facts", "nn", "support.events"},
    "client": {"encryption", "key_files", "runs", "support.memory"},
    "deployment": {"choices", "client", "machines", "traces"},
    "search": {"deployment"},
    "hybrid": {"nn", "runs"},
    "model": {"deployment", "hybrid", "measure.inspected"},
    "machines": {"support.folders", "support.records", "_native"},
    "simulation": {"machines", "traces"},
    "measure.inspected": {"deployment"},
    "measure": {"data", "measure.inspected"},
    # Another machine for programs; only those who ask for it import it.
    "waves": {"errors", "_native"},
    "cuda": {"support.text", "waves"},
    "xla": {"circuit", "support.memory", "waves"},
    # A service and its clients: docs/adr/0043-the-service-is-a-database-and-a-store.md.
    "remote": {"client", "hybrid"},
    "service": {"support.extras", "support.records"},
    "service.settings": {"errors", "service"},
    "service.logs": {"service"},
    "service.tracing": {"service"},
    "service.open_inference": {"errors", "service"},
    "service.state": {"errors", "service"},
    "service.blobs": {"errors", "service"},
    "service.problems": {"service.blobs"},
    "service.tenants": {"service.problems", "service.settings", "service.state"},
    "service.models": {"deployment", "hybrid", "service.tenants"},
    "service.keys": {"key_files", "service.tenants"},
    "service.jobs": {"service.keys", "service.models"},
    "service.receipts": {"service", "support.files"},
    # The front relays them: nothing of the weights is in its memory.
    "service.sessions": {"service.models"},
    "service.assembly": {"service.jobs", "service.receipts", "service.sessions"},
    "service.worker": {"service.assembly", "service.logs", "service.tracing"},
    # Answers requests. It imports nothing that computes but the reading of queries.
    "service.front": {"service.open_inference", "service.worker"},
    "service.capacity": {"service.assembly", "service.open_inference"},
    "service.start": {"service.capacity", "service.front"},
    "accelerators": set(),
    "accelerators.sweeps": {"simulation"},
    "accelerators.pictures": {"accelerators.sweeps", "reproduce"},
    "accelerators.packing_trials": {"nn"},
    # Shapes alone: a model of time and energy, with no ciphertext.
    "accelerators.packing_model": {"nn", "schemes", "simulation"},
    "reproduce": {"accelerators.packing_model", "circuit", "hybrid", "measure", "xla"},
    "__main__": {"cli"},
    # Commands use the facade: not the core.
    "cli": {
        *{"accelerators.packing_trials", "accelerators.pictures", "manifest", "measure", "model"},
        "levelled",
        *{"remote", "search", "service.start", "support.fetch", "support.image"},
    },
    # The package's own names.
    "": {
        *{"bfv", "bgv", "circuit", "data", "model", "remote", "search", "simulation"},
        *{"support.build", "support.copies"},
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
        parts = path.relative_to(package).with_suffix("").parts
        layer = layer_of(".".join(parts))
        if layer == "" and parts != ("__init__",):
            faults.append(f"palladion.{parts[0]} is not in the table of {Path(__file__).name}")
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


def layer_of(module: str) -> str:
    """The row of a module, or of what it has: the longest that its name begins with."""
    parts = module.split(".")
    names = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((name for name in names if name in PYTHON_STANDS_ON), "")


def imported(path: Path) -> set[str]:
    """Layers of this package that a file imports. ``""`` stands for the package itself."""
    layers: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            first, _, rest = name.partition(".")
            if first == "palladion":
                layers.add(layer_of(rest))
    return layers


def main() -> None:
    faults = crates() + halves() + python()
    for fault in faults:
        print(fault, file=sys.stderr)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
