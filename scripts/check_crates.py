"""Check the crates that are linked in, without a network: licences, sources, denied names.

``scripts/check_crates.py`` compares ``cargo metadata`` with ``deny.toml``, and ``NOTICES.txt`` with
the licence texts of the crates that a wheel links in. On GitHub ``cargo deny`` and ``cargo audit``
check the same and the advisories. ``scripts/check_crates.py --notices`` writes ``NOTICES.txt``, and
``palladion.cdx.json``, the list of parts (SBOM) of a wheel: maturin's has the builder's paths.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
NOTICES = ROOT / "NOTICES.txt"
PARTS = ROOT / "palladion.cdx.json"
REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"
TEXTS = re.compile(r"(licen[cs]e|copying|notice|unlicense)", re.IGNORECASE)


def crates() -> list[dict[str, Any]]:
    """All crates of Cargo.lock that a build can use, without our own."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    found: list[dict[str, Any]] = json.loads(done.stdout)["packages"]
    return [crate for crate in found if crate["source"] is not None]


def linked(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of these crates those that a wheel links in, on any system."""
    command = ["cargo", "tree", "--package", "palladion-python", "--edges", "normal",
               "--target", "all", "--prefix", "none", "--format", "{p}", "--locked"]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
    names = {tuple(line.split()[:2]) for line in done.stdout.splitlines()}
    return [crate for crate in found if (crate["name"], f"v{crate['version']}") in names]


def is_allowed(licence: str, allowed: set[str]) -> bool:
    """Whether a licence expression can be met: one side of OR, both of AND."""
    terms = re.findall(r"\(|\)|[^\s()]+(?: WITH [^\s()]+)?", licence.replace("/", " OR "))
    words = {"OR": "or", "AND": "and", "(": "(", ")": ")"}
    stack: list[list[Any]] = [[]]
    for term in terms:
        if term == "(":
            stack.append([])
        elif term == ")":
            inner = stack.pop()
            stack[-1].append(value_of(inner))
        else:
            stack[-1].append(term if term in words else term in allowed)
    return value_of(stack[0])


def value_of(parts: list[Any]) -> bool:
    """The value of a list of values with OR and AND between them; AND binds more."""
    sides: list[list[bool]] = [[]]
    for part in parts:
        if part == "OR":
            sides.append([])
        elif part != "AND":
            sides[-1].append(bool(part))
    return any(side and all(side) for side in sides)


def rules() -> dict[str, Any]:
    """The contents of deny.toml."""
    toml = import_module("tomllib" if find_spec("tomllib") else "pip._vendor.tomli")
    found: dict[str, Any] = toml.loads((ROOT / "deny.toml").read_text(encoding="utf-8"))
    return found


def faults(found: list[dict[str, Any]], rule: dict[str, Any]) -> list[str]:
    """Crates that the rules do not admit, in words."""
    allowed = {*rule["licenses"]["allow"]}
    denied = {entry["crate"] for entry in rule["bans"]["deny"]}
    wrong = []
    for crate in found:
        name = f"{crate['name']} {crate['version']}"
        licence = crate["license"] or ""
        if not is_allowed(licence, allowed):
            wrong.append(f"{name}: licence {licence or 'none'}, expected one of deny.toml")
        if crate["source"] != REGISTRY:
            wrong.append(f"{name}: from {crate['source']}, expected crates.io")
        if crate["name"] in denied:
            wrong.append(f"{name}: denied by deny.toml")
    return wrong


def notices(found: list[dict[str, Any]]) -> str:
    """The licence texts of all crates, each text once."""
    users: dict[str, list[str]] = defaultdict(list)
    for crate in sorted(found, key=lambda crate: (crate["name"], crate["version"])):
        folder = Path(crate["manifest_path"]).parent
        name = f"{crate['name']} {crate['version']} ({crate['license']})"
        texts = [path for path in sorted(folder.iterdir()) if path.is_file()
                 and TEXTS.match(path.name)]  # fmt: skip
        for path in texts:
            users[path.read_text(encoding="utf-8", errors="replace").strip()].append(name)
        if not texts:
            users["No licence text is in the crate; the licence is named beside it."].append(name)
    parts = ["Palladion's compiled module contains these crates, under these licences."]
    for text, names in users.items():
        parts.append("\n".join(["=" * 80, *names, "-" * 80, text]))
    return "\n\n".join(parts) + "\n"


def parts(found: list[dict[str, Any]]) -> str:
    """The crates as an SBOM of CycloneDX 1.5, without a time: the same for the same Cargo.lock."""
    toml = import_module("tomllib" if find_spec("tomllib") else "pip._vendor.tomli")
    lock = toml.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    sums = {(one["name"], one["version"]): one.get("checksum") for one in lock}
    version = next(one["version"] for one in lock if one["name"] == "palladion-python")
    components = [
        {
            "type": "library",
            "bom-ref": f"pkg:cargo/{crate['name']}@{crate['version']}",
            "name": crate["name"],
            "version": crate["version"],
            "hashes": [{"alg": "SHA-256", "content": sums[crate["name"], crate["version"]]}],
            "licenses": [{"expression": (crate["license"] or "").replace("/", " OR ")}],
            "purl": f"pkg:cargo/{crate['name']}@{crate['version']}",
        }
        for crate in sorted(found, key=lambda crate: (crate["name"], crate["version"]))
    ]
    own = {"type": "application", "bom-ref": "palladion", "name": "palladion", "version": version,
           "licenses": [{"expression": "Apache-2.0"}],
           "purl": f"pkg:pypi/palladion@{version}"}  # fmt: skip
    bom = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
           "metadata": {"component": own}, "components": components}  # fmt: skip
    return json.dumps(bom, indent=1) + "\n"


def main(arguments: list[str]) -> None:
    """Check, or write the notices."""
    found = crates()
    if arguments[:1] == ["--notices"]:
        NOTICES.write_text(notices(linked(found)), encoding="utf-8")
        PARTS.write_text(parts(linked(found)), encoding="utf-8")
        return
    versions = defaultdict(list)
    for crate in found:
        versions[crate["name"]].append(crate["version"])
    twice = {name: sorted(all_) for name, all_ in versions.items() if len(all_) > 1}
    print(f"{len(found)} crates; in several versions: {len(twice)}: {', '.join(sorted(twice))}")
    wrong = faults(found, rules())
    if NOTICES.read_text(encoding="utf-8") != notices(linked(found)):
        wrong.append(f"{NOTICES.name} is not of these crates: write it with --notices")
    if PARTS.read_text(encoding="utf-8") != parts(linked(found)):
        wrong.append(f"{PARTS.name} is not of these crates: write it with --notices")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main(sys.argv[1:])
