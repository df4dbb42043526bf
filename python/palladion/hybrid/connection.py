"""A client of the mode of two parties, and identities of both."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from palladion import _native
from palladion.errors import UsageError
from palladion.hybrid.costs import HybridClientFacts
from palladion.hybrid.sessions import SessionReport
from palladion.nn.ends.boundary import Boundary
from palladion.nn.ends.prediction import Prediction
from palladion.nn.integers.linear_maps import Ints
from palladion.runs import Progress
from palladion.support import files, records

MOST_INPUTS: Final = 10_000
"""The most inputs of a session."""

File: TypeAlias = str | os.PathLike[str]


@dataclass(frozen=True)
class HybridAnswer:
    """The outputs of a session's inputs, and a report of the session."""

    prediction: Prediction
    report: SessionReport


class HybridClient:
    """A client that has met a server of :meth:`HybridModel.serve`. It serves one session."""

    def __init__(self, native: _native.HybridClient) -> None:
        self._native = native
        data = json.loads(native.report())
        self.description: Final = {
            name: data.pop(name) for name in ("input", "interface", "classes")
        }
        """``input``, ``interface`` and number of ``classes`` of the server's program, as JSON."""
        self.facts = records.read(HybridClientFacts, data)
        """Parameters, security, rounds and bytes of the server's program."""
        self.boundary = Boundary.of_description(self.description, self.description["classes"])
        """Conversion between the model's arrays and the network's integers."""

    @classmethod
    def connect(
        cls,
        address: str,
        trust: str,
        *,
        program: str | None = None,
        identity: File | None = None,
        patience: float = 300.0,
    ) -> HybridClient:
        """Connect to a server.

        Parameters
        ----------
        address
            HOST:PORT.
        trust
            Hash of the server's certificate: see :func:`certificate_hash`.
        program
            Hash of the program, to refuse another one.
        identity
            File with the client's own certificate and key, as :func:`make_identity` makes them.
        patience
            Seconds to wait for each message, and at most 10 for the first.

        Raises
        ------
        PalladionError
            If the server does not answer, or is another one. The message has the way out.
        """
        own = None if identity is None else (Path(identity), Path(identity))
        return cls(_native.HybridClient.connect(address, trust, program, own, patience))

    def query(self, x: npt.ArrayLike, progress: Progress | None = None) -> HybridAnswer:
        """The model's outputs for inputs of shape (N, ...). The server learns nothing of them.

        Raises
        ------
        NetworkError
            If the inputs do not fit the model.
        UsageError
            If there are too many for a session, or the session has ended.
        """
        return self.query_integers(self.boundary.inputs(x), progress)

    def query_integers(self, inputs: Ints, progress: Progress | None = None) -> HybridAnswer:
        """As :meth:`query`, for rows of the network's integers."""
        check_count(len(inputs))
        logits, text = self._native.run(inputs.tolist(), len(inputs), progress)
        prediction = Prediction.of(self.boundary, np.array(logits, dtype=np.int64))
        return HybridAnswer(prediction, records.read(SessionReport, json.loads(text)))

    def measure_offline(self, count: int = 1, progress: Progress | None = None) -> SessionReport:
        """Make keys and material for ``count`` inputs alone, and answer none."""
        check_count(count)
        _, text = self._native.run([], count, progress)
        return records.read(SessionReport, json.loads(text))


def check_count(inputs: int) -> None:
    """Refuse more inputs than a session takes.

    Raises
    ------
    UsageError
        The message has the remedy.
    """
    if inputs > MOST_INPUTS:
        raise UsageError(f"{inputs} inputs, a session takes at most {MOST_INPUTS}: use --count, or "
                         "several queries")  # fmt: skip


@dataclass(frozen=True)
class Identity:
    """A certificate with its private key."""

    pem: str
    """Both, in PEM form. Keep it: who has it is this client."""
    certificate_hash: str
    """The callback that tells the server's owner."""


@dataclass(frozen=True)
class IdentityFile:
    """An identity that lies in a file."""

    path: Path
    certificate_hash: str


def make_identity() -> Identity:
    """A fresh identity, for a client or a server."""
    return Identity(*_native.hybrid_identity())


@contextmanager
def identity_for_one_use() -> Iterator[IdentityFile]:
    """A fresh identity in a file that only its owner can read, and that is removed afterwards."""
    identity = make_identity()
    with tempfile.TemporaryDirectory(prefix="palladion-") as folder:
        path = Path(folder) / "identity.pem"
        files.write(path, identity.pem.encode(), secret=True)
        yield IdentityFile(path, identity.certificate_hash)


def certificate_hash(path: File) -> str:
    """The hash of the certificate in a file in PEM form."""
    return _native.hybrid_certificate_hash(Path(path))
