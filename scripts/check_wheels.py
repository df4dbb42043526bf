"""Check that the wheel and the source distribution install and work in fresh environments.

check_wheels.py FOLDER [PYTHON ... | --audit]

FOLDER has one wheel, a source distribution, or both, as ``make wheel`` creates them. PYTHON is a
version such as 3.10, which is searched on PATH and among pyenv's versions, or ``this`` for the
interpreter that runs the script. The default is 3.10 and 3.13. A version that this machine lacks is
reported, but is not a failure. On Linux the wheel must fit manylinux2014, according to the
auditwheel that ``make wheel`` installs beside .venv/bin/python. With ``--audit`` only this is
checked.

``make wheel`` compiles its source distribution from scratch. If ``make build`` has the same source,
an installation of the source distribution uses its compiled files."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
VERSIONS = ["3.10", "3.13"]  # the oldest and the newest that pyproject.toml names
SOURCES = {"", ".cu", ".lock", ".md", ".py", ".pyi", ".rs", ".toml", ".typed"}
"""Endings of files in the source distribution, except those of ``DATA``."""
DATA = (
    r"data/\w+\.(json|npz)|accelerators/packing_model/(machines|networks)/\w+\.json|sets\.json"
    r"|service/page/\w+\.(css|html|js|svg|wasm)"
)
"""Files of the package that are no sources."""
LARGEST = 2_700_000
"""Largest size of a source distribution in bytes: two megabytes, the page, and reserve."""


def fail(message: str) -> None:
    """Exit with a message."""
    sys.exit(f"check_wheels: {message}")


def run(*command: str | Path, env: dict[str, str] | None = None, cwd: Path | None = None) -> str:
    """The output of a command. If it fails, print all of its output and exit."""
    result = subprocess.run(
        [str(part) for part in command],
        capture_output=True, text=True, encoding="utf-8", env=env, cwd=cwd, check=False,
    )  # fmt: skip
    if result.returncode:
        fail(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


# In the checkout.


def find(version: str) -> Path | None:
    """The interpreter of a version, or ``None`` if this machine has none."""
    if version == "this":
        return Path(sys.executable)
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    patches = sorted(
        pyenv.glob(f"{version}.*/bin/python"), key=lambda path: numbers(path.parts[-3])
    )
    for candidate in (shutil.which(f"python{version}"), *reversed(patches)):
        question = "import sys; print('%d.%d' % sys.version_info[:2])"
        # A shim of pyenv is on PATH even if its version is not in use. Then it fails.
        if candidate and said([str(candidate), "-c", question]) == version:
            return Path(candidate)
    return None


def numbers(version: str) -> list[int]:
    """``3.10.13`` as numbers, for sorting."""
    return [int(part) for part in re.findall(r"\d+", version)]


def said(command: list[str]) -> str:
    """The output of a command, or an empty text if it fails."""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def audit(wheel: Path) -> None:
    """Check that a wheel for Linux fits manylinux2014: its glibc and its libraries.

    For musl the name says musllinux 1.2, and maturin has checked the libraries.
    """
    if "musllinux" in wheel.name:
        tag = f"musllinux_1_2_{platform.machine()}"
        if tag not in wheel.name:
            fail(f"{wheel.name}: expected a wheel for {tag}")
        print(f"{wheel.name}: its name fits {tag}, its libraries are NOT CHECKED here")
        return
    if find_spec("auditwheel") is None:
        print("auditwheel: NOT RUN, this Python has none")
        return
    verdict = " ".join(run(sys.executable, "-m", "auditwheel", "show", wheel).split())
    fits = re.search(r'following platform tag: "(\w+)"', verdict)
    expected = f"manylinux_2_17_{platform.machine()}"
    if not fits or fits[1] != expected or expected not in wheel.name:
        fail(f"expected a wheel for {expected}, auditwheel says:\n{verdict}")
    print(f"auditwheel: {wheel.name} is consistent with {expected}")


def check_contents(archive: Path) -> None:
    """Check that the source distribution has everything that a build needs, and nothing else."""
    import tarfile

    with tarfile.open(archive) as opened:
        names = [member.name.partition("/")[2] for member in opened.getmembers() if member.isfile()]
    needed = {"COMMIT", "Cargo.lock", "Cargo.toml", "LICENSE", "NOTICES.txt", "README.md",
              "palladion.cdx.json", "pyproject.toml"}  # fmt: skip
    missing = needed - {*names}
    allowed = re.compile(
        rf"NOTICES\.txt|palladion\.cdx\.json|crates/schemes/sets\.json|python/palladion/({DATA})"
        r"|crates/sim/src/spatial/array/emit/source/.*"
    )
    strays = [
        name for name in names
        if not allowed.fullmatch(name)
        and (Path(name).suffix not in SOURCES or re.match(r"(bench|models|target|tests)/", name)
             or re.match(r"crates/\w+/(tests|examples)/", name))
    ]  # fmt: skip
    size = archive.stat().st_size
    if missing or strays or size > LARGEST:
        fail(f"{archive.name}: missing {missing}, strays {strays}, {size} bytes of {LARGEST}")
    print(f"{archive.name}: {len(names)} files, {size / 1e6:.2f} MB")


def is_built(folder: Path) -> bool:
    """Whether ``make build`` and ``make wheel`` match the current source, and this is their wheel.

    Cargo compares sources by date, and those in a source distribution are always old. So it would
    use objects of other source as if they were its own.
    """
    if folder.resolve() != ROOT / "wheels" or shutil.which("make") is None:
        return False
    line = ["make", "--question", ".venv/built", "wheels/built"]
    return subprocess.run(line, cwd=ROOT, capture_output=True, check=False).returncode == 0


def environment(target: Path) -> dict[str, str]:
    """The environment for an installation that may compile, in a folder that others have used.

    Maturin passes the interpreter to PyO3 in a file whose name has the interpreter's version. For
    an abi3 module the content is the same for all versions. So the file of the first is named, and
    the same code is not compiled again.
    """
    env = {
        key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "RUSTFLAGS")
    }
    env["CARGO_TARGET_DIR"] = str(target)
    ours = "-{}.{}-".format(*sys.version_info)  # of .venv, and so of `make build`
    found = sorted(target.glob("maturin/pyo3-config-*-abi3.txt"), key=lambda p: ours not in p.name)
    if found:
        env["PYO3_CONFIG_FILE"] = str(found[0])
    return env


def check(interpreter: Path, distribution: Path, target: Path) -> None:
    """Install a distribution in a fresh environment, and test it there."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        run(interpreter, "-m", "venv", home / "venv")
        scripts = home / "venv" / ("Scripts" if os.name == "nt" else "bin")
        python, command = scripts / "python", scripts / "palladion"
        # Never a wheel that pip made from another source distribution of the same name.
        source = ["--no-binary", "palladion"] if distribution.suffix == ".gz" else []
        run(
            python, "-m", "pip", "--disable-pip-version-check", "install", *source, distribution,
            env=environment(target), cwd=home,
        )  # fmt: skip
        env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        # Isolated mode: nothing of the checkout is on the path.
        here, expected = Path(__file__).resolve(), declared()
        said = run(python, "-I", here, "--inside", json.dumps(expected), env=env, cwd=home)
        if "Usage: palladion" not in run(command, "--help", env=env, cwd=home):
            fail("palladion --help does not say how it is used")
        info = json.loads(run(command, "info", "--json", env=env, cwd=home))
        if info["version"] != expected["version"]:
            fail(f"palladion info: version {info['version']}")
        if info["commit"] == "unknown":
            fail("palladion info: the build did not know its commit")
    kind = "source" if source else "wheel"
    found = f"{said.strip()}; kernels {info['kernels']}; {time.monotonic() - began:.0f} s"
    print(f"python {info['python']}, {kind}: {found}", flush=True)


def read_toml(name: str) -> dict[str, Any]:
    """The contents of a TOML file of the checkout."""
    # Python 3.10 has no tomllib, but its pip has a copy.
    toml = import_module("tomllib" if find_spec("tomllib") else "pip._vendor.tomli")
    found: dict[str, Any] = toml.loads((ROOT / name).read_text(encoding="utf-8"))
    return found


def declared() -> dict[str, Any]:
    """The data about the package in Cargo.toml and pyproject.toml."""
    project = read_toml("pyproject.toml")["project"]
    return {
        "version": read_toml("Cargo.toml")["workspace"]["package"]["version"],
        "requires-python": project["requires-python"],
        "dependencies": project["dependencies"],
        "extras": sorted(project["optional-dependencies"]),
    }


# In the environment.


def inside(expected: dict[str, Any]) -> None:
    """Check the installed package: its metadata, its files, and a computation."""
    check_metadata(expected)
    check_files()
    print(check_use(), end="")


def check_metadata(expected: dict[str, Any]) -> None:
    """Compare the metadata with Cargo.toml and pyproject.toml."""
    from importlib.metadata import metadata

    found = metadata("palladion")
    requirements = [line for line in found.get_all("Requires-Dist", []) if "extra ==" not in line]
    plain = {
        "version": found["Version"],
        "requires-python": found["Requires-Python"],
        "dependencies": sorted(map(unquoted, requirements)),
        "extras": sorted(found.get_all("Provides-Extra", [])),
    }
    wanted = expected | {"dependencies": sorted(map(unquoted, expected["dependencies"]))}
    if plain != wanted:
        fail(f"metadata: found {plain}, expected {wanted}")


def unquoted(requirement: str) -> str:
    """A requirement without parts that may be written in several ways: blanks and quotes."""
    return re.sub(r"[\s'\"]", "", requirement)


def check_files() -> None:
    """Check that the package, its metadata and its command are there, no test, nothing else."""
    from importlib.metadata import files

    names = [path.as_posix() for path in files("palladion") or []]
    ours = re.compile(
        r"palladion/(\w+/)*(\w+\.(cu|pyi?)|__pycache__/.*\.pyc|py\.typed|_native(\.abi3)?\.(so|pyd))"
        rf"|palladion/({DATA})"
        r"|palladion-[^/]+\.dist-info/.*|(\.\./)+(bin|Scripts)/palladion(\.exe)?"
    )
    strays = [name for name in names if not ours.fullmatch(name) or re.search(r"\btests?\b", name)]
    needed = {
        "palladion/cuda/kernels.cu",
        "palladion/py.typed",
        "palladion/_native.pyi",
        "palladion/data/mnist.json",
    }
    if not any(name.endswith(".dist-info/licenses/NOTICES.txt") for name in names):
        fail("files: the licences of the crates that are linked in are missing")
    lists = [path for path in files("palladion") or [] if "/sboms/" in path.as_posix()]
    if not lists or any("file://" in path.read_text(encoding="utf-8") for path in lists):
        fail(f"files: {len(lists)} lists of parts, expected one, without paths of a machine")
    if strays or needed - {*names}:
        fail(f"files: strays {strays}, missing {needed - {*names}}")


def check_use() -> str:
    """Run the packaged network in the clear by the public API, and a product of ciphertexts."""
    import numpy as np
    import palladion

    place = Path(palladion.__file__)
    if "site-packages" not in place.parts:
        fail(f"palladion was imported from {place}")
    model, sample = palladion.Model(palladion.mnist_network()), palladion.mnist_sample()
    images = sample.images[:, np.newaxis] / 255  # the model's inputs
    right = int(np.sum(model.predict(images).classes == sample.labels))
    if right < 95:
        fail(f"the packaged network has {right} of 100 images right, expected 95 and more")
    secret = palladion.bgv.keygen(palladion.bgv.Params.named("exact-13"))
    x = secret.encrypt(np.arange(8)).with_keys(secret.evaluation_keys())
    if secret.decrypt(x * x)[:8].tolist() != [n * n for n in range(8)]:
        fail("a product of ciphertexts is wrong")
    return f"{right} of 100 digits right in the clear, a product of ciphertexts is exact"


def main(folder: Path, versions: list[str]) -> None:
    """Check what is in the folder, with every version that this machine has."""
    wheels, archives = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    if len(wheels) > 1 or len(archives) > 1 or not wheels + archives:
        fail(f"{folder}: expected one wheel, a source distribution, or both")
    if wheels and "-cp310-abi3-" not in wheels[0].name:
        fail(f"{wheels[0].name}: expected one for every Python from 3.10 on, cp310-abi3")
    for wheel in wheels if sys.platform == "linux" else []:
        audit(wheel)
    for archive in archives:
        check_contents(archive)
    with tempfile.TemporaryDirectory() as fresh:
        target = ROOT / "target" if is_built(folder) else Path(fresh)
        # Two at a time: one unpacks while the other waits. Cargo compiles for one at a time.
        with ThreadPoolExecutor(2) as pool:
            checks = []
            for version in versions:
                interpreter = find(version)
                if interpreter is None:
                    print(f"python {version}: NOT RUN, this machine has none")
                    continue
                for distribution in wheels + archives:
                    checks.append(pool.submit(check, interpreter, distribution.resolve(), target))
            for done in checks:
                done.result()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(json.loads(sys.argv[2]))
    elif len(sys.argv) < 2:
        fail("usage: check_wheels.py FOLDER [PYTHON ... | --audit]")
    elif sys.argv[2:] == ["--audit"]:
        main(Path(sys.argv[1]), [])
    else:
        main(Path(sys.argv[1]), sys.argv[2:] or VERSIONS)
