"""Files of the levelled mode: facts and arrays, as an archive of numpy behind a header."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from palladion.errors import FormatError
from palladion.support import files
from palladion.support.records import Json

Array = npt.NDArray[Any]

VERSION: Final = 1
HEADER: Final = len(files.MAGIC) + 4 + 1
"""Bytes before the archive: those of every file of Palladion, the tag, and the version."""

PROGRAM, CLIENT, QUERY, ANSWER = b"LVLP", b"LVLC", b"LVLQ", b"LVLA"
FACTS: Final = "facts"


def to_bytes(tag: bytes, facts: Json, arrays: Mapping[str, Array]) -> bytes:
    """A file's bytes."""
    text = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)
    data = io.BytesIO()
    data.write(files.MAGIC + tag + bytes([VERSION]))
    np.savez(data, allow_pickle=False, **{FACTS: text}, **arrays)
    return data.getvalue()


def from_bytes(tag: bytes, data: bytes, names: tuple[str, ...]) -> tuple[Json, dict[str, Array]]:
    """Facts and arrays of a file.

    Raises
    ------
    FormatError
        If it is a file of another kind or version, or is damaged.
    """
    expected = files.OURS[tag][0]
    start = data[:HEADER]
    if start[: HEADER - 1] != files.MAGIC + tag:
        raise FormatError(f"{files.kind(start) or 'bytes of no known kind'}, expected {expected}")
    if start[-1] != VERSION:
        raise FormatError(f"{expected} of version {start[-1]}, expected {VERSION}: use the "
                          "release that wrote it")  # fmt: skip
    try:
        with np.load(io.BytesIO(data[HEADER:]), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in (FACTS, *names, *others(archive.files))}
            facts = json.loads(arrays.pop(FACTS).tobytes())
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise FormatError(f"{expected}, which is damaged: {error}") from error
    return facts, arrays


def others(names: list[str]) -> list[str]:
    """The arrays of stages, whose number a program states by having them."""
    return [name for name in names if name.startswith("stage")]
