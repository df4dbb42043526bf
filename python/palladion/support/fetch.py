"""Files from the internet, from the first of several mirrors that has the expected content."""

from __future__ import annotations

import errno
import hashlib
import http.client
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import urlsplit

from palladion.errors import DataError

SECONDS: Final = 30
"""Seconds without a byte after which a mirror is given up."""

CHUNK: Final = 1 << 18

Progress = Callable[[int, int], None]
"""Called with the bytes received and the total bytes."""


def fetch(
    name: str,
    mirrors: Sequence[str],
    size: int,
    sha256: str,
    progress: Progress | None = None,
) -> bytes:
    """A file of ``size`` bytes with a known SHA-256, from the first mirror that has it.

    ``mirrors`` are addresses of folders, ending in a slash.

    Raises
    ------
    DataError
        If no mirror gives it. The message has the reason for each mirror.
    """
    reasons = []
    for mirror in mirrors:
        try:
            data = _get(mirror + name, size, progress)
        except (OSError, http.client.HTTPException, ValueError) as error:
            reasons.append(f"{urlsplit(mirror).netloc or mirror}: {_reason(error)}")
            continue
        found = hashlib.sha256(data).hexdigest()
        if found == sha256:
            return data
        reasons.append(f"{urlsplit(mirror).netloc}: sha256 {found}, expected {sha256}")
    unreached = ConnectionError(errno.EHOSTUNREACH, "no mirror gave the file")
    raise DataError(f"cannot download {name}: {'; '.join(reasons)}") from unreached


def _get(address: str, size: int, progress: Progress | None) -> bytes:
    if urlsplit(address).scheme not in ("http", "https"):
        raise ValueError("no address that begins with http:// or https://")
    request = urllib.request.Request(address, headers={"User-Agent": "palladion"})
    parts, count = [], 0
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        while chunk := answer.read(CHUNK):
            parts.append(chunk)
            count += len(chunk)
            if count > size:
                break
            if progress:
                progress(count, size)
    if count != size:
        raise ValueError(
            f"{'more than ' * (count > size)}{min(count, size)} bytes, expected {size}"
        )
    return b"".join(parts)


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"{error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError):
        return str(error.reason)
    return str(error) or type(error).__name__
