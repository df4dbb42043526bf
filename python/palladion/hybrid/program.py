"""A program for two parties: the server's half."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeAlias

from palladion import _native
from palladion.errors import UsageError
from palladion.hybrid.connection import MOST_INPUTS
from palladion.hybrid.costs import BYTES_OF_MBIT, LINK, HybridCosts, HybridFacts, Link
from palladion.hybrid.sessions import Event, event_of
from palladion.nn.integers.network import IntNetwork
from palladion.support import files, records

HIDDEN_INPUTS: Final = 10
"""Inputs of one client that floods hide together unless another number is given."""

File: TypeAlias = str | os.PathLike[str]


class HybridModel:
    """A program for two parties. It has the model's weights: it is the server's."""

    def __init__(self, native: _native.HybridProgram) -> None:
        self.native = native
        """The program of the core."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied as its program."""
        return HybridModel, (self.native,)

    @classmethod
    def of_network(
        cls,
        network: IntNetwork,
        *,
        link: Link = LINK,
        reveal_accumulators: bool = False,
        inputs_per_client: int = HIDDEN_INPUTS,
    ) -> HybridModel:
        """Compile an integer network for two parties, with layouts that suit a connection.

        Floods hide the weights from a client over ``inputs_per_client`` inputs together. With
        ``reveal_accumulators`` the client applies the tables, and could compute weights from the
        accumulators that it sees.

        Raises
        ------
        NetworkError
            If the mode cannot evaluate the network.
        """
        return cls(
            _native.hybrid_compile(
                network.to_json(), reveal_accumulators, link.bytes_per_second, inputs_per_client
            )
        )

    @cached_property
    def facts(self) -> HybridFacts:
        """Parameters, security, rounds, bytes and hidden values."""
        return records.read(HybridFacts, json.loads(self.native.report()))

    def costs(self, link: Link = LINK) -> HybridCosts:
        """Predicted seconds of both phases on a connection, for one input."""
        return self.facts.costs(link)

    def serve(
        self,
        listen: str,
        hear: Callable[[Event], object],
        *,
        clients: Sequence[str] = (),
        any_client: bool = False,
        identity: tuple[File, File] | None = None,
        sessions: int | None = None,
        at_once: int = 16,
        per_address: int = 4,
        inputs_per_client: int | None = None,
        least_rate: float = 0.5,
    ) -> None:
        """Serve clients until ``hear`` raises or ``sessions`` sessions have ended.

        Parameters
        ----------
        listen
            HOST:PORT. Port 0 is any that is free.
        hear
            Called with each event. The first is :class:`Listening`.
        clients
            Hashes of the certificates of clients that are served.
        any_client
            Serve whoever connects. Any of them can read the weights with a changed program.
        identity
            Files of the server's certificate and of its key, which may be one. By default they are
            fresh.
        at_once, per_address
            Sessions side by side, in all and from one address.
        inputs_per_client
            Inputs of one client; by default as many as the floods hide to 2^-40 together.
        least_rate
            Mbit/s: a session that is slower in all is ended.

        Raises
        ------
        UsageError
            If there are neither clients nor ``any_client``, or both; if the address or a
            certificate cannot be used.
        """
        if bool(clients) == any_client:
            raise UsageError("give the hashes of clients' certificates, or any_client alone: with "
                             "it, any stranger who connects can read the weights")  # fmt: skip

        def hear_text(text: str) -> None:
            hear(event_of(text))

        self.native.serve(
            listen,
            hear_text,
            identity=identity and (Path(identity[0]), Path(identity[1])),
            clients=tuple(clients),
            sessions=sessions,
            at_once=at_once,
            of_address=per_address,
            most_inputs=MOST_INPUTS,
            inputs_of_client=inputs_per_client,
            least_rate=least_rate * BYTES_OF_MBIT,
        )

    def to_bytes(self) -> bytes:
        """The bytes of a program's file."""
        return self.native.to_bytes()

    def save(self, path: File) -> None:
        """Write the program to a file."""
        files.write(Path(path), self.to_bytes())

    @classmethod
    def load(cls, path: File) -> HybridModel:
        """Read a program that :meth:`save` or ``palladion compile --mode hybrid`` wrote."""
        return cls(files.parsed(Path(path), _native.HybridProgram.from_bytes, b"HYBR"))
