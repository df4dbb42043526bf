"""``palladion download``."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import click

from palladion.cli.common import (
    FOLDER,
    json_option,
    print_json,
)
from palladion.cli.progress import Steps
from palladion.errors import DataError
from palladion.nn.datasets import cifar10, mnist
from palladion.support import files
from palladion.support.destination import make_folder
from palladion.support.fetch import fetch
from palladion.support.text import size

Fetch = Callable[[str, tuple[str, ...], int, str], bytes]


@click.command()
@click.argument("name", type=click.Choice(["mnist", "cifar10"]))
@click.option("--output", type=FOLDER, required=True, help="Folder to write to.")
@click.option("--mirror", help="Address of a folder with the official files, tried first.")
@json_option
def download(name: str, output: Path, mirror: str | None, as_json: bool) -> None:
    """Download, check and unpack a data set.

    Writes the official files in the form that `--data` takes. Files that are already there and
    right are not downloaded again.
    """
    with Steps(quiet=as_json) as steps:

        def get(file: str, mirrors: tuple[str, ...], count: int, sha256: str) -> bytes:
            steps.start_run()
            first = () if mirror is None else (mirror.rstrip("/") + "/",)
            return fetch(
                file, (*first, *mirrors), count, sha256,
                lambda done, total: steps.count(f"{file}, {size(total)}", done, total),
            )  # fmt: skip

        make_folder(output)
        written = of_mnist(output, get) if name == "mnist" else of_cifar10(output, get)
    if as_json:
        print_json({"output": str(output), "written": written})
        return
    click.echo(f"{output}: {', '.join(written) + ' written' if written else 'all there already'}")


def of_mnist(folder: Path, get: Fetch) -> list[str]:
    """Download the four IDX files, unchanged."""
    written = []
    for file, (count, sha256) in mnist.ARCHIVES.items():
        if not same(folder / file, "sha256", sha256):
            files.write(folder / file, get(file, mnist.MIRRORS, count, sha256))
            written.append(file)
    return written


def of_cifar10(folder: Path, get: Fetch) -> list[str]:
    """Download the archive's six binary files. All are checked before the first is written."""
    missing = [n for n, sha1 in cifar10.SHA1.items() if not same(folder / n, "sha1", sha1)]
    if not missing:
        return []
    name, count, sha256 = cifar10.ARCHIVE
    data = get(name, cifar10.MIRRORS, count, sha256)
    found = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
            for file in missing:
                member = archive.extractfile(f"{cifar10.FOLDER}/{file}")
                found[file] = member.read() if member else b""
    except (tarfile.TarError, KeyError, OSError, EOFError) as error:
        raise DataError(f"cannot unpack {name}: {error}") from error
    for file, content in found.items():
        if hashlib.sha1(content).hexdigest() != cifar10.SHA1[file]:
            raise DataError(f"{name} has another {file} than the official one")
    for file, content in found.items():
        files.write(folder / file, content)
    return missing


def same(path: Path, algorithm: str, expected: str) -> bool:
    """Return true if the file exists and has the expected checksum."""
    return path.is_file() and hashlib.new(algorithm, files.read(path)).hexdigest() == expected
