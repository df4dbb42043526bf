"""What the commands of ``palladion simulate`` are given: machines, programs, folders."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import palladion
from palladion import _native, files
from palladion.errors import FormatError, UsageError
from palladion.machines import Machine


def machine_of(name: str) -> Machine:
    """A packaged machine by its name, or a machine from its file.

    Raises
    ------
    UsageError
        If it is neither.
    """
    if name in _native.machine_names():
        return Machine.named(name)
    path = Path(name)
    if not path.is_file():
        known = ", ".join(_native.machine_names())
        raise UsageError(f"{name} is no file, and no machine of ours: {known}")
    return Machine.load(path)


def trace_of(path: Path) -> str:
    """The text of a trace, from its file or from a program's.

    Raises
    ------
    FormatError
        If the file is neither.
    """
    data = files.read(path)
    if data.startswith(files.MAGIC):
        text, _ = files.parsed(path, palladion.Program.from_bytes, b"PROG").lower()
        return text.decode()
    try:
        return data.decode()
    except UnicodeDecodeError:
        found = files.kind(data) or "no text"
        raise FormatError(
            f"{path} is {found}, expected a trace or a program: `palladion lower` and "
            "`palladion compile` write them"
        ) from None


def work_of(path: Path) -> _native.Workload:
    """The instructions of a trace or a program.

    Raises
    ------
    FormatError
        If the file is neither, or damaged.
    """
    text = trace_of(path)
    try:
        return _native.Workload(text)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from error


def write_pictures(folder: Path, pictures: Mapping[str, Mapping[str, bytes]]) -> list[str]:
    """Write each picture in all its formats; gives the names of the files."""
    written = []
    for name, kinds in pictures.items():
        for kind, data in kinds.items():
            path = folder / f"{name}.{kind}"
            files.write(path, data)
            written.append(str(path))
    return written
