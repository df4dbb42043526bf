"""A compiled network: the half of a deployment with the weights."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from operator import index
from pathlib import Path
from typing import Any, Final, TypeAlias

from palladion import _native
from palladion.choices import Choices
from palladion.client import BYTES, Client
from palladion.errors import UsageError
from palladion.facts import Costs, Facts
from palladion.key_files import KeyFile
from palladion.machines import Machine, SpatialSummary
from palladion.nn.ends.boundary import Boundary
from palladion.nn.integers.network import IntNetwork
from palladion.runs import Answer, Progress
from palladion.secret import Secret
from palladion.support import files, memory
from palladion.support.records import Json
from palladion.targets import CPU, Logged, Prepared, Save, Target
from palladion.traces import Trace

WORD_SIZES: Final = range(32, 65)
"""Bits of the words of machines for which networks are compiled. A product of a network's residuals
takes 32 bits, and no modulus has more than 64."""

MOST_QUERIES = 1 << 40
"""The most answers over which floods hide the noise of outputs."""

DEFAULT_QUERIES = 1 << 20
"""The answers over which they hide it unless another number is given."""


Profile: TypeAlias = "_native.Terms | KeyFile | str | os.PathLike[str]"
"""A source of a key profile: terms, a file of keys, or the path of either."""


class CompiledModel:
    """A program over ciphertexts, for the server. It has the model's weights.

    A client needs its :attr:`terms` alone, which have no weight: :meth:`save` writes them to a file
    of their own.
    """

    def __init__(self, native: _native.Program) -> None:
        self.native = native
        """The program of the core."""
        self.terms = native.terms()
        """The part of the program that a client must know."""
        self.boundary = Boundary.of_terms(self.terms)
        """Conversion between the model's arrays and the network's integers."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied as its program."""
        return CompiledModel, (self.native,)

    @classmethod
    def of_network(
        cls,
        network: IntNetwork,
        batch: int = 1,
        *,
        words: int | None = None,
        hide_model: bool = False,
        queries: int = DEFAULT_QUERIES,
        failure: float = -40.0,
        profile: Profile | None = None,
    ) -> CompiledModel:
        """Compile an integer network: see :meth:`palladion.Model.compile`.

        A run is wrong with a probability of at most ``2**failure``.

        Raises
        ------
        NetworkError
            If the network cannot be evaluated under encryption, or not with such moduli, or not
            with floods.
        UsageError
            If ``batch`` inputs do not fit, if ``words`` is out of range, if ``queries`` is
            out of range, or if ``failure`` is above -40.
        """
        if words is not None and whole(words, f"words of {words!r} bits") not in WORD_SIZES:
            raise UsageError(f"words of {words!r} bits, expected {WORD_SIZES[0]} to "
                             f"{WORD_SIZES[-1]}, or None for any")  # fmt: skip
        count = whole(batch, f"a batch of {batch!r}")
        answers = whole(queries, f"{queries!r} queries")
        if not 1 <= answers <= MOST_QUERIES:
            raise UsageError(f"{answers} queries, expected 1 to 2**40")
        flooded = answers if hide_model else None
        text, like = network.to_json(), None if profile is None else profile_of(profile)
        return cls(_native.compile(text, max(count, 0), failure, words, flooded, like))

    @classmethod
    def with_choices(cls, network: IntNetwork, batch: int = 1) -> tuple[CompiledModel, Choices]:
        """As :meth:`of_network`, also with the candidates that the compiler compared."""
        program, choices = _native.compile_with_choices(network.to_json(), batch)
        return cls(program), Choices.of(choices)

    @cached_property
    def facts(self) -> Facts:
        """Parameters, security, batch, steps, noise and failure, of the verified program alone."""
        return Facts.of_program(self.native, self.boundary.interface.warnings)

    def costs(self) -> Costs:
        """Memory and work of a run, and its worst step. It prepares the program for runs."""
        return self._costs

    @cached_property
    def _costs(self) -> Costs:
        return Costs.of_program(self.native)

    def client(self, secret: Secret | None = None) -> Client:
        """A client with a secret, by default a fresh one from the operating system's randomness."""
        return Client.generate(self.terms) if secret is None else Client.of(self.terms, secret)

    def check_run(self, target: str | Target = CPU, *, keys_are_loaded: bool = False) -> None:
        """Check that this machine has the memory for a run on the CPU, or has the device.

        The memory of a device is checked by :meth:`prepare`.

        Raises
        ------
        BudgetError
            If a run needs more memory than is left.
        UsageError
            If this machine has no such device.
        """
        chosen = Target.of(target)
        if chosen.name == "cpu":
            memory.check_run(self.facts.network, self.costs(), keys_are_loaded=keys_are_loaded)
        else:
            chosen.place()

    @contextmanager
    def reserved(
        self, target: str | Target = CPU, *, keys_are_loaded: bool = False
    ) -> Iterator[None]:
        """As :meth:`check_run`, and reserve the memory for the body: other processes of this user
        do not count on it."""
        chosen = Target.of(target)
        if chosen.name != "cpu":
            chosen.place()
            yield
            return
        name, costs = self.facts.network, self.costs()
        with memory.reserved_run(name, costs, keys_are_loaded=keys_are_loaded):
            yield

    def prepare(
        self,
        target: str | Target = CPU,
        checkpoint: bytes | None = None,
        *,
        saving: bool = False,
    ) -> Prepared:
        """Bring the program to a target, for any number of queries.

        The result is called as :meth:`run` is, without a target. With a ``checkpoint``, it goes on
        from there, for the query that the checkpoint is of. With ``saving`` it can save more.

        Raises
        ------
        BudgetError
            If the target has too little memory.
        UsageError
            If this machine has no such device, the program's moduli do not fit it, or the
            checkpoint is one of another program.
        """
        prepared = Target.of(target).prepare(self.native, checkpoint, saving=saving)
        return Logged(prepared, self.terms.program_id)

    def run(
        self,
        keys: _native.EvaluationKeys | bytes | bytearray,
        query: _native.Query | bytes | bytearray,
        progress: Progress | None = None,
        *,
        target: str | Target = CPU,
        checkpoint: bytes | None = None,
        save: Save | None = None,
    ) -> Answer:
        """Run the program on ciphertexts: the server's half.

        Parameters
        ----------
        keys, query
            The client's keys, or their bytes. Keys that serve many queries are better read once,
            by :meth:`keys`.
        progress
            Called with the current step, the work done and the total work. If it returns False,
            the run stops.
        target
            ``"cpu"``, ``"xla"``, or a :class:`palladion.Target` with a device.
        checkpoint
            Bytes that an earlier run of the query saved, on any target: the run goes on from there.
        save
            Called with the bytes of a checkpoint after each layer but the last.

        Raises
        ------
        BudgetError
            If the run needs more memory than is left.
        FormatError
            If the checkpoint is damaged, or of another program or query.
        StoppedError
            If ``progress`` returned False.
        UsageError
            If keys or query are something else, or were made for another program; if this machine
            has no such device.
        """
        keys = self.keys(bytes(keys)) if isinstance(keys, BYTES) else keys
        query = self.query(bytes(query)) if isinstance(query, BYTES) else query
        if not isinstance(keys, _native.EvaluationKeys):
            raise UsageError(f"keys of type {type(keys).__name__}, expected keys of Client.keys, "
                             "or their bytes")  # fmt: skip
        if not isinstance(query, _native.Query):
            raise UsageError(f"a query of type {type(query).__name__}, expected one of "
                             "Client.encrypt, or its bytes")  # fmt: skip
        with self.reserved(target, keys_are_loaded=True):
            prepared = self.prepare(target, checkpoint, saving=save is not None)
            return prepared(keys, query, progress, save)

    def keys(self, data: bytes, *more: bytes) -> _native.EvaluationKeys:
        """Read a client's evaluation keys from the bytes of a file, or of several that complete
        each other. Keys that this program does not need are passed over.

        Raises
        ------
        ExpiredError
            If their life has ended.
        FormatError
            If they are damaged, or of other parameters.
        KeyMismatch
            If the files belong to different secrets.
        MissingKeyError
            If keys are missing.
        """
        return _native.EvaluationKeys.from_bytes(self.terms, data, *more)

    def open_keys(
        self, path: str | os.PathLike[str], *more: str | os.PathLike[str]
    ) -> _native.EvaluationKeys:
        """Read a client's evaluation keys from a file, or from several that complete each other.

        The keys are in memory while :func:`palladion.set_key_memory` has room for them, which keys
        that were opened later may take. A run reads them again if they have left the memory, so the
        files must stay as they are. ``release()`` of the result drops them at once.

        Raises
        ------
        BudgetError
            If they need more memory than is left.
        DataError
            If a file cannot be read.
        ExpiredError
            If their life has ended.
        FormatError
            If they are damaged, or of other parameters.
        KeyMismatch
            If the files belong to different secrets.
        MissingKeyError
            If keys are missing.
        """
        paths = [Path(path), *map(Path, more)]
        starts = [files.read(path, files.START) for path in paths]

        def opened(_start: bytes) -> _native.EvaluationKeys:
            return _native.EvaluationKeys.open(self.terms, paths)

        return files.parsed(paths[0], opened, b"EKEY", starts[0])

    def query(self, data: bytes) -> _native.Query:
        """Read a client's encrypted inputs from their bytes."""
        return _native.Query.from_bytes(self.terms, data)

    def text(self) -> str:
        """The program in its text form, one line for each step."""
        return self.native.to_text()

    def recording(self) -> bytes:
        """The operations on ciphertexts of a run, as text."""
        return self.native.record()

    def lower(self) -> Trace:
        """The trace of a run: every instruction on limbs that it executes."""
        data, counts = self.native.lower()
        return Trace(data.decode(), counts=counts)

    def export(self, folder: str | os.PathLike[str], platforms: Sequence[str] = ()) -> Json:
        """Write the program as a bundle of StableHLO, which runs where only JAX is: docs/xla.md.

        ``platforms`` are ``cpu``, ``cuda``, ``rocm``, ``tpu``; by default all but ``rocm``. Returns
        the manifest of the bundle.

        Raises
        ------
        UsageError
            If a modulus of the program has more than 32 bits, or the folder cannot be made.
        """
        from palladion import xla

        xla.enable()
        from palladion.xla.bundle import write

        chosen = tuple(dict.fromkeys(platforms)) or write.DEFAULT
        return write.write(self.native, Path(folder), chosen)

    def check_trace(self, trace: Trace) -> None:
        """Check that a trace is that of this program, to the last instruction.

        Raises
        ------
        FormatError
            The message names the first instruction that differs.
        """
        trace.native.check(self.native)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the program, for servers, and beside it ``PATH.client``, for clients.

        A pipe or a device gets the program alone: `palladion split` writes the other of it.
        """
        program = Path(path)
        if not files.streams(program):
            beside = client_file(program)
            files.check(program)
            files.write(beside, self.terms.to_bytes())
        files.write(program, self.to_bytes())

    def to_bytes(self) -> bytes:
        """The bytes of a program's file."""
        return self.native.to_bytes()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CompiledModel:
        """Read a program that :meth:`save` or ``palladion compile`` wrote."""
        return cls(files.parsed(Path(path), _native.Program.from_bytes, b"PROG"))


NAMED: Final = ("small", "medium", "large")
"""Profiles of this package: the parameters that MNIST with weights of 7 bits, LeNet-5 and ResNet-20
get by themselves."""


def words_of_machine(machine: Machine) -> int:
    """Bits of the words for which a network is compiled to run on a machine.

    Raises
    ------
    FormatError
        If the machine's file is no machine.
    UsageError
        If no network runs on it.
    """
    summary = machine.summary()
    title = machine.titled(summary.name)
    if isinstance(summary, SpatialSummary):
        raise UsageError(f"{title} is an array of tiles, which runs bootstrapping of TFHE and no "
                         "networks: name a machine of vector units, such as athena")  # fmt: skip
    if summary.word_bits < WORD_SIZES[0]:
        raise UsageError(f"{title} has words of {summary.word_bits} bits, and a network needs "
                         f"{WORD_SIZES[0]}: a product of its residuals takes that much "
                         "(docs/adr/0020), so such a machine runs circuits alone")  # fmt: skip
    return min(summary.word_bits, WORD_SIZES[-1])


def is_named(source: Profile | None) -> bool:
    """True if a profile is one of this package. A file of that name is given as ``./small``."""
    return isinstance(source, (str, Path)) and str(source) in NAMED


def profile_of(source: Profile) -> str:
    """The profile of keys, as JSON: of terms, of a client's file or a file of evaluation keys, or
    that of a name of :data:`NAMED`.

    Raises
    ------
    DataError
        If the file cannot be read.
    FormatError
        If it is of another kind.
    UsageError
        If the source is something else.
    """
    if isinstance(source, _native.Terms):
        return source.profile()
    if isinstance(source, KeyFile):
        return source.profile
    if is_named(source):
        return (Path(__file__).parent / "data" / f"profile_{source}.json").read_text()
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        data = files.read(path)
        if files.kind(data) == files.OURS[b"CLNT"][0]:
            return files.parsed(path, _native.Terms.from_bytes, b"CLNT", data).profile()
        return KeyFile.read(path).profile
    raise UsageError(f"a profile of type {type(source).__name__}, expected small, medium, large, "
                     "the path of a client's file or of evaluation keys, or terms")  # fmt: skip


def client_file(program: Path) -> Path:
    """Where the client's file of a program lies: beside it, with the ending ``.client``."""
    return program.with_name(f"{program.name}.client")


def whole(number: int, words: str) -> int:
    """A whole number of any type that can be an index.

    Raises
    ------
    UsageError
        If it is none. The message begins with ``words``.
    """
    try:
        return index(number)
    except TypeError as error:
        raise UsageError(f"{words}, expected a whole number") from error
