"""Counts of what makes code hard to find and to read, each with a limit that may only fall.

python scripts/structure.py           # the counts
python scripts/structure.py --list    # and where they are
python scripts/structure.py --check   # fails if a count is above its limit
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent

LIMITS: dict[str, int] = {
    "type names of three crates or more": 21,
    "tuples of equal types as parameters": 69,
    "files above 500 lines": 10,
    "crates with circles of files": 17,
    "lines with [str, Any]": 27,
    "comments wider than 100 columns": 0,
    "comments that begin with What, Those or So": 0,
    "functions of participles in the quantiser": 0,
}


def rust() -> list[Path]:
    """The sources of all crates, without tests."""
    files = sorted(ROOT.glob("crates/*/src/**/*.rs"))
    return [f for f in files if f.stem != "tests" and "tests" not in f.parts]


def code(path: Path) -> str:
    """A source of Rust without comments and test modules."""
    text = path.read_text(encoding="utf-8").split("#[cfg(test)]")[0]
    return re.sub(r"//.*", "", text)


def python() -> list[Path]:
    """The sources of the package."""
    return sorted(ROOT.glob("python/palladion/**/*.py"))


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def type_names() -> list[str]:
    """Names of public types that three crates or more declare."""
    crates = defaultdict(set)
    for path in rust():
        for name in re.findall(r"^pub (?:struct|enum|trait|type) (\w+)", code(path), re.MULTILINE):
            crates[name].add(path.relative_to(ROOT).parts[1])
    common = {"Error", "Result"}
    many = {name: of for name, of in crates.items() if len(of) > 2 and name not in common}
    return [f"{name}: {', '.join(sorted(of))}" for name, of in sorted(many.items())]


def tuples() -> list[str]:
    """Parameters of functions that are tuples with two equal types."""
    places = []
    for path in rust():
        for name, parameters in re.findall(r"\bfn (\w+)(?:<[^(]*>)?\(([^{;]*?)\)\s*(?:->|\{|where)",
                                           code(path)):  # fmt: skip
            for inner in re.findall(r":\s*\(([^()]*)\)", parameters):
                types = [part.strip() for part in inner.split(",") if part.strip()]
                if len(types) > len(set(types)):
                    places.append(f"{shown(path)} {name}: ({inner})")
    return places


def long_files() -> list[str]:
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in rust() + python()}
    return [f"{shown(path)}: {count}" for path, count in lines.items() if count > 500]


def circles() -> list[str]:
    """Crates whose top modules use each other in a circle."""
    found = []
    for crate in sorted({path.relative_to(ROOT).parts[1] for path in rust()}):
        source = ROOT / "crates" / crate / "src"
        uses: dict[str, set[str]] = defaultdict(set)
        for path in rust():
            if not path.is_relative_to(source):
                continue
            own = path.relative_to(source).parts[0].removesuffix(".rs")
            if own in {"lib", "error"}:
                continue
            text = re.sub(r"(?:crate::\w+::)?Error", "", code(path))
            uses[own] |= set(re.findall(r"\bcrate::(\w+)::", text)) - {own, "error"}
        circle = sorted(name for name in uses if name in reached(uses, name))
        if circle:
            found.append(f"{crate}: {', '.join(circle)}")
    return found


def reached(uses: dict[str, set[str]], start: str) -> set[str]:
    """The modules that a module uses, and all that these use."""
    seen: set[str] = set()
    waiting = list(uses[start])
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += uses.get(name, set())
    return seen


def any_dicts() -> list[str]:
    return lines_with(python(), re.compile(r"\[str, Any\]"))


def wide_comments() -> list[str]:
    files = rust()
    return [place for place in lines_with(files, re.compile(r"^\s*//.{99,}$")) if place]


def riddles() -> list[str]:
    begins = re.compile(r'^\s*(?:///|//!|"""|#) ?(?:What|Those|So many)\b')
    return lines_with(rust() + python(), begins)


def participles() -> list[str]:
    words = "added_up|fitted|occurring|made|reached|between|apart|on|last|room|middle|multiplied"
    files = sorted(ROOT.glob("python/palladion/nn/quantisation/**/*.py"))
    return lines_with(files, re.compile(rf"^\s*def (?:{words})\("))


def lines_with(files: list[Path], pattern: re.Pattern[str]) -> list[str]:
    places = []
    for path in files:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if pattern.search(line):
                places.append(f"{shown(path)}:{number}: {line.strip()[:100]}")
    return places


COUNTS: dict[str, Callable[[], list[str]]] = {
    "type names of three crates or more": type_names,
    "tuples of equal types as parameters": tuples,
    "files above 500 lines": long_files,
    "crates with circles of files": circles,
    "lines with [str, Any]": any_dicts,
    "comments wider than 100 columns": wide_comments,
    "comments that begin with What, Those or So": riddles,
    "functions of participles in the quantiser": participles,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--list", action="store_true", help="also print the places")
    parser.add_argument("--check", action="store_true", help="fail above a limit")
    options = parser.parse_args()
    above = 0
    for name, count in COUNTS.items():
        places = count()
        print(f"{len(places):6} {name}, at most {LIMITS[name]}")
        if options.list:
            print("".join(f"         {place}\n" for place in places), end="")
        above += len(places) > LIMITS[name]
    sys.exit(bool(options.check and above))


if __name__ == "__main__":
    main()
