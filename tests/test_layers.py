"""The check of layers finds what it is there to find."""

from __future__ import annotations

import sys
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))

import check_calls
import check_layers


def secret_types() -> set[str]:
    crates = check_layers.MAY_HOLD_SECRETS
    texts = [text for crate in crates for text in check_layers.sources(crate).values()]
    return check_layers.secret_types(texts)


def test_the_types_that_hold_secrets_are_known() -> None:
    known = {
        "SecretKey",
        "LweSecret",
        "GlweSecret",
        "ClientKey",
        "ClientKeys",
        "Client",
        "Inspector",
    }
    assert known <= secret_types()
    public = {"PublicKey", "SwitchKey", "GaloisKeys", "EvaluationKeys", "PackingKey", "ServerKey"}
    assert not public & secret_types()


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("pub struct Key { bits: Zeroizing<Vec<i64>> }", {"Key"}),
        ("pub struct Held(Inner);\nstruct Inner {\n    s: Zeroizing<u8>,\n}", {"Held"}),
        (
            "pub enum Either {\n    None,\n    One(Key),\n}\npub struct Key(Zeroizing<u8>);",
            {"Either", "Key"},
        ),
        ("pub struct Server<'a> {\n    keys: &'a EvaluationKeys,\n}", set()),
        ("pub enum Error {\n    Key(key::Error),\n}\npub struct Key(Zeroizing<u8>);", {"Key"}),
    ],
)
def test_what_holds_a_secret(source: str, found: set[str]) -> None:
    assert check_layers.secret_types([source]) == found


@pytest.mark.parametrize("crate", ["runtime", "exchange", "lower", "program", "compiler", "sim"])
def test_a_secret_in_the_servers_crates_is_a_fault(
    crate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check_layers.halves() == []
    assert crate not in check_layers.MAY_HOLD_SECRETS
    true_sources = check_layers.sources
    path = check_layers.ROOT / "crates" / crate / "src" / "held.rs"

    def with_a_secret(name: str) -> dict[Path, str]:
        more = {path: "struct Held { secret: rlwe::SecretKey }"} if name == crate else {}
        return true_sources(name) | more

    monkeypatch.setattr(check_layers, "sources", with_a_secret)
    place = path.relative_to(check_layers.ROOT)
    assert check_layers.halves() == [f"{place} names SecretKey, which holds a secret"]


def test_the_client_asks_the_system_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    path = check_layers.ROOT / "crates" / "client" / "src" / "file.rs"
    monkeypatch.setattr(
        check_layers,
        "sources",
        lambda crate: {path: "use std::fs::File;"} if crate == "client" else {},
    )
    assert check_layers.halves() == [f"{path.relative_to(check_layers.ROOT)} uses std::fs"]


def test_the_halves_do_not_meet_below_those_who_hold_both() -> None:
    table = check_layers.STANDS_ON
    under_client = check_layers.beneath(table, "client")
    assert under_client == {
        *{"exchange", "bfv", "exact", "rlwe", "ring", "kernels", "program", "trace"}
    }
    assert "client" not in check_layers.beneath(table, "runtime")
    both = {name for name in table if {"client", "runtime"} <= check_layers.beneath(table, name)}
    assert both == {"inspect", "palladion", "python"}


def test_a_vector_instruction_behind_a_call_is_found() -> None:
    module = """
    1000:\tcall   2000 <forwarder>
    1005:\tcall   3000 <search>
    100a:\tcall   4000 <narrow>
    100f:\tcall   2000 <forwarder>
    2000:\tvmovapd (%rsi),%ymm0
    2004:\tvmulpd (%rdx),%ymm0,%ymm0
    2008:\tvmovapd %ymm0,(%rdi)
    200c:\tvzeroupper
    200f:\tret
    3000:\tvmovdqa (%rdi),%ymm0
    3004:\tje     3000 <search>
    3008:\tret
    4000:\tmov    (%rdi),%rax
    4004:\tret
    """
    (found,) = check_calls.forwarders(module.splitlines())
    assert found.startswith("2 calls of the function at 0x2000: vmovapd")


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("from palladion import _native", "imports palladion._native"),
        ("import palladion._native as core", "imports palladion._native"),
        ("print(program.native)", "uses an object of the core"),
        ("from palladion import CompiledModel", None),
    ],
)
def test_commands_use_the_facade_alone(
    line: str, fault: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check_layers.python() == []
    commands = tmp_path / "python" / "palladion" / "cli"
    commands.mkdir(parents=True)
    (commands / "new.py").write_text(f"{line}\n")
    monkeypatch.setattr(check_layers, "ROOT", tmp_path)
    expected = [] if fault is None else [f"python/palladion/cli/new.py {fault}"]
    assert check_layers.python() == expected


PACKAGE = check_layers.ROOT / "python" / "palladion"
API = {
    *{"bfv", "bgv", "choices", "ckks", "client", "deployment", "errors", "facts", "machines"},
    *{
        "encryption",
        "identity",
        "key_files",
        "manifest",
        "model",
        "runs",
        "search",
        "secret",
        "simulation",
        "targets",
        "tfhe",
        "traces",
    },
}
"""Modules that users import, or whose types they meet."""
FOLDERS = {
    *{
        "circuit",
        "cuda",
        "hybrid",
        "levelled",
        "measure",
        "schemes",
        "waves",
        "xla",
    },  # more of the API
    *{"accelerators", "cli", "data", "nn", "remote", "reproduce", "service", "support"},
}


def test_the_top_of_the_package_is_the_api() -> None:
    listing = {path.stem for path in PACKAGE.glob("*.py")}
    assert listing == API | {"__init__", "__main__"}
    folders = {path.parent.name for path in PACKAGE.glob("*/*.py")}
    assert folders == FOLDERS
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == FOLDERS


def namesakes(package: Path) -> list[str]:
    """Files with the name of one in a neighbouring folder: the parent, or another of the parent.

    A command's file has the command's name, and a paper's files those of its tables.
    """
    folders: dict[Path, set[str]] = defaultdict(set)
    for path in sorted(package.rglob("*.py")):
        if path.stem not in {"__init__", "__main__"}:
            folders[path.parent.relative_to(package)].add(path.name)
    pairs = [(folder, folder.parent) for folder in folders if folder != Path()]
    pairs += [pair for pair in combinations(folders, 2) if pair[0].parent == pair[1].parent]
    return [
        f"{first / name} and {second / name}"
        for first, second in pairs
        if Path("cli") not in (first, second)
        if not first.parent == second.parent == Path("reproduce")
        for name in sorted(folders[first] & folders.get(second, set()))
    ]


def test_neighbouring_folders_have_no_file_of_one_name(tmp_path: Path) -> None:
    assert namesakes(PACKAGE) == []
    for name in ("a/one.py", "b/one.py", "b/c/one.py", "b/c/two.py", "a/two.py", "cli/one.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert namesakes(tmp_path) == ["b/c/one.py and b/one.py", "a/one.py and b/one.py"]


def test_the_check_of_layers_reads_every_form_of_an_import(tmp_path: Path) -> None:
    path = tmp_path / "new.py"
    path.write_text(
        "import palladion\n"
        "from palladion import Model, ckks\n"
        "from palladion.support import files, text as words\n"
        "from palladion.nn.importer import load\n"
        "import palladion.support.memory\n"
    )
    layers = {"", "ckks", "support.files", "support.text", "nn", "support.memory"}
    assert check_layers.imported(path) == layers
