"""Files that are written completely or not at all, and the detection of a file's kind."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from palladion.errors import DataError, FormatError, MismatchError
from palladion.support.destination import Destination

if TYPE_CHECKING:
    import numpy.typing as npt

LARGEST: Final = 8_000_000_000
"""Largest size of a file that is read, in bytes. Evaluation keys are below 1 GB."""

LARGEST_PIPE: Final = 1 << 20
"""The most bytes that Linux lets a pipe of any user hold."""

MAGIC: Final = b"PALLADIO"

START: Final = 4096
"""Bytes that show the kind of a file."""

OURS: Final = {
    b"PROG": ("a program", "`palladion compile` writes one"),
    b"CLNT": (
        "a client's file",
        "`palladion compile` writes it beside the program, with the ending .client, and `palladion "
        "split` makes it of a program",
    ),
    b"HYBR": ("a program of the hybrid mode", "`palladion compile --mode hybrid` writes one"),
    b"LVLP": ("a levelled program", "`palladion levelled compile` writes one"),
    b"LVLC": (
        "a client's file of a levelled program",
        "`palladion levelled compile` writes it beside the program, with the ending .client",
    ),
    b"LVLQ": ("encrypted inputs of a levelled program", "`palladion levelled encrypt` writes them"),
    b"LVLA": ("encrypted outputs of a levelled program", "`palladion levelled run` writes them"),
    b"SKEY": ("a secret key", "`palladion keygen` writes one, secret.key"),
    b"EKEY": ("evaluation keys", "`palladion keygen` writes them, evaluation.key"),
    b"PKEY": ("a public key", "`palladion keys public` writes one"),
    b"ENCI": ("encrypted images", "`palladion encrypt` writes them"),
    b"ENCO": ("encrypted results", "`palladion run` writes them"),
}
"""Palladion files by the tag in their header: their content, and the command that writes them."""

STARTS: Final = {
    b"\x93NUMPY": "an .npy file",
    b"PK": "a zip file, as .npz files and those of torch.save are",
    b"\x89HDF": "an HDF5 file, as Keras writes them",
    b"\x80": "a pickle",
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"{": "JSON, as integer networks are",
    b"version https://git-lfs": "a pointer of Git LFS",
}
"""Files of other programs, by their first bytes."""

UMASK: Final = os.umask(0o077)
"""The umask of the process. It can be read by a change alone, so it is read once, at import."""
os.umask(UMASK)

UNFINISHED: Final[set[str]] = set()
"""Names of the files that this process writes now, before they replace others."""

T = TypeVar("T")


def kind(data: bytes) -> str | None:
    """The apparent content of a file, in words. ``None`` if its bytes do not show it."""
    if not data:
        return "an empty file"
    if data.startswith(MAGIC):
        return OURS.get(data[8:12], ("a Palladion file of another kind", ""))[0]
    for start, words in STARTS.items():
        if data.startswith(start):
            return words
    try:
        text = data[:START].decode("utf-8", errors="strict" if len(data) < START else "ignore")
    except UnicodeDecodeError:
        return None
    return "text" if all(sign.isprintable() or sign in "\r\n\t" for sign in text) else None


def parsed(
    path: Path,
    parse: Callable[[bytes], T],
    tag: bytes,
    data: bytes | None = None,
) -> T:
    """The result of ``parse`` for a Palladion file with a ``tag``. ``data`` is its content, if it
    has been read already.

    Raises
    ------
    DataError
        If the file cannot be read.
    FormatError
        If it is of another kind, damaged, or made for another program. The message names the file,
        its kind, the expected kind, and the command that writes such files.
    """
    data = read(path) if data is None else data
    wanted, origin = OURS[tag]
    try:
        return parse(data)
    except FormatError as error:
        found = kind(data) or ("no Palladion file" if not data.startswith(MAGIC) else wanted)
        if found != wanted:
            raise FormatError(f"{path} is {found}, expected {wanted}: {origin}") from error
        words = f"{path}: {error}"
        if isinstance(error, MismatchError) and "made for other parameters" in words:
            words += f"; give the program that it was made for, or one made for this: {origin}"
        if tag == b"EKEY" and "format version" in words:
            words += "; the secret stays: `palladion keygen --secret` makes keys of it again"
        raise type(error)(words) from error


def write(path: Path, data: bytes, *, secret: bool = False) -> None:
    """Write ``data`` so that half a file is never visible: beside the file, which it then replaces.

    Links are followed. A pipe or a device, such as /dev/stdout, is written to. Only the owner can
    read a secret file.

    Raises
    ------
    DataError
        If the folder cannot be written to or the disk is full. Then a file is unchanged.
    """
    to = Destination.of(path)
    if to.streams:
        send(to, data)
        return
    with replacing(path, secret=secret) as name:
        Path(name).write_bytes(data)


def check(path: Path, needed: int = 0) -> None:
    """Check that ``needed`` bytes can be written to ``path``, before work whose result they are.

    Raises as :func:`write`.
    """
    Destination.of(path).check(needed)


def streams(path: Path) -> bool:
    """True if a path is a pipe or a device, so that no other file can lie beside it."""
    return Destination.of(path).streams


def send(to: Destination, data: bytes) -> None:
    """Write to a pipe or a device. Raises as :func:`write`."""
    try:
        if to.is_stdout:
            sys.stdout.flush()
        handle = os.open(to.file, os.O_WRONLY) if to.handle is None else os.dup(to.handle)
        with os.fdopen(handle, "wb") as stream:
            enlarge(handle, len(data))
            stream.write(data)
    except OSError as error:
        raise DataError(f"cannot write {to.path}: {error.strerror}") from error


def enlarge(handle: int, length: int) -> None:
    """Give a pipe room for ``length`` bytes, so that the writer need not wait for the reader.

    Linux alone can, up to a limit. Anything else stays as it is.
    """
    if sys.platform == "linux":
        import fcntl

        with suppress(OSError):
            if stat.S_ISFIFO(os.fstat(handle).st_mode):
                wanted = min(max(length, fcntl.fcntl(handle, fcntl.F_GETPIPE_SZ)), LARGEST_PIPE)
                fcntl.fcntl(handle, fcntl.F_SETPIPE_SZ, wanted)


@contextmanager
def replacing(path: Path, *, secret: bool = False) -> Iterator[str]:
    """Yield the name of a new file to write. Afterwards it becomes the file behind ``path``.

    A pipe or a device gets its bytes. Raises as :func:`write`.
    """
    to = Destination.of(path)
    if to.streams:
        with tempfile.TemporaryDirectory(prefix="palladion.") as folder:
            file = Path(folder, "bytes")
            yield str(file)
            send(to, file.read_bytes())
        return
    to.check()
    try:
        handle, name = tempfile.mkstemp(dir=to.file.parent, prefix=f".{to.file.name}.")
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}") from error
    UNFINISHED.add(name)
    try:
        with os.fdopen(handle, "r+b") as opened:
            yield name
            os.fsync(opened.fileno())
        if not secret:  # mkstemp creates it with mode 0o600
            os.chmod(name, 0o666 & ~UMASK)
        os.replace(name, to.file)
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}") from error
    finally:  # after Ctrl-C too, no file is left behind
        discard(name)


def discard(name: str) -> None:
    """Remove an unfinished file, if it is still there."""
    UNFINISHED.discard(name)
    with suppress(FileNotFoundError):
        os.unlink(name)


def discard_unfinished() -> None:
    """Remove all unfinished files at once. The work that writes them must end without a result."""
    for name in [*UNFINISHED]:
        discard(name)


def write_arrays(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write arrays as an ``.npz`` file. Raises as :func:`write`."""
    import numpy as np

    data = io.BytesIO()
    np.savez(data, allow_pickle=False, **arrays)
    write(path, data.getvalue())


def remove(path: Path) -> None:
    """Remove a file if it exists.

    Raises
    ------
    DataError
        If it cannot be removed.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise DataError(f"cannot remove {path}: {error.strerror}") from error


def read(path: Path, count: int = -1) -> bytes:
    """Read a whole file, or its first ``count`` bytes.

    Raises
    ------
    DataError
        If it cannot be read, is no regular file, or is larger than any file of Palladion.
    """
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise DataError(f"cannot read {path}: it is no regular file")
            if found.st_size > LARGEST:
                raise DataError(
                    f"cannot read {path}: it has {found.st_size} bytes, expected at most {LARGEST}"
                )
            return file.read(count)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error


def digest_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal. Only a part of the file is in memory at once.

    Raises
    ------
    DataError
        If it cannot be read.
    """
    whole = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                whole.update(chunk)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    return whole.hexdigest()
