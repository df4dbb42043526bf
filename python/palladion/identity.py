"""The identities in files of Palladion: what they are, and what they belong to."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

from palladion import _native
from palladion.errors import FormatError
from palladion.key_files import KeyFile
from palladion.secret import Secret
from palladion.support import files
from palladion.support.records import Json


def ids_of(terms: _native.Terms) -> Json:
    """The identities that ``--json`` prints of a program."""
    return {
        "program_id": terms.program_id,
        "profile_id": terms.profile_id,
        "layout_id": terms.layout_id,
    }


def identities(path: Path, data: bytes) -> Json:
    """The identities in a file.

    Raises
    ------
    FormatError
        If it is no file of Palladion, or damaged.
    """
    tag = data[8:12]
    if not data.startswith(files.MAGIC) or tag not in READERS:
        kinds = ", ".join(files.OURS[known][0] for known in READERS)
        raise FormatError(f"{path} is {files.kind(data) or 'no Palladion file'}, expected {kinds}")
    return READERS[tag](path, data)


def of_program(path: Path, data: bytes) -> Json:
    """The identities of a program."""
    return ids_of(files.parsed(path, _native.Program.from_bytes, b"PROG", data).terms())


def of_client(path: Path, data: bytes) -> Json:
    """The identities of a client's file."""
    return ids_of(files.parsed(path, _native.Terms.from_bytes, b"CLNT", data))


def of_secret(path: Path, data: bytes) -> Json:
    """The identity of a secret."""
    secret = Secret(files.parsed(path, _native.Secret.from_bytes, b"SKEY", data))
    return {"key_id": secret.key_id}


def of_keys(path: Path, _data: bytes) -> Json:
    """The identities of evaluation keys."""
    held = KeyFile.read(path)
    return {"key_id": held.key_id, "profile_id": held.profile_id}


def of_public_key(path: Path, _data: bytes) -> Json:
    """The identities of a public key."""
    held = KeyFile.read_public(path)
    return {"key_id": held.key_id, "profile_id": held.profile_id}


def of_query(path: Path, data: bytes) -> Json:
    """The identities of a query."""
    head = files.parsed(path, _native.Query.head, b"ENCI", data)
    layout, program, secret, inputs, public = head
    bound = {"layout_id": layout} if layout is not None else {"program_id": program}
    return {**bound, "key_id": known(secret), "query_id": hashlib.sha256(data).hexdigest(),
            "inputs": inputs, "encrypted_under": "public key" if public else "secret"}  # fmt: skip


def of_answer(path: Path, data: bytes) -> Json:
    """The identities of an answer."""
    program, query, key, inputs = files.parsed(path, _native.Answer.head, b"ENCO", data)
    return {"program_id": program, "query_id": query, "key_id": known(key), "inputs": inputs}


def known(key: str) -> str | None:
    """The identity of a key; None for zeros, which files of an earlier version have."""
    return key if key.strip("0") else None


READERS: Final[dict[bytes, Callable[[Path, bytes], Json]]] = {
    b"PROG": of_program,
    b"CLNT": of_client,
    b"SKEY": of_secret,
    b"EKEY": of_keys,
    b"PKEY": of_public_key,
    b"ENCI": of_query,
    b"ENCO": of_answer,
}
