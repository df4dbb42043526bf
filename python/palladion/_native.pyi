"""The Rust core. Every function releases the interpreter lock while it works.

Ctrl-C is noticed within a step of the work, and comes out as ``KeyboardInterrupt``.
"""

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from typing import Any, Protocol, TypeAlias, final

__version__: str
__commit__: str
"""The commit that this module was built of, with ``+changes`` if tracked files differed from it. It
is ``unknown`` if the build could not tell."""

Fields: TypeAlias = dict[str, Any]
"""What the core says of something, by name: the fields of a dataclass of this package."""

Progress = Callable[[str, float, float], bool | None]
"""Called with the current step, the seconds predicted for the work done, and those for all work.

On another machine only their ratio is meaningful. Returning ``False`` or raising an exception stops
the run.
"""

def set_threads(count: int) -> None:
    """Set the number of threads to use from now on, at least 1."""

def set_key_memory(budget: int) -> int:
    """Set the bytes of memory for keys that are opened from files, and return the number before.
    It is 2.5 GB at first.

    Keys that are longest unused are dropped where they exceed it, and read again for the next run
    that uses them. The latest stay, even if they alone exceed it.
    """

def key_memory() -> int:
    """Bytes of memory that keys take now that were opened from files, with the rotations that runs
    have made of them."""

def machine_factors() -> dict[str, float]:
    """For each kind of pass over limbs, seconds that this machine takes for a second of the one
    on which predictions were measured."""

def info() -> Fields:
    """The kernels chosen and available, and the number of threads."""

def packing_names() -> list[str]:
    """Names of the packings of linear layers."""

def packing_layers(network: str) -> list[tuple[str, list[int], list[int]]]:
    """The convolutions and dense maps of an integer network: name, shape, weights."""

def packing_choice(
    shape: Sequence[int], scheme: str, log_n: int, bandwidth: float | None, factor: float | None
) -> Fields:
    """All packings of a layer by price, and why others are refused.

    Seconds are of this machine, or of one that is ``factor`` times as slow as the one on which
    predictions were measured."""

def packing_trial(
    name: str,
    layer: tuple[Sequence[int], list[int] | None],
    values: list[int] | None,
    parameters: tuple[str, int],
    most: int,
    hear: Callable[[int, int], object] | None,
) -> Fields:
    """An encrypted run of a layer, compared with the layer on integers.

    ``layer`` is a shape and weights. Where weights or values are None, they are random. If the
    layer is too large, a part of it is run, or with ``hear`` or values all of its parts."""

def packing_workload(
    name: str, shape: Sequence[int], log_n: int, most: int
) -> tuple[Workload, Fields]:
    """The instructions of a layer in a packing, or of a part of it, and what was taken."""

def bench(what: str, samples: int, hear: Callable[[Fields], None]) -> None:
    """Measure ``ntt``, ``tfhe`` or another; ``hear`` is called with one row per measurement."""

def machine_names() -> list[str]:
    """Names of the machines that come with the package."""

def machine_file(name: str) -> str:
    """The file of a packaged machine, in TOML."""

def machine_parts(machine: str) -> list[tuple[str, float, float]]:
    """Components of a vector machine: names, square millimetres, watts if always busy.

    Raises
    ------
    FormatError, UsageError
        If the text is no such machine.
    """

def benchmark_names() -> list[tuple[str, str]]:
    """Names of the programs that papers measure, and what each is."""

def benchmark_circuit(name: str, digit_limbs: int) -> tuple[SchemeParams, Circuit]:
    """A benchmark in words of 32 bits as a circuit.

    Raises
    ------
    UsageError
        If there is no such benchmark, no such digit, or it is no circuit.
    """

def benchmark_trace(name: str, digit_limbs: int) -> tuple[str, Fields]:
    """The trace of a benchmark in words of 32 bits, and its parameters and counts.

    ``digit_limbs`` are the limbs of a digit of key switching, at most.

    Raises
    ------
    SecurityError
        If special moduli for such digits leave less than 128 bits of security, unless the name
        says ``insecure``.
    UsageError
        If there is no such benchmark, or no such digit.
    """

def simulate_products(machine: str, n: int, elements: int) -> dict[str, float]:
    """Products on a multiplier of ``elements`` elements. ``machine`` is the text of its file.

    ``latency_us`` is for a single product, ``interval_us`` from one to the next, ``computing`` a
    share, ``passes`` the number of passes of a product through the ``elements``.

    Raises
    ------
    FormatError
        If the text is not a machine.
    UsageError
        If the multiplier does not fit the machine.
    """

def simulate_fft_products(machine: str, n: int, digit: int, exact: bool) -> dict[str, float]:
    """Products on a pipeline of transforms, for digits of at most ``digit`` in size.

    ``exact`` or in the three passes of the paper. The rest is as :func:`simulate_products` has it.

    Raises
    ------
    FormatError, UsageError
        As :func:`simulate_products`.
    """

def simulate_pbs(
    machine: str,
    sizes: tuple[int, int, int, tuple[int, int], tuple[int, int]],
    multiplier: str,
) -> Fields:
    """A bootstrapping. ``sizes``: LWE dimension, rank, ring degree, and bits and number of the
    digits of external products and of the key switch. ``multiplier``: ``direct``, ``fft`` or
    ``fft as printed``.

    See ``simulate pbs --json`` in docs/cli.md.

    Raises
    ------
    FormatError, UsageError
        As :func:`simulate_products`.
    """

def emit_pbs(
    machine: str,
    sizes: tuple[int, int, int, tuple[int, int], tuple[int, int]],
    multiplier: str,
) -> list[tuple[str, bytes]]:
    """A bootstrapping as source code for AI engines, with words for a run: paths in a folder, and
    contents. The arguments are those of :func:`simulate_pbs`.

    Raises
    ------
    FormatError, UsageError
        As :func:`simulate_products`, and for multipliers that are not direct.
    """

def machine_summary(machine: str) -> Fields:
    """What a machine is: its ``family``, its ``name``, and sizes.

    Raises
    ------
    FormatError
        If the text is no machine.
    """

def machine_varied(machine: str, changes: Sequence[tuple[str, int]]) -> str:
    """The file of a vector machine with other integers, and the areas and energies that follow.

    Raises
    ------
    FormatError
        If the text is no machine, a key is none of its integers, or a value is out of range.
    """

def machine_scaling(machine: str) -> str:
    """With which powers of what areas and watts grow in :func:`machine_varied`, in words.

    Raises
    ------
    FormatError
        If the text is no vector machine.
    """

@final
class Workload:
    """The instructions on limbs of a trace.

    Raises
    ------
    FormatError
        If the text is no trace.
    """

    def __new__(cls, trace: str) -> Workload: ...
    def simulate(
        self, machine: str, passes: tuple[str, str], progress: Progress | None = None
    ) -> Simulation:
        """A checked schedule on a machine, by the text of its file.

        ``passes`` are the order of operations, ``hints`` or ``program``, and the rule of eviction,
        ``belady`` or ``lru``.

        Raises
        ------
        FormatError
            If the text is no machine.
        UsageError
            If the trace does not fit the machine.
        """

@final
class Simulation:
    """A checked schedule of a program on a vector machine."""

    def report(self) -> Fields:
        """See ``simulate run --json`` in docs/cli.md."""

    def series(self, parts: int) -> Fields:
        """Shares of time by equal parts of the run.

        ``cycles`` of a part, ``busy`` by kind of unit, ``works`` by kind of clusters, ``limbs`` in
        the scratchpad, and its ``capacity``.
        """

    def timeline(self, window: tuple[int, int] | None = None) -> bytes:
        """A file for Perfetto: of all cycles, or of those from the first to before the second.

        Raises
        ------
        UsageError
            If the window is empty, or has more slices than a viewer opens.
        """

    def streams(self) -> Streams:
        """The instruction streams, with rows and registers."""

@final
class Streams:
    """The instruction streams of a schedule of a program on a vector machine."""

    @staticmethod
    def from_bytes(machine: str, work: Workload, data: bytes) -> Streams:
        """Read and verify the bytes of streams.

        Raises
        ------
        FormatError
            If they are malformed, or contradict machine or work.
        """

    @staticmethod
    def from_texts(machine: str, work: Workload, texts: Sequence[str]) -> Streams:
        """As :meth:`from_bytes`, from the texts in their order."""

    def to_bytes(self) -> bytes:
        """The bytes of a file."""

    def to_texts(self) -> list[tuple[str, str]]:
        """The name of each stream, and its text."""

    def sizes(self) -> list[tuple[str, int, int]]:
        """The name of each stream, its number of instructions, and their bytes."""

    def execute(
        self,
        trace: Trace,
        keys: EvaluationKeys,
        query: Query,
        progress: Callable[[str, float, float], object] | None = None,
    ) -> tuple[bytes, str]:
        """Execute the streams. Returns the bytes of the answer, and its ``raw_digest``.

        Raises
        ------
        FormatError
            If a place is read before it was written, or has another limb than the trace says.
        UsageError
            If keys or query are of another program.
        StoppedError
            If ``progress`` returned False.
        """

    def execute_circuit(
        self,
        trace: CircuitTrace,
        outside: WavesOutside,
        progress: Callable[[str, float, float], object] | None = None,
    ) -> None:
        """As :meth:`execute`, for a circuit: its outputs are stored into the outside."""

def algorithm_2(digits: Sequence[int], words: Sequence[int], rows: int, digit: int) -> Fields:
    """A product by ATHENA's algorithm 2 as printed: its errors, and the limbs that make it
    exact."""

def compile(
    network_json: str,
    batch: int,
    failure: float = -40.0,
    words: int | None = None,
    flooded_answers: int | None = None,
    profile: str | None = None,
) -> Program:
    """Compile an integer network for ``batch`` images per run.

    A run is wrong with a probability of at most ``2**failure``. Every modulus fits a
    word of ``words`` bits, 32 to 64. With ``flooded_answers`` noise hides the noise of the outputs
    over so many answers, at most 2**40.

    Raises
    ------
    NetworkError
        If the text is no integer network, or the network cannot be evaluated under encryption.
    UsageError
        If so many images do not fit, ``failure`` is above -40, or ``words`` is out of
        range.
    """

def compile_with_choices(
    network_json: str,
    batch: int,
    failure: float = -40.0,
    words: int | None = None,
    flooded_answers: int | None = None,
    profile: str | None = None,
) -> tuple[Program, Fields]:
    """Compile, and also return the candidates that were compared.

    The second result has the fields of ``why`` in ``inspect --why --json``, except ``marks``: see
    docs/cli.md. All seconds are predictions, on one thread.

    Raises
    ------
    NetworkError, UsageError
        As :func:`compile`.
    """

def preparations() -> int:
    """The number of programs that this process has prepared for runs: how often the server's tables
    were built."""

def keygen(terms: Known) -> tuple[SecretKey, EvaluationKeys]:
    """Generate the keys of a program from the operating system's randomness."""

@final
class Program:
    """A network compiled to operations on ciphertexts. It has the weights: it is the server's."""

    def facts(self) -> Fields:
        """What the program states: the fields of :class:`palladion.Facts` without ``warnings``.

        The server's tables are not built."""

    def costs(self) -> Fields:
        """What a run takes: the fields of :class:`palladion.Costs`.

        The program is prepared for runs: the server's tables are built."""

    def terms(self) -> Terms:
        """What a client must know of the program: no weight, bias or table."""

    def sigmas(self) -> list[float]:
        """Deviation of the rounding noise before each table, first to last."""

    def to_text(self) -> str:
        """The program in its text form."""

    def record(self) -> bytes:
        """The operations on ciphertexts of a run, as text."""

    def lower(self) -> tuple[bytes, Fields]:
        """The text of the program's trace: every instruction on limbs that a run executes.

        The second result has ``instructions`` by name, and ``passes`` over limbs by kind.
        """

    def run(
        self,
        keys: EvaluationKeys,
        query: Query,
        progress: Progress | None = None,
        checkpoint: bytes | None = None,
        save: Callable[[bytes], object] | None = None,
        span_for: int | None = None,
    ) -> tuple[Answer, Fields]:
        """Run the program on ciphertexts.

        With ``span_for``, the run is on one thread, and its report has the seconds that unlimited
        threads would take. Loops are then cut for so many threads.

        After each layer except the last, ``save`` is called with a checkpoint while the run
        continues. An exception of ``save`` stops the run. With the bytes of a checkpoint, the run
        continues from there.

        The answer shows its outputs alone, hidden by fresh randomness. The report has ``seconds``,
        and ``steps`` with ``name``, ``seconds`` and ``predicted_seconds``, all without the
        ``resumed_steps`` that were done before the checkpoint. ``raw_digest`` is the SHA-256 of the
        answer before it was hidden: all runs of a query with the same keys have the same. It is not
        for clients.

        Raises
        ------
        FormatError
            If the checkpoint is damaged, or of another program or query.
        UsageError
            If keys or query were made for another program.
        StoppedError
            If ``progress`` returned ``False``.
        """

    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(data: bytes) -> Program:
        """Read the bytes of :meth:`to_bytes`. Raises ``FormatError`` for other bytes."""

@final
class Terms:
    """What a client must know of a program, without the program: parameters, keys, places of inputs
    and outputs, and the meaning of the model's arrays."""

    def facts(self) -> Fields:
        """The fields of :class:`palladion.ClientFacts`."""

    def interface(self) -> str | None:
        """JSON with ``input`` and ``interface`` of the network's file."""

    def outputs(self) -> list[Fields]:
        """The ciphertexts of an answer.

        Each has ``moduli``, pairs ``shown`` of the image and the coefficient of an output, the bits
        of the ``flood`` or ``None``, and whether it has ``parts`` of outputs that are sums over
        several ciphertexts.
        """

    @property
    def program_id(self) -> str:
        """Identity of the program: 64 hexadecimal digits. Its answers carry it."""

    @property
    def layout_id(self) -> str:
        """Identity of the input layout: 64 hexadecimal digits. Queries carry it."""

    @property
    def profile_id(self) -> str:
        """Identity of the profile of the evaluation keys: 64 hexadecimal digits."""

    def profile(self) -> str:
        """The profile of the evaluation keys, as JSON."""

    def missing_keys(self, *profiles: str) -> tuple[int, int]:
        """The number of evaluation keys that the program needs beyond some profiles, and their
        bytes in a file. Raises ``FormatError`` if their parameters are others, so that no key
        serves."""

    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(data: bytes) -> Terms:
        """Read the bytes of :meth:`to_bytes`. Raises ``FormatError`` for other bytes."""

Known: TypeAlias = Terms | Program | Trace
"""What names the terms on which files are exchanged."""

@final
class Secret:
    """The secret of a client as its file has it: open or sealed."""

    @staticmethod
    def generate(created: int | None = None, expires: int | None = None) -> Secret:
        """Generate a secret from the operating system's randomness. Times are seconds since
        1970."""

    @property
    def key(self) -> str:
        """Identity: 32 hexadecimal digits."""

    @property
    def created(self) -> int | None:
        """When it was made, in seconds since 1970."""

    @property
    def expires(self) -> int | None:
        """From when on it is not to be used, in seconds since 1970."""

    @property
    def seal(self) -> str | None:
        """``"passphrase"``, ``"wrapped"``, or None if whoever has the bytes has the secret."""

    @property
    def wrapped_by(self) -> str | None:
        """Who wrapped it."""

    def with_life(self, created: int | None = None, expires: int | None = None) -> Secret:
        """The secret with another life."""

    def sealed(self, passphrase: bytes) -> Secret:
        """The secret, sealed by a passphrase."""

    def unsealed(self, passphrase: bytes) -> Secret:
        """The secret without its seal. Raises ``SealError`` for another passphrase."""

    def wrapped(self, wrap: Callable[[bytes, bytes], bytes], by: str) -> Secret:
        """The secret, wrapped by ``wrap(seed, label)``."""

    def unwrapped(self, unwrap: Callable[[bytes, bytes], bytes]) -> Secret:
        """The secret without its wrapping, which ``unwrap(wrapped, label)`` takes off."""

    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(data: bytes) -> Secret: ...

@final
class SecretKey:
    """The client's key, for one program. It never leaves the client."""

    @staticmethod
    def of(terms: Known, secret: Secret) -> SecretKey:
        """A secret at work for a program. Raises ``UsageError`` if it is sealed."""

    @staticmethod
    def generate(terms: Known) -> SecretKey:
        """Generate a key from the operating system's randomness."""

    def secret(self) -> Secret:
        """The secret, apart from the program."""

    def missing_keys(self, also: Sequence[Known], have: Sequence[str]) -> tuple[int, int]:
        """The number of evaluation keys that the program and the programs ``also`` need beyond the
        profiles ``have``, and the bytes of their file."""

    def evaluation_keys(self) -> EvaluationKeys:
        """The evaluation keys that the program needs."""

    def write_evaluation_keys(self, path: str, also: Sequence[Known], have: Sequence[str]) -> int:
        """Generate the keys of :meth:`missing_keys` and write them to a new file. Returns its
        length in bytes.

        Only one key at a time is in memory. :meth:`evaluation_keys` holds all of them.
        """

    def encrypt(self, images: Sequence[Sequence[int]]) -> Query:
        """Encrypt at most a batch of images. Raises ``UsageError`` if they do not fit the
        program."""

    def decrypt(self, answer: Answer, query: Query) -> tuple[list[list[int]], float]:
        """The logits of each image of ``query``, and the noise margin left, in bits.

        Raises
        ------
        FormatError
            If ``answer`` is the answer to another query.
        UsageError
            If ``answer`` has another number of images than ``query``.
        NoiseError
            If no margin is left, so that the logits may be wrong.
        """

    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(terms: Known, data: bytes) -> SecretKey: ...

@final
class EvaluationKeys:
    """The keys with which the server computes on ciphertexts. Public."""

    @property
    def key(self) -> str:
        """Identity of their secret: 32 hexadecimal digits, zeros if they do not state one."""

    @property
    def expires(self) -> int | None:
        """From when on they are not to be used, in seconds since 1970."""

    def profile(self) -> str:
        """Their profile, as JSON."""

    def byte_len(self) -> int:
        """Length of :meth:`to_bytes`."""

    def terms(self) -> Terms:
        """The terms of the program with which they were read or made."""

    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(terms: Known, data: bytes, *more: bytes) -> EvaluationKeys:
        """Read keys from the bytes of a file, or of several that complete each other."""

    @staticmethod
    def open(terms: Known, paths: Sequence[PathLike[str]]) -> EvaluationKeys:
        """Read keys from a file, or from several that complete each other. They are read again when
        they are used after they have left the memory for other keys."""

    @property
    def in_memory(self) -> bool:
        """Whether they are in memory. Those of a file are read again if not."""

    def release(self) -> bool:
        """Drop keys that lie in files from the memory. A run that uses them keeps them to its end.
        Returns whether they were there."""

    @staticmethod
    def head(path: PathLike[str]) -> tuple[str, str, int | None, int | None]:
        """The profile of a file of keys, the identity of their secret, when that was made and until
        when they may be used, in seconds since 1970."""

@final
class PublicKey:
    """The public key of a secret, for inputs of a program. It encrypts and does not decrypt."""

    @staticmethod
    def of(secret: SecretKey) -> PublicKey:
        """A fresh public key of a secret."""

    @property
    def key(self) -> str:
        """Identity of the secret that decrypts: 32 hexadecimal digits."""

    @property
    def expires(self) -> int | None:
        """From when on it is not to be used, in seconds since 1970."""

    def terms(self) -> Terms:
        """The terms of the program with which it was read or made."""

    def check(self) -> None:
        """Refuse a key that may not be used, or a program that takes no inputs under it.

        Raises
        ------
        ExpiredError
            If its life has ended.
        FormatError
            If its level is below that of the program's inputs.
        UsageError
            If the program promises nothing of inputs under a public key.
        """

    def encrypt(self, images: Sequence[Sequence[int]]) -> Query:
        """Encrypt at most a batch of images. Raises as :meth:`check`, and ``UsageError`` if they do
        not fit the program."""

    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(terms: Known, data: bytes) -> PublicKey:
        """Read the bytes of :meth:`to_bytes`. Raises ``FormatError`` for other bytes, or for a key
        of other parameters than the program."""

    @staticmethod
    def head(data: bytes) -> tuple[str, str, int | None, int | None]:
        """The profile of a public key's file, the identity of its secret, when that was made and
        until when the key may be used, in seconds since 1970."""

@final
class Query:
    """Encrypted images, for the server."""

    def hash(self) -> bytes:
        """SHA-256 of the whole query. The answer names its query by it."""

    @property
    def key(self) -> str:
        """Identity of the secret under which it is encrypted: 32 hexadecimal digits, zeros if it
        does not state one."""

    @property
    def is_public(self) -> bool:
        """Whether it is encrypted under a public key."""

    def images(self) -> int:
        """Number of images in the query."""

    def terms(self) -> Terms:
        """The terms of the program that it was made for."""

    def to_bytes(self) -> bytes: ...
    @staticmethod
    def head(data: bytes) -> tuple[str | None, str | None, str, int, bool]:
        """The layout or the program that a query's file is for, the identity of its secret, the
        number of images, and whether they are encrypted under a public key."""

    @staticmethod
    def from_bytes(terms: Known, data: bytes) -> Query: ...

@final
class Trace:
    """A program as instructions on limbs. Public."""

    @staticmethod
    def from_text(text: str) -> Trace:
        """Read and verify a trace. ``FormatError`` names the line, what was found and expected."""

    def check(self, program: Program) -> None:
        """Raise ``FormatError`` unless this is the trace of a program, to the last instruction."""

    def counts(self) -> Fields:
        """Executed ``instructions`` of a replay by name, and ``passes`` over limbs by kind."""

    def replay(
        self, keys: EvaluationKeys, query: Query, progress: Progress | None = None
    ) -> tuple[bytes, str]:
        """Execute every instruction.

        Returns the bytes of the answer, and ``raw_digest`` of the report of a run.

        Raises
        ------
        UsageError
            If keys or query are of another program.
        FormatError
            If the trace needs something that they do not have.
        """

class RowMachine(Protocol):
    """A machine with a store of rows of ``N`` words of 32 bits: see docs/backends.md."""

    def begin(self) -> None:
        """Begin a run: make the stores."""

    def write(self, load: int, words: list[bytes]) -> None:
        """Write a value into its rows. There are words for each query, or once for all."""

    def run_stage(self, stage: int, first: int, count: int) -> None:
        """Run instructions of a stage."""

    def read(self, store: int) -> list[bytes]:
        """The words of a value that is stored, for each query."""

    def wait(self) -> None:
        """Return when all work is done."""

    def end_wave(self, index: int) -> None:
        """Called after each wave."""

@final
class Waves:
    """A trace as waves of independent instructions on rows.

    Arrays are bytes in this machine's order: words of 32 bits, unless stated otherwise.
    """

    @staticmethod
    def of_program(
        program: Program,
        window: int = ...,
        saving: bool = False,
        checkpoint: bytes | None = None,
    ) -> Waves:
        """Plan the trace of a program. A larger window gives fewer waves and more rows.

        With ``saving``, the trace also stores the values of a checkpoint after each layer. With a
        checkpoint, it is the rest of such a run.

        Raises
        ------
        UsageError
            If a modulus has more than 32 bits, or the checkpoint is one of another program.
        """

    @staticmethod
    def of_trace(trace: Trace, window: int = ...) -> Waves:
        """Plan the trace of a program, as ``palladion lower`` wrote it."""

    @staticmethod
    def of_circuit(trace: CircuitTrace, window: int = ...) -> Waves:
        """Plan the trace of a circuit."""

    @staticmethod
    def of_text(text: str, window: int = ...) -> Waves:
        """Plan a trace. Raises as :meth:`of_program`, and ``FormatError`` for no trace."""

    @property
    def n(self) -> int:
        """Words of a row."""

    @property
    def rows(self) -> int:
        """Rows of the store. Row 0 is zero, and row 1 is for what nobody reads."""

    @property
    def primes(self) -> list[int]:
        """The primes that instructions name by index."""

    @property
    def steps(self) -> list[str]:
        """Names of the steps."""

    def waves(self) -> bytes:
        """Four words for each wave.

        These are 0 for a load, 1 for a store, or the stage and 2; its first instruction; their
        number; its step.
        """

    def stages(self) -> list[Fields]:
        """Each ``kernel`` with its numbers of rows, and all its instructions.

        ``reads`` and ``writes`` are numbers of rows, ``arguments`` the names of an instruction's
        words. For all instructions there are ``read_rows``, ``write_rows`` and ``words``.
        Combinations have ``matrices``, conversions ``from``, ``to``, ``hat_inverse`` and
        ``matrix``: see the crate ``waves``.
        """

    def permutations(self) -> bytes:
        """Permutations, ``n`` entries each. The highest bit of an entry is the sign."""

    def places(self) -> bytes:
        """Places of extractions, ``n`` signed integers each."""

    def load_rows(self) -> list[list[int]]:
        """The rows of each value that is loaded."""

    def store_rows(self) -> list[list[int]]:
        """The rows of each value that is stored."""

    def run(
        self,
        machine: RowMachine,
        outsides: list[WavesOutside],
        progress: Progress | None = None,
        save: Callable[[bytes], object] | None = None,
    ) -> None:
        """Run the plan on a machine, for one outside or several.

        ``save`` gets the bytes of checkpoints, if an outside makes some.

        Raises
        ------
        StoppedError
            If ``progress`` returned ``False``.
        """

    def replay(self, outside: WavesOutside) -> None:
        """Execute the trace itself on the CPU, as its definition says."""

def file_places(terms: Known) -> list[tuple[str, bool, list[int]]]:
    """Where seeds and bodies lie in the payloads of the files of keys and of a query.

    For each name of a seed, whether it is the query's, and four offsets or lengths: of the seed, of
    the first body, the length of a body, and the offset behind the last one.
    """

Crossing = tuple[str, str, int, list[int], list[int]]
"""What crosses the border of a plan: ``body``, ``mask``, ``constant`` or ``result``, its name, its
stream, the indices of its primes, and its rows."""

def waves_moves(waves: Waves) -> tuple[list[Crossing], list[Crossing]]:
    """The loads of a plan, and its stores."""

def waves_constant(waves: Waves, constant: int) -> bytes:
    """The ``N`` words of a constant, signed, of 64 bits each.

    Raises
    ------
    UsageError
        If there is no such constant.
    """

@final
class WavesOutside:
    """What a trace loads from and stores to: keys and a query, or values by name."""

    @staticmethod
    def of_run(
        program: Program,
        keys: EvaluationKeys,
        query: Query,
        checkpoint: bytes | None = None,
        saving: bool = False,
    ) -> WavesOutside:
        """The keys and the query of a run, and a checkpoint from which it goes on.

        With ``saving``, the run makes checkpoints.

        Raises ``UsageError`` for those of another program.
        """

    @staticmethod
    def of_trace(trace: Trace, keys: EvaluationKeys, query: Query) -> WavesOutside:
        """The keys and the query of a trace's program."""

    @staticmethod
    def of_circuit(
        circuit: Circuit,
        params: SchemeParams,
        inputs: dict[str, bytes | CkksCiphertext | ExactCiphertext],
        keys: SchemeKeys,
    ) -> WavesOutside:
        """The inputs and keys of a circuit. Plaintexts among the inputs are those of its trace."""

    @staticmethod
    def of_values(values: dict[str, list[bytes]], seeds: dict[str, bytes]) -> WavesOutside:
        """Values by name, each a list of limbs of 64-bit words, and seeds of 32 bytes."""

    def values(self) -> dict[str, list[bytes]]:
        """The values stored so far: limbs of 64-bit words."""

    @property
    def resumed_steps(self) -> int:
        """Steps that a checkpoint had done."""

    def answer(self) -> tuple[Answer, str]:
        """The answer of a run, after all of it is stored, and ``raw_digest`` of its report."""

    def outputs(self) -> dict[str, CkksCiphertext | ExactCiphertext]:
        """The outputs of a circuit, after all of them are stored."""

@final
class Answer:
    """Encrypted results, for the client."""

    @property
    def key(self) -> str:
        """Identity of the secret that decrypts it: 32 hexadecimal digits, zeros if it does not
        state one."""

    def query_hash(self) -> bytes:
        """Hash of the query that this answer names."""

    def terms(self) -> Terms:
        """The terms of the program that it was made for."""

    def to_bytes(self) -> bytes: ...
    @staticmethod
    def head(data: bytes) -> tuple[str, str, str, int]:
        """The program that answered, the hash of the query, the identity of the secret, and the
        number of images, of an answer's file."""

    @staticmethod
    def from_bytes(terms: Known, data: bytes) -> Answer: ...

@final
class IntNetwork:
    """An integer network, checked and ready to be evaluated.

    Integers are passed as bytes in this machine's order: 16 bits each for inputs, 64 for results.
    """

    @staticmethod
    def from_json(text: str) -> IntNetwork:
        """Read and check a network. ``NetworkError`` names the fault."""

    def to_json(self) -> str:
        """The network in the current format, whatever format it was read from."""

    def shapes(self) -> list[list[int]]:
        """Channels, height and width of each layer's output."""

    def sigmas(self, sample: float) -> list[float]:
        """Deviation of the noise before each table, if a sample has the deviation ``sample``."""

    def trace(self, image: bytes) -> tuple[list[bytes], list[bytes], int]:
        """Exact evaluation of one image: accumulators and outputs of each layer, and its class."""

    def evaluate(
        self,
        images: bytes,
        sigma: float | Sequence[float] | None = None,
        seed: int = 0,
        progress: Callable[[int], bool | None] | None = None,
    ) -> tuple[bytes, bytes, list[Fields]]:
        """Logits and classes of images, and for each layer the fields of ``LayerStatistics``.

        Raises
        ------
        NetworkError
            If the images do not fit.
        StoppedError
            If ``progress``, which is called with the number of images done, returned ``False``.
        """

@final
class Inspector:
    """Runs images encrypted and compares every layer with the integer network. Needs the secret."""

    def __new__(cls, secret: SecretKey, program: Program, network_json: str) -> Inspector: ...
    def run(
        self,
        keys: EvaluationKeys,
        images: Sequence[Sequence[int]],
        progress: Progress | None = None,
    ) -> tuple[list[list[int]], float, Fields]:
        """Logits, noise margin in bits, and report of one run. Findings of all runs are added
        up."""

    def layers(self) -> list[Fields]:
        """Per layer: noise of accumulators, wrong slots, changed activations."""

    def noise(self) -> list[Fields]:
        """Per ciphertext of the first run: predicted and measured noise, in bits."""

def security_of(
    log_n: int, log_qp: float | None = None, weight: int | None = None
) -> tuple[int, int | None, Fields | None]:
    """The required bits, the largest log2(QP) that has them, and the estimate for ``log_qp``.

    The limit is for uniform ternary secrets, and ``None`` outside the table. The estimate has the
    fields of ``palladion.schemes.security.Security``. With a weight it is for a sparse secret.
    """

# The schemes, for the operators of palladion.ckks, palladion.bfv and palladion.bgv. Complex doubles
# and 64-bit integers are passed as bytes in this machine's order.

def scheme_sets() -> str:
    """All parameter sets of the schemes, and those of papers, as JSON."""

@final
class SchemeParams:
    """Checked parameters of a scheme."""

    @staticmethod
    def ckks_of_sizes(
        log_n: int,
        levels: Sequence[Sequence[int]],
        special: Sequence[int],
        digit_limbs: int | None,
        log_scale: float,
        insecure: bool,
    ) -> SchemeParams: ...
    @staticmethod
    def ckks_for_depth(log_n: int, depth: int, scale_bits: int) -> SchemeParams: ...
    @staticmethod
    def exact_of_sizes(
        scheme: str,
        log_n: int,
        levels: Sequence[int],
        special: Sequence[int],
        digit_limbs: int | None,
        t: int,
        insecure: bool,
    ) -> SchemeParams: ...
    @staticmethod
    def exact_for_depth(scheme: str, log_n: int, depth: int, t: int) -> SchemeParams: ...
    def name(self) -> str: ...
    def describe(self) -> Fields:
        """The fields of ``palladion.schemes.keys.SchemeParams``."""

    def slots(self) -> int: ...
    def fingerprint(self) -> str: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(data: bytes, insecure: bool) -> SchemeParams: ...

@final
class SchemeSecret:
    """A secret key of any scheme."""

    @staticmethod
    def generate(params: SchemeParams) -> SchemeSecret: ...
    def params_of(self) -> SchemeParams: ...
    def public_key(self) -> SchemePublic: ...
    def evaluation_keys(self, rotations: Sequence[int], conjugation: bool) -> SchemeKeys: ...
    def switch_key(self, of: SchemeSecret) -> SchemeSwitch:
        """The key that re-encrypts from the secret ``of`` for this one."""

    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(params: SchemeParams, data: bytes) -> SchemeSecret: ...

@final
class SchemePublic:
    """A public encryption key of any scheme."""

    def params_of(self) -> SchemeParams: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(params: SchemeParams, data: bytes) -> SchemePublic: ...

@final
class SchemeKeys:
    """Relinearization and Galois keys of any scheme, or those of bootstrapping."""

    def rotations(self) -> list[int]: ...
    def conjugation(self) -> bool: ...
    def nbytes(self) -> int: ...
    def params_of(self) -> SchemeParams: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(params: SchemeParams, data: bytes) -> SchemeKeys: ...

@final
class SchemeSwitch:
    """A key that re-encrypts from one secret to another, of any scheme."""

    def params_of(self) -> SchemeParams: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(params: SchemeParams, data: bytes) -> SchemeSwitch: ...

@final
class CkksMatrix:
    """A matrix of complex doubles, row by row."""

    def __new__(cls, params: SchemeParams, columns: int, entries: bytes) -> CkksMatrix: ...
    def rotations(self) -> list[int]: ...
    def mul(self, x: CkksCiphertext, keys: SchemeKeys) -> CkksCiphertext: ...

@final
class BfvTable:
    """A table on slots of BFV."""

    def __new__(cls, params: SchemeParams, entries: Sequence[int]) -> BfvTable: ...

@final
class CkksCiphertext:
    """A ciphertext of CKKS."""

    @staticmethod
    def encrypt(
        secret: SchemeSecret, values: bytes, level: int | None, scale: float | None
    ) -> CkksCiphertext: ...
    @staticmethod
    def encrypt_public(
        key: SchemePublic, values: bytes, level: int | None, scale: float | None
    ) -> CkksCiphertext: ...
    def decrypt(self, secret: SchemeSecret) -> tuple[bytes, str | None]: ...
    def level(self) -> int: ...
    def scale(self) -> float: ...
    def params_of(self) -> SchemeParams: ...
    def add(self, other: CkksCiphertext, subtract: bool) -> CkksCiphertext: ...
    def add_values(self, values: bytes) -> CkksCiphertext: ...
    def add_number(self, re: float, im: float) -> CkksCiphertext: ...
    def negate(self) -> CkksCiphertext: ...
    def mul(self, other: CkksCiphertext, keys: SchemeKeys) -> CkksCiphertext: ...
    def mul_values(self, values: bytes) -> CkksCiphertext: ...
    def mul_number(self, number: float) -> CkksCiphertext: ...
    def mul_integer(self, integer: int) -> CkksCiphertext: ...
    def pow(self, exponent: int, keys: SchemeKeys) -> CkksCiphertext: ...
    def sum(self, stride: int, count: int, keys: SchemeKeys) -> CkksCiphertext: ...
    def evaluate(
        self, coefficients: Sequence[float], a: float, b: float, keys: SchemeKeys
    ) -> CkksCiphertext: ...
    def polynomial(self, coefficients: Sequence[float], keys: SchemeKeys) -> CkksCiphertext: ...
    def switch_key(self, key: SchemeSwitch) -> CkksCiphertext: ...
    def rotate(self, steps: Sequence[int], keys: SchemeKeys) -> list[CkksCiphertext]: ...
    def conjugate(self, keys: SchemeKeys) -> CkksCiphertext: ...
    def bounded(self, bound: float) -> CkksCiphertext: ...
    def drop_to(self, level: int) -> CkksCiphertext: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(params: SchemeParams, data: bytes) -> CkksCiphertext: ...

@final
class ExactCiphertext:
    """A ciphertext of BFV or BGV."""

    @staticmethod
    def encrypt(
        secret: SchemeSecret, values: bytes, coefficients: bool, level: int | None
    ) -> ExactCiphertext: ...
    @staticmethod
    def encrypt_public(
        key: SchemePublic, values: bytes, coefficients: bool, level: int | None
    ) -> ExactCiphertext: ...
    def decrypt(self, secret: SchemeSecret, coefficients: bool) -> bytes: ...
    def budget(self, secret: SchemeSecret) -> float: ...
    def level(self) -> int: ...
    def params_of(self) -> SchemeParams: ...
    def add(self, other: ExactCiphertext, subtract: bool) -> ExactCiphertext: ...
    def add_values(self, values: bytes, coefficients: bool) -> ExactCiphertext: ...
    def mul_values(self, values: bytes, coefficients: bool) -> ExactCiphertext: ...
    def mul_number(self, number: int) -> ExactCiphertext: ...
    def mul(self, other: ExactCiphertext, keys: SchemeKeys) -> ExactCiphertext: ...
    def pow(self, exponent: int, keys: SchemeKeys) -> ExactCiphertext: ...
    def sum(self, stride: int, count: int, keys: SchemeKeys) -> ExactCiphertext: ...
    def rotate(self, steps: Sequence[int], keys: SchemeKeys) -> list[ExactCiphertext]: ...
    def lookup(self, table: BfvTable, keys: SchemeKeys) -> ExactCiphertext: ...
    def switch_key(self, key: SchemeSwitch) -> ExactCiphertext: ...
    def swap_rows(self, keys: SchemeKeys) -> ExactCiphertext: ...
    def switch_down(self, limbs: int) -> ExactCiphertext: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(params: SchemeParams, data: bytes) -> ExactCiphertext: ...

@final
class CkksBootstrapper:
    """Tables of bootstrapping of CKKS ciphertexts."""

    def __new__(cls, params: SchemeParams, slots: int | None = None) -> CkksBootstrapper: ...
    def security(self) -> Fields:
        """The fields of ``palladion.schemes.security.Security``."""

    def output_level(self) -> int: ...
    def keys(self, secret: SchemeSecret) -> SchemeKeys: ...
    def keys_from_bytes(self, data: bytes) -> SchemeKeys: ...
    def bootstrap(self, x: CkksCiphertext, keys: SchemeKeys) -> CkksCiphertext: ...

# Circuits. Operands are numbers that the methods of a builder return.

@final
class CircuitBuilder:
    """Builds a circuit, and chooses levels, scales and rescales."""

    def __new__(cls, params: SchemeParams, name: str, slots: int) -> CircuitBuilder: ...
    def input(self, name: str, level: int) -> int: ...
    def plain_input(self, name: str) -> int: ...
    def constant(self, name: str, values: bytes) -> int:
        """A constant: a power of two of doubles, which repeat."""

    def numbers(self, values: list[float]) -> list[int]:
        """Operands of numbers."""

    def add(self, left: int, right: int) -> int: ...
    def sub(self, left: int, right: int) -> int: ...
    def negate(self, x: int) -> int: ...
    def mul(self, left: int, right: int) -> int: ...
    def dot(self, terms: Sequence[tuple[int, int]]) -> int: ...
    def pow(self, x: int, exponent: int) -> int: ...
    def rotate(self, x: int, steps: int) -> int: ...
    def conjugate(self, x: int) -> int: ...
    def swap_rows(self, x: int) -> int: ...
    def sum(self, x: int, at: tuple[int, int]) -> int:
        """Of stride and number of terms."""

    def state_bootstrapping(self) -> None: ...
    def bootstrap(self, x: int) -> int: ...
    def repeat(
        self, body: Circuit, carried: Sequence[int], each: Sequence[Sequence[int]]
    ) -> list[int]: ...
    def rescale(self, x: int) -> int: ...
    def drop_to(self, x: int, level: int) -> int: ...
    def level(self, x: int) -> int | None:
        """The level, or ``None`` for a plaintext."""

    def output(self, name: str, x: int) -> None: ...
    def finish(self) -> Circuit:
        """The circuit with all steps that its outputs need."""

@final
class Circuit:
    """A finished circuit. Values are passed as bytes, with all slots."""

    @staticmethod
    def from_json(params: SchemeParams, text: str) -> Circuit: ...
    def to_json(self) -> str: ...
    def text(self) -> str: ...
    def slots(self) -> int: ...
    def inputs(self) -> list[tuple[str, bool, int, float]]:
        """Names, whether encrypted, levels, scales. A plaintext has one entry per encoding."""

    def outputs(self) -> list[tuple[str, bool, int, float]]: ...
    def keys_needed(self) -> tuple[int | None, dict[int, int], int | None, bool]:
        """The fields of ``palladion.circuit.KeysNeeded``."""

    def counts(self) -> dict[int, dict[str, int]]: ...
    def keys(self, params: SchemeParams, secret: SchemeSecret, limit: float) -> SchemeKeys: ...
    def run_clear(self, inputs: dict[str, bytes]) -> dict[str, bytes]: ...
    def predict(
        self, params: SchemeParams, inputs: dict[str, bytes], limit: float
    ) -> dict[str, tuple[bytes, bytes, float]]:
        """Values, mean squares of errors as doubles, log2 of the probability of a wrong run."""

    def predict_noise(
        self, params: SchemeParams, limit: float
    ) -> dict[str, tuple[float, float, float]]:
        """The fields of ``palladion.circuit.Noise``."""

    def run(
        self,
        params: SchemeParams,
        inputs: dict[str, bytes | CkksCiphertext | ExactCiphertext],
        keys: SchemeKeys,
    ) -> Fields: ...
    def run_each(
        self,
        params: SchemeParams,
        groups: Iterator[dict[str, bytes | CkksCiphertext | ExactCiphertext]],
        keys: SchemeKeys,
    ) -> list[Fields]:
        """As :meth:`run`, for each group of inputs."""

    def lower(self, params: SchemeParams, plain: dict[str, bytes]) -> tuple[str, CircuitTrace]:
        """The operations on ciphertexts as text, and the trace."""

    def replay(
        self,
        params: SchemeParams,
        trace: CircuitTrace,
        inputs: dict[str, bytes | CkksCiphertext | ExactCiphertext],
        keys: SchemeKeys,
    ) -> Fields: ...

@final
class CircuitTrace:
    """A circuit as instructions on limbs."""

    def text(self) -> str: ...
    def counts(self) -> Fields:
        """As those of ``Trace``."""

@final
class MessageBuilder:
    """Builds a circuit of TFHE, with folding. Operands are numbers that its methods return."""

    def __new__(cls, params: TfheParams, name: str) -> MessageBuilder: ...
    def input(self, name: str, count: int | None, bits: int) -> list[int]: ...
    def constant(self, value: int) -> int: ...
    def negate(self, x: int) -> int: ...
    def gate(self, gate: str, x: int, y: int) -> int: ...
    def choose(self, condition: int, x: int, y: int) -> int: ...
    def sum(self, constant: int, terms: Sequence[tuple[int, int]]) -> int:
        """A constant plus terms, each a factor and an integer."""

    def range(self, x: int) -> tuple[int, int]:
        """The smallest and the largest integer."""

    def lookup(self, x: int, tables: Sequence[Sequence[int]]) -> list[int]:
        """The entries of tables. Each table has one entry for each integer of the range."""

    def output(self, name: str, single: bool, values: Sequence[int]) -> None: ...
    def finish(self) -> MessageCircuit:
        """The circuit with all steps that its outputs need."""

@final
class MessageCircuit:
    """A circuit on bits or small integers."""

    @staticmethod
    def from_json(params: TfheParams, text: str) -> MessageCircuit: ...
    def to_json(self) -> str: ...
    def text(self) -> str: ...
    def kind(self) -> str:
        """``bits`` or ``integers``."""

    def inputs(self) -> list[tuple[str, int | None, int]]:
        """Names, numbers of messages (``None`` for a single one), bits of each."""

    def outputs(self) -> list[tuple[str, bool, list[tuple[int, int, int]]]]:
        """Names, whether single; for each message the smallest and the largest value and the
        offset."""

    def counts(self) -> dict[str, int]: ...
    def bootstrappings(self) -> tuple[int, int]:
        """The number of bootstrappings, and the number that must run in sequence."""

    def run_clear(self, inputs: dict[str, list[int]]) -> dict[str, list[int]]: ...
    def log2_failure(self, params: TfheParams, limit: float) -> float: ...
    def run(
        self, params: TfheParams, inputs: dict[str, TfheBits | TfheIntegers], keys: TfheServer
    ) -> dict[str, TfheBits | TfheIntegers]: ...
    def lower(self, params: TfheParams) -> tuple[str, CircuitTrace]:
        """Operations on samples as text, and the trace."""

    def replay(
        self,
        params: TfheParams,
        trace: CircuitTrace,
        inputs: dict[str, TfheBits | TfheIntegers],
        keys: TfheServer,
    ) -> dict[str, TfheBits | TfheIntegers]: ...

# TFHE over batches. Bits are passed as bytes of 0 and 1, other values as 64-bit integers in this
# machine's order. A batch of one is combined with all of the other operand.

@final
class TfheParams:
    """Checked parameters of TFHE."""

    @staticmethod
    def names() -> list[str]: ...
    @staticmethod
    def named(name: str, insecure: bool) -> TfheParams: ...
    @staticmethod
    def fastest(message_bits: int, carry_bits: int, log2_failure: float) -> TfheParams:
        """The fastest secure named set. It is one for gates if ``message_bits`` is 0."""

    def describe(self) -> Fields:
        """Sizes, security, failures: the fields of ``palladion params NAME --json``."""

    def log2_failure_of(self, tables: int) -> float: ...
    def fingerprint(self) -> str: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(data: bytes, insecure: bool) -> TfheParams: ...

@final
class TfheClient:
    """Secrets of TFHE."""

    @staticmethod
    def generate(params: TfheParams) -> TfheClient: ...
    def params_of(self) -> TfheParams: ...
    def server_key(self) -> TfheServer: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(params: TfheParams, data: bytes) -> TfheClient: ...

@final
class TfheServer:
    """Keys of a server, in stored form and ready for use."""

    def params_of(self) -> TfheParams: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(params: TfheParams, data: bytes) -> TfheServer: ...

@final
class TfheBits:
    """Encrypted bits."""

    @staticmethod
    def encrypt(client: TfheClient, values: bytes) -> TfheBits: ...
    @staticmethod
    def constant(keys: TfheServer, values: bytes) -> TfheBits: ...
    def decrypt(self, client: TfheClient) -> bytes: ...
    def params_of(self) -> TfheParams: ...
    def count(self) -> int: ...
    def negate(self, keys: TfheServer) -> TfheBits: ...
    def gate(self, keys: TfheServer, gate: str, other: TfheBits) -> TfheBits: ...
    def mux(self, keys: TfheServer, x: TfheBits, y: TfheBits) -> TfheBits: ...
    def take(self, places: Sequence[int]) -> TfheBits: ...
    def join(self, other: TfheBits) -> TfheBits: ...
    def to_bytes(self, single: bool) -> bytes: ...
    @staticmethod
    def from_bytes(params: TfheParams, data: bytes) -> tuple[TfheBits, bool]: ...

@final
class TfheIntegers:
    """Encrypted integers of a few bits."""

    @staticmethod
    def encrypt(client: TfheClient, values: bytes) -> TfheIntegers: ...
    @staticmethod
    def constant(keys: TfheServer, values: bytes) -> TfheIntegers: ...
    def decrypt(self, client: TfheClient, carry: bool) -> bytes: ...
    def params_of(self) -> TfheParams: ...
    def count(self) -> int: ...
    def largest(self) -> int: ...
    def noise(self) -> int: ...
    def add(self, keys: TfheServer, other: TfheIntegers) -> TfheIntegers: ...
    def sub(self, keys: TfheServer, other: TfheIntegers) -> TfheIntegers: ...
    def pair(self, keys: TfheServer, other: TfheIntegers) -> TfheIntegers: ...
    def negate(self, keys: TfheServer) -> TfheIntegers: ...
    def add_values(self, keys: TfheServer, values: bytes) -> TfheIntegers: ...
    def scale(self, keys: TfheServer, factors: bytes) -> TfheIntegers: ...
    def apply(self, keys: TfheServer, tables: Sequence[Sequence[int]]) -> list[TfheIntegers]: ...
    def apply_each(self, keys: TfheServer, tables: Sequence[Sequence[int]]) -> TfheIntegers: ...
    def compare(self, keys: TfheServer, comparison: str, other: TfheIntegers) -> TfheIntegers: ...
    def take(self, places: Sequence[int]) -> TfheIntegers: ...
    def join(self, other: TfheIntegers) -> TfheIntegers: ...
    def to_bytes(self, single: bool) -> bytes: ...
    @staticmethod
    def from_bytes(params: TfheParams, data: bytes) -> tuple[TfheIntegers, bool]: ...

@final
class TfheNumbers:
    """Encrypted numbers of several digits."""

    @staticmethod
    def encrypt(client: TfheClient, values: bytes, blocks: int) -> TfheNumbers: ...
    @staticmethod
    def constant(keys: TfheServer, values: bytes, blocks: int) -> TfheNumbers: ...
    def decrypt(self, client: TfheClient) -> bytes: ...
    def params_of(self) -> TfheParams: ...
    def count(self) -> int: ...
    def blocks(self) -> int: ...
    def add(self, keys: TfheServer, other: TfheNumbers, subtract: bool) -> TfheNumbers: ...
    def compare(self, keys: TfheServer, comparison: str, other: TfheNumbers) -> TfheIntegers: ...
    def min_max(self, keys: TfheServer, other: TfheNumbers) -> tuple[TfheNumbers, TfheNumbers]: ...
    def take(self, places: Sequence[int]) -> TfheNumbers: ...
    def join(self, other: TfheNumbers) -> TfheNumbers: ...
    def to_bytes(self, single: bool) -> bytes: ...
    @staticmethod
    def from_bytes(params: TfheParams, data: bytes) -> tuple[TfheNumbers, bool]: ...

@final
class HybridProgram:
    """A network compiled for two parties. It holds the weights: it is the server's."""

    def report(self) -> str:
        """Parameters and predicted costs, as JSON."""

    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(data: bytes) -> HybridProgram: ...
    def serve(
        self,
        listen: str,
        hear: Callable[[str], None],
        *,
        identity: tuple[PathLike[str], PathLike[str]] | None,
        clients: Sequence[str],
        sessions: int | None,
        at_once: int,
        of_address: int,
        most_inputs: int,
        inputs_of_client: int | None,
        least_rate: float,
    ) -> None:
        """Serve clients, ``at_once`` side by side and ``of_address`` from one address, until
        ``hear`` raises or ``sessions`` ended.

        ``identity`` has the files of certificate and key; ``clients`` the hashes of the clients'
        certificates, without which whoever connects is served. A client gets ``inputs_of_client``
        inputs, or as many as the floods hide. ``least_rate`` is in bytes per second.

        ``hear`` is called with each event, as JSON. Raises ``UsageError`` if the address or the
        certificate cannot be used.
        """

@final
class HybridClient:
    """A client that has met a server."""

    @staticmethod
    def connect(
        address: str,
        certificate: str,
        program: str | None = None,
        identity: tuple[PathLike[str], PathLike[str]] | None = None,
        patience: float | None = None,
    ) -> HybridClient:
        """Connect to the server whose certificate has this hash, in hexadecimal digits.

        ``identity`` has the files of the client's certificate and key. ``patience`` is in seconds.

        Raises
        ------
        UsageError
            If there is no such server.
        FormatError
            If it has another version or another ``program``, or one that is not secure.
        """

    def report(self) -> str:
        """What the client knows of the program, as JSON."""

    def run(
        self,
        inputs: Sequence[Sequence[int]],
        count: int,
        progress: Callable[[str, int, int], object] | None,
    ) -> tuple[list[list[int]], str]:
        """The logits of ``inputs``, and what the session took, as JSON.

        Without inputs, only the offline phase for ``count`` inputs. A session runs once.
        """

def hybrid_compile(
    network_json: str, revealed: bool, bandwidth: float, inputs: int = 10
) -> HybridProgram:
    """Compile a network for two parties. Raises ``NetworkError`` if it has no protocol.

    With ``revealed``, the client sees every accumulator.
    """

EFFICIENCY: float
"""Predicted seconds on one thread, divided by the threads times the measured seconds."""
READING: float
"""Seconds to read a byte of evaluation keys, on two threads."""
HYBRID_CORE: float
"""Seconds of the core that predictions of the hybrid mode are for, over those of the machine on
which the other predictions were measured."""

def hybrid_identity() -> tuple[str, str]:
    """A fresh certificate with its key in PEM form, and the certificate's hash."""

def hybrid_certificate_hash(path: PathLike[str]) -> str:
    """The hash of a certificate in PEM form, in hexadecimal digits."""
