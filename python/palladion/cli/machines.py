"""The arguments of ``palladion simulate``: machines, traces, folders."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from palladion.deployment import CompiledModel
from palladion.errors import FormatError
from palladion.support import files
from palladion.traces import Trace


def trace_of(path: Path) -> Trace:
    """A trace, from its file or from a program's.

    Raises
    ------
    FormatError
        If the file is neither.
    """
    data = files.read(path)
    if data.startswith(files.MAGIC):
        return CompiledModel.load(path).lower()
    try:
        return Trace(data.decode())
    except UnicodeDecodeError:
        kind = files.kind(data) or "no text"
        raise FormatError(
            f"{path} is {kind}, expected a trace or a program: `palladion lower` and "
            "`palladion compile` write them"
        ) from None


def work_of(path: Path) -> Trace:
    """As :func:`trace_of`, with instructions that were checked.

    Raises
    ------
    FormatError
        If the file is neither, or damaged.
    """
    trace = trace_of(path)
    try:
        _ = trace.work
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from error
    return trace


def write_pictures(folder: Path, pictures: Mapping[str, Mapping[str, bytes]]) -> list[str]:
    """Write each picture in all its formats; gives the names of the files."""
    written = []
    for name, kinds in pictures.items():
        for kind, data in kinds.items():
            path = folder / f"{name}.{kind}"
            files.write(path, data)
            written.append(str(path))
    return written
