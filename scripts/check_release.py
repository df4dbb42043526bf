"""Check that everything which has the version has the same one, without a network.

``scripts/check_release.py`` compares Cargo.toml, the lock files, pyproject.toml, palladion.cdx.json
and CHANGELOG.md. ``scripts/check_release.py TAG`` also compares a tag, which must be ``vX.Y.Z``. It
refuses a tag while lines of the changelog are still under Unreleased.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from check_wheels import read_toml

ROOT = Path(__file__).parent.parent
LOCKS = ("Cargo.lock", "tests/outside/Cargo.lock", "bench/Cargo.lock")
OTHERS = re.compile(r"palladion-bench-\w+")
"""Crates of bench, whose versions are their own."""
SECTION = re.compile(r"^## \[(.+?)\](.*)$", re.MULTILINE)


def versions_of(lock: dict[str, Any]) -> set[str]:
    """The versions that a lock file has of our crates."""
    return {
        one["version"] for one in lock["package"]
        if re.match(r"palladion\b", one["name"]) and not OTHERS.fullmatch(one["name"])
    }  # fmt: skip


def faults_of_changelog(text: str, version: str, tagged: bool) -> list[str]:
    """What is wrong with the changelog of a version, in words."""
    sections = list(SECTION.finditer(text))
    names = [section[1] for section in sections]
    if names[:2] != ["Unreleased", version]:
        return [f"CHANGELOG.md begins with {names[:2]}, expected Unreleased and then {version}"]
    ends = [section.start() for section in sections[1:]] + [len(text)]
    waiting, released = (text[sections[i].end() : ends[i]].strip() for i in range(2))
    faults = []
    if not re.fullmatch(r" - \d{4}-\d\d-\d\d", sections[1][2]):
        faults.append(
            f"CHANGELOG.md has `{sections[1][0]}`, expected `## [{version}] - YYYY-MM-DD`"
        )
    if not released:
        faults.append(f"CHANGELOG.md says nothing of {version}")
    if tagged and waiting:
        faults.append("CHANGELOG.md has lines under Unreleased: a tag releases them, so move them")
    return faults


def faults(tag: str | None) -> list[str]:
    """What disagrees with the version of Cargo.toml, in words."""
    version = read_toml("Cargo.toml")["workspace"]["package"]["version"]
    parts = json.loads((ROOT / "palladion.cdx.json").read_text(encoding="utf-8"))
    found = {name: versions_of(read_toml(name)) for name in LOCKS}
    found["palladion.cdx.json"] = {parts["metadata"]["component"]["version"]}
    wrong = [
        f"{name} has {sorted(versions)}, Cargo.toml has {version}"
        for name, versions in found.items()
        if versions != {version}
    ]
    if read_toml("pyproject.toml")["project"].get("dynamic") != ["version"]:
        wrong.append("pyproject.toml has a version: maturin takes it from Cargo.toml")
    if tag is not None and tag != f"v{version}":
        wrong.append(f"the tag is {tag}, Cargo.toml has {version}: expected v{version}")
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    return wrong + faults_of_changelog(text, version, tagged=tag is not None)


if __name__ == "__main__":
    if wrong := faults(sys.argv[1] if sys.argv[1:] else None):
        sys.exit("\n".join(wrong))
