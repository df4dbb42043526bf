"""Files are written whole or not at all."""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
from pathlib import Path

import pytest
from palladion import DataError, UsageError
from palladion.support import files
from palladion.support.destination import check_folder


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


def test_links_are_followed(tmp_path: Path) -> None:
    folder, link, chain = tmp_path / "folder", tmp_path / "link", tmp_path / "chain"
    folder.mkdir()
    target = folder / "target"
    target.write_bytes(b"before")
    link.symlink_to("folder/target")
    chain.symlink_to(link)
    files.write(chain, b"after")
    assert target.read_bytes() == b"after"
    assert not target.is_symlink()
    assert link.is_symlink()
    assert chain.is_symlink()
    target.unlink()
    files.write(link, b"anew")
    assert target.read_bytes() == b"anew"
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(DataError, match=r"cannot write .*loop: Too many levels"):
        files.write(loop, b"")


def test_pipes_and_devices_are_written_to(tmp_path: Path) -> None:
    pipe, data, heard = tmp_path / "pipe", bytes(range(256)) * 1000, list[bytes]()
    os.mkfifo(pipe)
    link = tmp_path / "link"
    link.symlink_to(pipe)
    for name in (pipe, link):
        reader = threading.Thread(target=lambda: heard.append(pipe.read_bytes()))
        reader.start()
        files.check(name)
        files.write(name, data)
        reader.join(10)
    with files.replacing(Path("/dev/null")) as name_of_file:
        Path(name_of_file).write_bytes(data)
    assert heard == [data, data]
    assert pipe.is_fifo()
    assert Path("/dev/null").is_char_device()
    receiver, sender = os.pipe()
    if sys.platform == "linux":  # a writer of 256 kB need not wait for the reader
        files.write(Path(f"/dev/fd/{sender}"), data)
        assert os.read(receiver, 1 << 20) == data
    for folder in ("/dev/fd", "/proc/self/fd"):
        files.write(Path(folder) / str(sender), b"through")
        assert os.read(receiver, 100) == b"through"
    with pytest.raises(DataError, match=rf"cannot write /dev/fd/{receiver}: Bad file"):
        files.check(Path(f"/dev/fd/{receiver}"))
    os.close(receiver)
    with pytest.raises(DataError, match="Broken pipe"):
        files.write(Path(f"/dev/fd/{sender}"), b"x")
    os.close(sender)
    kept = tmp_path / "kept"
    with kept.open("wb") as file:  # as by a shell's `> kept`: what was written before stays
        file.write(b"first ")
        file.flush()
        files.write(Path(f"/dev/fd/{file.fileno()}"), b"second")
    assert kept.read_bytes() == b"first second"


def test_what_cannot_be_written_is_known_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"before")
    for path, words in [
        (Path("/dev/full"), "/dev/full: No space left on device"),
        (tmp_path / "missing" / "file", "missing does not exist: make it first"),
        (file / "below", "file is no folder"),
        (tmp_path, "it is a folder, expected the name of a file"),
        (Path("/proc/file"), "cannot write /proc/file: "),
    ]:
        with pytest.raises(DataError, match=words):
            files.check(path)
    with pytest.raises(DataError, match=r"it takes 1000000000.00 GB, and .* are free"):
        files.check(file, 10**18)
    with pytest.raises(UsageError, match=r"file is no folder"):
        check_folder(file / "below")
    with pytest.raises(UsageError, match=r"cannot write to the folder /proc"):
        check_folder(Path("/proc/below"))
    check_folder(tmp_path / "new" / "folder")
    monkeypatch.setattr(os, "access", lambda _, mode: mode == os.R_OK)
    with pytest.raises(DataError, match="it is read-only"):
        files.check(file)
    with pytest.raises(DataError, match="it is read-only"):
        files.write(file, b"after")
    assert file.read_bytes() == b"before"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_full_devices_are_named() -> None:
    with pytest.raises(DataError, match="cannot write /dev/full: No space left on device"):
        files.write(Path("/dev/full"), b"x")


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
