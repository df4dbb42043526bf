"""Bodies of requests, which are never larger in memory than they may be."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fastapi import Request

from palladion.service.assembly import Parts
from palladion.service.problems import NoSpaceError, RequestError, TooLargeError
from palladion.support.text import size

DIGEST: Final = re.compile(r"sha-256=:([A-Za-z0-9+/]{43}=):")
"""The header ``Content-Digest`` of RFC 9530, with the one algorithm that is taken."""


@dataclass(frozen=True)
class Received:
    """A body that lies in a file."""

    file: Path
    digest: str
    """Its SHA-256, in hexadecimal."""
    bytes: int


def check_length(request: Request, most: int) -> None:
    """Refuse a body that says it is too large.

    Raises
    ------
    RequestError
        If it is, or if its length is no number.
    """
    stated = request.headers.get("content-length")
    if stated is not None and stated.isdecimal() and int(stated) > most:
        raise TooLargeError(f"a body of {size(int(stated))}, expected at most {size(most)}")
    if request.headers.get("content-encoding", "identity") != "identity":
        raise RequestError("the body is compressed: send it as it is, ciphertexts do not shrink")


async def in_memory(request: Request, most: int) -> bytes:
    """A small body.

    Raises
    ------
    RequestError
        If it is larger than ``most`` bytes, or compressed.
    """
    check_length(request, most)
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > most:
            raise TooLargeError(f"a body of more than {size(most)}")
    return bytes(data)


@asynccontextmanager
async def in_file(request: Request, parts: Parts, most: int) -> AsyncIterator[Received]:
    """A large body, in a file of the store that can be moved in.

    Raises
    ------
    NoSpaceError
        If the disk is nearly full.
    RequestError
        If it is larger than ``most`` bytes, or compressed.
    """
    check_length(request, most)
    check_space(parts)
    whole, length = hashlib.sha256(), 0
    with parts.store.incoming() as path:
        with path.open("wb") as file:
            async for chunk in request.stream():
                length += len(chunk)
                if length > most:
                    raise TooLargeError(f"a body of more than {size(most)}")
                whole.update(chunk)
                file.write(chunk)
        yield Received(path, whole.hexdigest(), length)


def check_space(parts: Parts) -> None:
    """Refuse what would be stored while the disk is nearly full.

    Raises
    ------
    NoSpaceError
        With the free bytes.
    """
    free = parts.store.free()
    if free is not None and free < parts.settings.free_bytes:
        raise NoSpaceError(f"{size(free)} are left on the disk of the service, which keeps "
                           f"{size(parts.settings.free_bytes)} free: come back later, and tell its "
                           "operator",
                           60.0)  # fmt: skip


def stated_digest(request: Request) -> bytes:
    """The SHA-256 in the header ``Content-Digest``.

    Raises
    ------
    RequestError
        If there is none.
    """
    stated = DIGEST.fullmatch(request.headers.get("content-digest", ""))
    if stated is None:
        raise RequestError("the header Content-Digest is missing or has no SHA-256, expected "
                           "`sha-256=:BASE64:` of the body")  # fmt: skip
    try:
        return base64.b64decode(stated[1], validate=True)
    except binascii.Error as error:
        raise RequestError(f"the header Content-Digest is no base64: {error}") from error
