"""What a build says of itself, its commit and its version, and what a release must agree in."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import palladion
import pytest

from tests.conftest import Command

ROOT = Path(__file__).parent.parent
COMMIT = re.compile(r"unknown|[0-9a-f]{12}(\+changes)?")


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The build script of crates/python, compiled."""
    path = tmp_path_factory.mktemp("script") / "build"
    source = ROOT / "crates" / "python" / "build.rs"
    subprocess.run(["rustc", "--edition", "2024", "-o", path, source], check=True)
    return path


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with one commit, of the files that the script looks for."""
    root = tmp_path / "checkout"
    (root / "crates" / "python" / "src").mkdir(parents=True)
    (root / "Cargo.toml").write_text("")
    git(root, "init", "--quiet")
    git(root, "add", "Cargo.toml")
    commit(root)
    return root


def git(root: Path, *arguments: str) -> str:
    """The output of git."""
    line = ["git", "-c", "user.name=n", "-c", "user.email=e", *arguments]
    return subprocess.run(line, cwd=root, capture_output=True, text=True, check=True).stdout.strip()


def commit(root: Path) -> str:
    """Commit, and return 12 digits of the commit."""
    git(root, "commit", "--quiet", "--allow-empty", "--all", "--message", "m")
    return git(root, "rev-parse", "--short=12", "HEAD")


def lines_of(script: Path, root: Path, stated: str | None = None) -> list[str]:
    """What the script tells Cargo."""
    env = {**os.environ, "CARGO_MANIFEST_DIR": str(root / "crates" / "python")}
    env.pop("PALLADION_COMMIT", None)
    if stated is not None:
        env["PALLADION_COMMIT"] = stated
    done = subprocess.run([script], env=env, capture_output=True, text=True, check=True)
    return [line.removeprefix("cargo::") for line in done.stdout.splitlines()]


def built_of(script: Path, root: Path, stated: str | None = None) -> str:
    """The commit that the script gives the module."""
    lines = lines_of(script, root, stated)
    (name,) = [line for line in lines if line.startswith("rustc-env=")]
    return name.removeprefix("rustc-env=PALLADION_BUILT_OF=")


def test_a_build_in_a_checkout_names_its_commit(script: Path, checkout: Path) -> None:
    head = git(checkout, "rev-parse", "--short=12", "HEAD")
    assert built_of(script, checkout) == head
    (checkout / "untracked").write_text("")
    assert built_of(script, checkout) == head
    (checkout / "Cargo.toml").write_text("changed")
    assert built_of(script, checkout) == f"{head}+changes"
    later = commit(checkout)
    assert later != head
    assert built_of(script, checkout) == later


def test_cargo_asks_again_after_a_commit_and_after_a_change(script: Path, checkout: Path) -> None:
    """Each path exists: Cargo would run the script every time for one that does not."""
    watched = {
        Path(line.removeprefix("rerun-if-changed="))
        for line in lines_of(script, checkout)
        if line.startswith("rerun-if-changed=")
    }
    assert all(path.exists() for path in watched)
    log = checkout / ".git" / "logs" / "HEAD"
    names = {path.resolve().relative_to(checkout).as_posix() for path in watched}
    assert names == {"crates/python/src", "Cargo.toml", ".git/logs/HEAD"}
    before = log.stat().st_size
    commit(checkout)
    assert log.stat().st_size > before


def test_a_stated_commit_is_taken_and_a_wrong_one_is_refused(script: Path, checkout: Path) -> None:
    assert built_of(script, checkout, "0123456789abcdef0123456789abcdef01234567") == "0123456789ab"
    assert built_of(script, checkout, "0123456789ab+changes") == "0123456789ab+changes"
    assert COMMIT.fullmatch(built_of(script, checkout, ""))
    for wrong in ("v0.2.0", "0123456", "0123456789ab+", "é123456789ab"):
        lines = lines_of(script, checkout, wrong)
        assert not [line for line in lines if line.startswith("rustc-env=")]
        (error,) = [line for line in lines if line.startswith("error=")]
        assert wrong in error
        assert "set PALLADION_COMMIT" in error


def test_a_source_distribution_keeps_the_commit_wherever_it_is_unpacked(
    script: Path, checkout: Path
) -> None:
    unpacked = checkout / "unpacked"
    (unpacked / "crates" / "python").mkdir(parents=True)
    assert built_of(script, unpacked) == "unknown"
    (unpacked / "COMMIT").write_text("0123456789ab\n")
    assert built_of(script, unpacked) == "0123456789ab"


def test_the_version_and_the_commit_are_shown(command: Command) -> None:
    assert COMMIT.fullmatch(palladion.__commit__)
    shown = command("--version").stdout
    assert shown == f"palladion, version {palladion.__version__}, commit {palladion.__commit__}\n"
    assert json.loads(command("info", "--json").stdout)["commit"] == palladion.__commit__


VERSIONED = (
    "Cargo.toml",
    "Cargo.lock",
    "tests/outside/Cargo.lock",
    "bench/Cargo.lock",
    "pyproject.toml",
    "palladion.cdx.json",
    "CHANGELOG.md",
    "scripts/check_release.py",
    "scripts/check_wheels.py",
)
"""What the check of a release reads."""

VERSION = re.findall(r'(?m)^version = "(.*)"', (ROOT / "Cargo.toml").read_text())[0]
SECTION = re.findall(rf"## \[{re.escape(VERSION)}\].*", (ROOT / "CHANGELOG.md").read_text())[0]


def wrong_with(root: Path, *tag: str) -> str:
    """What the check of a release says of a folder."""
    line = [sys.executable, str(root / "scripts" / "check_release.py"), *tag]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert bool(done.returncode) == bool(done.stderr)
    return done.stderr


def copied(root: Path) -> Path:
    """A copy of what the check reads."""
    for name in VERSIONED:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    return root


def test_everything_has_one_version() -> None:
    assert not wrong_with(ROOT)
    assert "the tag is v9.9.9" in wrong_with(ROOT, "v9.9.9")


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("Cargo.toml", f'version = "{VERSION}"', 'version = "9.9.9"'),
        *(
            (name, f'name = "palladion-rlwe"\nversion = "{VERSION}"',
             'name = "palladion-rlwe"\nversion = "9.9.9"')
            for name in VERSIONED[1:4]
        ),
        ("pyproject.toml", 'dynamic = ["version"]', 'version = "9.9.9"'),
        ("palladion.cdx.json", f'"version": "{VERSION}"', '"version": "9.9.9"'),
        ("CHANGELOG.md", SECTION, "## [9.9.9] - 2030-01-01"),
        ("CHANGELOG.md", SECTION, f"## [{VERSION}] - soon"),
        ("CHANGELOG.md", SECTION, f"{SECTION}\n## [0.0.1] - 2020-01-01"),
    ],
)  # fmt: skip
def test_another_version_anywhere_is_refused(tmp_path: Path, name: str, old: str, new: str) -> None:
    root = copied(tmp_path)
    text = (root / name).read_text()
    assert old in text
    (root / name).write_text(text.replace(old, new, 1))
    assert name in wrong_with(root)


def test_a_tag_releases_no_lines_that_have_no_version(tmp_path: Path) -> None:
    root = copied(tmp_path)
    log = root / "CHANGELOG.md"
    text = re.sub(r"## \[Unreleased\]\n(?s:.*?)(?=\n## )", "## [Unreleased]\n", log.read_text())
    log.write_text(text)
    assert not wrong_with(root, f"v{VERSION}")
    log.write_text(text.replace("## [Unreleased]\n", "## [Unreleased]\n- Something new.\n"))
    assert not wrong_with(root)
    assert "under Unreleased" in wrong_with(root, f"v{VERSION}")


def test_the_workflow_publishes_as_many_wheels_as_it_builds() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    build = text[text.index("\n  build:") : text.index("\n  install:")]
    runners = re.findall(r"runner: \[(.*)\]", build)[0].split(",")
    musl = re.findall(r"musl: (\w+)-unknown-linux-musl", build)
    assert musl == ["x86_64", "aarch64"]
    (published,) = re.findall(r'ls wheels/\*\.whl \| wc -l\)" -eq (\d+)', text)
    assert int(published) == len(runners) + len(musl)


def test_actions_are_pinned_and_only_publishing_may_write() -> None:
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        text = path.read_text()
        for used in re.findall(r"uses: (.*)", text):
            assert re.match(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d", used), used
        writing = re.findall(r"^ +[\w-]+: write", text.partition("\n  publish:")[0], re.MULTILINE)
        assert not writing, path
