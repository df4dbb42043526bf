"""The mode of two parties: client and server compute together, with exact answers.

::

    program = model.compile(mode="hybrid")
    program.save("model.hybrid")
    program.serve("127.0.0.1:7700", print, clients=[certificate_hash])     # the server

    client = palladion.HybridClient.connect("127.0.0.1:7700", trust, identity="client.pem")
    client.query(x).prediction.classes                                     # the client

``docs/hybrid.md`` says what each party learns.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from palladion import _native, files, records
from palladion.errors import UsageError
from palladion.nn.boundary import Boundary
from palladion.nn.linear import Ints
from palladion.nn.network import IntNetwork
from palladion.nn.prediction import Prediction
from palladion.runs import Progress

MOST_INPUTS: Final = 10_000
"""The most inputs of a session."""

HIDDEN_INPUTS: Final = 10
"""Inputs of one client that floods hide together unless another number is given."""

BYTES_OF_MBIT: Final = 125_000
"""Bytes of a Mbit."""

File: TypeAlias = str | os.PathLike[str]


@dataclass(frozen=True)
class Predicted:
    """What a part of a session is predicted to take, for one input."""

    rounds: int
    messages: int
    bytes_to_server: int
    bytes_to_client: int
    compute_seconds: float
    """Seconds of both parties' computation on one core."""

    @property
    def bytes(self) -> int:
        """Bytes in both directions."""
        return self.bytes_to_server + self.bytes_to_client


@dataclass(frozen=True)
class Link:
    """A connection."""

    bandwidth: float = 2000.0
    """Mbit/s."""
    latency: float = 0.2
    """Milliseconds there and back."""

    @property
    def bytes_per_second(self) -> float:
        """Bytes per second in each direction."""
        return self.bandwidth * BYTES_OF_MBIT

    def seconds(self, part: Predicted, *, waiting: bool = True) -> float:
        """Predicted seconds of a part: computation, bytes, and, if ``waiting``, messages."""
        seconds = part.compute_seconds + part.bytes / self.bytes_per_second
        return seconds + waiting * part.messages * self.latency / 2000


@dataclass(frozen=True)
class HybridLayer:
    """A layer of a program for two parties. Figures of encryption are ``None`` without it."""

    name: str
    bits: int
    """Shares are modulo ``2**bits``."""
    n: int | None
    """Ring degree."""
    log_q: float | None
    security_bits: float | None
    flood_bits: int | None
    tile_channels: tuple[int, ...]
    """Channels that share a ciphertext, for each linear term."""
    layouts: tuple[int, ...]
    """Layouts that were compared, for each linear term."""
    ciphertexts: tuple[int, ...]
    """Ciphertexts to the server and to the client."""
    values: int
    """Values of the activation."""
    linear: Predicted
    activation: Predicted


@dataclass(frozen=True)
class HybridProducts:
    """Products of random numbers that are made under BFV in the offline phase."""

    kind: str
    bits: int
    count: int
    """Products of one input."""
    n: int
    log_q: float
    security_bits: float | None
    primes: int
    making: Predicted


@dataclass(frozen=True)
class HybridClientFacts:
    """What a client knows of a program for two parties."""

    network: str
    program_hash: str
    reveals_accumulators: bool
    """Whether the client sees every accumulator, and with them much of the weights."""
    keys: Predicted
    """Keys, once for a session."""
    material: Predicted
    """Random material of the offline phase, for one input."""
    online: Predicted
    """The online phase of one input."""
    layers: tuple[HybridLayer, ...]
    products: tuple[HybridProducts, ...]

    def to_json(self) -> records.Json:
        """As data for JSON."""
        return records.to_json(self)

    def costs(self, link: Link) -> HybridCosts:
        """Predicted seconds of both phases, for one input."""
        offline = link.seconds(self.keys) + link.seconds(self.material)
        return HybridCosts(offline, link.seconds(self.online))


@dataclass(frozen=True)
class HybridFacts(HybridClientFacts):
    """What a program for two parties states."""

    statistical_bits: int
    """Floods hide weights to a distance of ``2**-statistical_bits``."""
    log2_distance: float
    """log2 of the distance that the floods leave for one input."""

    @property
    def hidden_inputs(self) -> int:
        """Inputs of one client whose distances add up to the bound."""
        return int(2.0 ** (-self.statistical_bits - self.log2_distance))


@dataclass(frozen=True)
class HybridCosts:
    """Predicted seconds of a session, for one input."""

    offline: float
    online: float

    def to_json(self) -> records.Json:
        """As data for JSON."""
        return records.to_json(self)


@dataclass(frozen=True)
class Measured:
    """What a part of a session took at one party."""

    seconds: float
    sent: int
    """Bytes."""
    received: int
    """Bytes."""
    rounds: int


@dataclass(frozen=True)
class LayerReport:
    """What a layer took."""

    name: str
    linear: Measured
    activation: Measured


@dataclass(frozen=True)
class SessionReport:
    """What a session took."""

    inputs: int
    handshake: Measured
    offline: Measured
    online: Measured
    layers: tuple[LayerReport, ...]

    def to_json(self) -> records.Json:
        """As data for JSON."""
        return records.to_json(self)


@dataclass(frozen=True)
class Listening:
    """A server waits for clients."""

    event: str
    address: str
    """HOST:PORT."""
    certificate_hash: str
    """What clients trust."""
    program_hash: str
    log2_distance: float
    inputs_of_client: int
    """Inputs of one client that are answered."""
    any_client: bool


@dataclass(frozen=True)
class Connected:
    """A client has connected."""

    event: str
    address: str


@dataclass(frozen=True)
class Served:
    """A session has ended well."""

    event: str
    address: str
    client: str | None
    """Hash of the client's certificate. All clients without one count together."""
    inputs: int
    """Inputs of this client so far."""
    log2_distance: float
    """log2 of the distance for all of them."""
    report: SessionReport


@dataclass(frozen=True)
class Failed:
    """A session has failed."""

    event: str
    address: str
    reason: str


Event: TypeAlias = Listening | Connected | Served | Failed

EVENTS: Final[dict[str, type[Event]]] = {
    "listening": Listening, "connected": Connected, "served": Served, "failed": Failed,
}  # fmt: skip


def event_of(text: str) -> Event:
    """An event from the text of the core."""
    data = json.loads(text)
    if "from" in data:
        data["address"] = data.pop("from")
    event: Event = records.read(EVENTS[data["event"]], data)
    return event


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
        link: Link = Link(),
        reveal_accumulators: bool = False,
        inputs_per_client: int = HIDDEN_INPUTS,
    ) -> HybridModel:
        """Compile an integer network for two parties, with layouts that suit a connection.

        Floods hide the weights from a client over ``inputs_per_client`` inputs together. With
        ``reveal_accumulators`` the client applies the tables, and could compute weights from what
        it sees.

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
        """Parameters, security, rounds and bytes, and what is hidden."""
        return records.read(HybridFacts, json.loads(self.native.report()))

    def costs(self, link: Link = Link()) -> HybridCosts:
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
        """Serve clients until ``hear`` raises or so many ``sessions`` have ended.

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
        classes: int = data.pop("classes")
        description = {name: data.pop(name) for name in ("input", "interface")}
        self.facts = records.read(HybridClientFacts, data)
        """Parameters, security, rounds and bytes of the server's program."""
        self.boundary = Boundary.of_description(description, classes)
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
    """What the server's owner is told."""


def make_identity() -> Identity:
    """A fresh identity, for a client or a server."""
    return Identity(*_native.hybrid_identity())


def certificate_hash(path: File) -> str:
    """The hash of the certificate in a file in PEM form."""
    return _native.hybrid_certificate_hash(Path(path))


@dataclass(frozen=True)
class PackingComparison:
    """An encrypted layer in coefficients, as the mode packs it, and in slots."""

    layer: str
    used: str
    """The packing of the mode."""
    used_seconds: float
    slots: tuple[str, ...]
    """The cheapest packing in slots, for each term."""
    slots_seconds: float | None
    """``None`` if no packing in slots takes the layer."""
    compared: int
    """Packings in slots that were compared."""

    @property
    def cheaper_in_slots(self) -> bool:
        """Whether slots would be cheaper."""
        return self.slots_seconds is not None and self.slots_seconds < self.used_seconds


def compare_packings(
    network: IntNetwork, facts: HybridClientFacts, link: Link
) -> tuple[PackingComparison, ...]:
    """For each encrypted layer, what it takes beside the cheapest packing in slots.

    Shares modulo a power of two have no slots, so the mode packs values in coefficients, as
    ``c2pc`` does, in the layout that takes the least time on this connection. The seconds of
    packings in slots are the planner's, for the core that the mode's predictions are for: of the
    server, one thread, and of ciphertexts on their way, without the floods and keys that the mode
    would need too.
    """
    terms: dict[str, list[tuple[str, float] | None]] = {}
    compared: dict[str, int] = {}
    for name, shape, _weights in _native.packing_layers(network.to_json()):
        layer = next(
            layer.name
            for layer in facts.layers
            if name == layer.name or name.startswith(f"{layer.name} term ")
        )
        choice = _native.packing_choice(
            shape, "bfv", 13, link.bytes_per_second, _native.HYBRID_CORE
        )
        seconds = {
            row["packing"]: row["seconds"] + row["moving_seconds"]
            for row in choice["candidates"]
            if row["packing"] != "c2pc"
        }
        compared.setdefault(layer, len(seconds))
        best = min(seconds, key=seconds.__getitem__) if seconds else None
        # Without candidates, its windows fit no row of slots.
        terms.setdefault(layer, []).append(None if best is None else (best, seconds[best]))
    linear = {layer.name: layer.linear for layer in facts.layers}
    return tuple(
        compared_layer(layer, link.seconds(linear[layer], waiting=False), best, compared[layer])
        for layer, best in terms.items()
    )


def compared_layer(
    layer: str, used: float, terms: Sequence[tuple[str, float] | None], compared: int
) -> PackingComparison:
    """The comparison of a layer, of the cheapest packing of each of its terms."""
    known = [best for best in takewhile(lambda best: best is not None, terms) if best]
    seconds = sum(each for _, each in known) if len(known) == len(terms) else None
    slots = tuple(name for name, _ in known)
    return PackingComparison(layer, "c2pc", used, slots, seconds, compared)
