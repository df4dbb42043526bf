"""Receipts: the service's signed word on which program gave an answer.

They prove who said it, and not that it is true.
"""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from palladion.errors import DataError
from palladion.support import files
from palladion.support.records import Json


class Signer:
    """Signs with a key that lies in a file. It is made when it is used for the first time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._key: Ed25519PrivateKey | None = None

    @property
    def public_key(self) -> str:
        """The public key of Ed25519, in base64."""
        raw = serialization.Encoding.Raw, serialization.PublicFormat.Raw
        return base64.b64encode(self._open().public_key().public_bytes(*raw)).decode()

    def sign(self, facts: Json) -> Json:
        """A statement of facts with its signature, as data for JSON. The signature is of the bytes
        of the text ``statement``.

        Raises
        ------
        DataError
            If the key cannot be read or made.
        """
        statement = json.dumps(facts, sort_keys=True)
        signature = self._open().sign(statement.encode())
        return {
            "statement": statement,
            "signature": base64.b64encode(signature).decode(),
            "public_key": self.public_key,
        }

    def _open(self) -> Ed25519PrivateKey:
        if self._key is None:
            if not self._path.exists():
                self._make()
            try:
                key = serialization.load_pem_private_key(files.read(self._path), None)
            except (TypeError, ValueError) as error:
                raise DataError(f"{self._path} is no private key in PEM: {error}") from error
            if not isinstance(key, Ed25519PrivateKey):
                raise DataError(f"{self._path} has a {type(key).__name__}, expected one of Ed25519")
            self._key = key
        return self._key

    def _make(self) -> None:
        """Make the key. Two processes that do it at once end with the key of one of them."""
        pem = Ed25519PrivateKey.generate().private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        beside = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        files.write(beside, pem, secret=True)
        try:
            os.link(beside, self._path)
        except FileExistsError:
            pass
        finally:
            files.remove(beside)
