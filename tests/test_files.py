"""Files are written whole or not at all."""

from __future__ import annotations

import resource
import signal
from pathlib import Path

import pytest
from palladion import DataError, files


def test_secret_files_are_for_their_owner(tmp_path: Path) -> None:
    files.write(tmp_path / "secret", b"x", secret=True)
    files.write(tmp_path / "public", b"y")
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "public").stat().st_mode & 0o400
    assert files.read(tmp_path / "public") == b"y"


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "file"
    files.write(path, b"before")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # then writing fails as on a full disk
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(DataError, match="cannot write"):
            files.write(path, bytes(5000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == b"before"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_missing_places_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot write .*missing"):
        files.write(tmp_path / "missing" / "file", b"")
    with pytest.raises(DataError, match=r"cannot read .*missing"):
        files.read(tmp_path / "missing")


def test_what_cannot_be_ours_is_not_read(tmp_path: Path) -> None:
    sparse = tmp_path / "sparse"
    with sparse.open("wb") as file:
        file.truncate(10**12)
    with pytest.raises(DataError, match="1000000000000 bytes"):
        files.read(sparse)
    with pytest.raises(DataError, match="no regular file"):
        files.read(Path("/dev/zero"))
    with pytest.raises(DataError, match="cannot read"):
        files.read(tmp_path)
