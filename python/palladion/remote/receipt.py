"""Receipts of a service, checked."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass

from palladion.errors import DataError
from palladion.support.extras import missing
from palladion.support.records import Json


@dataclass(frozen=True)
class Receipt:
    """A service's signed word on an answer."""

    facts: Json
    """``program_id``, ``query_id``, ``key_id``, ``answer_digest``, model, version and times."""
    statement: str
    """The facts as the text that was signed."""
    signature: str
    public_key: str
    """The public key of Ed25519, in base64. Compare it with one that was told by other means."""

    @classmethod
    def checked(cls, data: Json, public_key: str | None = None) -> Receipt:
        """A receipt from the JSON of a service, if its signature is right.

        Raises
        ------
        DataError
            If it is not, or is of another key than ``public_key``.
        UsageError
            If the package for signatures is missing.
        """
        try:
            from cryptography.exceptions import InvalidSignature
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        except ImportError as error:
            raise missing(error, "a receipt", "serve") from error
        try:
            texts = {name: str(data[name]) for name in ("statement", "signature", "public_key")}
            key = Ed25519PublicKey.from_public_bytes(base64.b64decode(texts["public_key"]))
            key.verify(base64.b64decode(texts["signature"]), texts["statement"].encode())
            facts = json.loads(texts["statement"])
        except InvalidSignature as error:
            raise DataError("the signature of the receipt is wrong") from error
        except (KeyError, ValueError, binascii.Error) as error:
            raise DataError(f"this is no receipt: {error}") from error
        if public_key not in (None, texts["public_key"]):
            raise DataError(
                f"the receipt is signed by {texts['public_key']}, expected {public_key}"
            )
        return cls(facts=facts, **texts)
