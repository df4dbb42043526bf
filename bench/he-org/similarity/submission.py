"""The stages of the fetch-by-similarity workload, for its count of matches.

``submission.py STAGE SIZE --count_only`` runs one stage in the root of the workload's checkout, on
files. The secret key is in ``io/SIZE/secret``. The server reads ``io/SIZE/keys`` and
``io/SIZE/ciphertexts_upload``, and nothing else.
"""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from time import perf_counter
from typing import Final

import numpy as np
import numpy.typing as npt
from counting import MAX_ERROR, Counter, Layout, params
from palladion import DataError, FormatError, NoiseError, UsageError, ckks
from palladion.circuit import Circuit
from palladion.schemes.keys import EvaluationKeys
from palladion.support import files
from palladion.support.seconds import threads
from stage_files import emptied, exit_status, parsed, read

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]

TOKEN_BYTES: Final = 16
"""A query has a random token before its ciphertext. Its answer has the same one."""
LONGEST: Final = 1.005
"""Largest length of a vector: 1, and some rounding. Scores beyond 1.02 would be counted wrongly."""


@dataclass(frozen=True)
class Size:
    """An instance of the workload."""

    name: str
    records: int
    dimension: int


SIZES: Final = (
    Size("toy", 1_000, 128),
    Size("small", 50_000, 128),
    Size("medium", 1_000_000, 256),
)


@dataclass(frozen=True)
class Task:
    """One size, with the places of its files."""

    size: Size

    @cached_property
    def params(self) -> ckks.Params:
        """The parameters of all ciphertexts."""
        return params()

    @cached_property
    def layout(self) -> Layout:
        """The places of the collection's numbers in ciphertexts."""
        return Layout(self.size.records, self.size.dimension, self.params.slots)

    @property
    def counter(self) -> Counter:
        """The circuits."""
        return Counter(self.params, self.layout, self.layout.indicator())

    @property
    def circuits(self) -> dict[str, Circuit]:
        """The circuits, by the names of their files of keys."""
        counter = self.counter
        circuits = counter.rotations(), counter.matches(), counter.sums()
        return {circuit.name: circuit for circuit in circuits}

    @property
    def data(self) -> Path:
        """The folder in which the harness writes vectors and queries."""
        return Path("datasets") / self.size.name

    @property
    def io(self) -> Path:
        return Path("io") / self.size.name

    @property
    def keys(self) -> Path:
        return self.io / "keys"

    @property
    def secret(self) -> Path:
        return self.io / "secret" / "secret.key"

    def block(self, number: int) -> Path:
        """The file of the encrypted vectors of a block."""
        return self.io / "ciphertexts_upload" / f"block-{number:03}.npy"

    @property
    def query(self) -> Path:
        return self.io / "ciphertexts_upload" / "query.bin"

    @property
    def answer(self) -> Path:
        return self.io / "ciphertexts_download" / "results.bin"

    @property
    def decrypted(self) -> Path:
        """The count before it is rounded."""
        return self.io / "secret" / "count.txt"

    @property
    def results(self) -> Path:
        """The count for the harness: an integer of 64 bits."""
        return self.io / "results.bin"


def client_key_generation(task: Task) -> None:
    """Generate the secret, and the evaluation keys of each circuit for the server."""
    secret = ckks.keygen(task.params)
    emptied(task.secret.parent)
    files.write(task.secret, secret.to_bytes(), secret=True)
    emptied(task.keys)
    for name, circuit in task.circuits.items():
        (task.keys / f"{name}.keys").write_bytes(circuit.keys(secret).to_bytes())


def client_encode_encrypt_db(task: Task) -> None:
    """Encrypt the vectors. A file has the ciphertexts of a block, one a row."""
    secret, layout = read_secret(task), task.layout
    vectors = read_vectors(task.data / "db.bin", layout.records, layout.dimension)
    emptied(task.query.parent)
    with ThreadPoolExecutor(threads()) as pool:
        for number in range(layout.blocks):
            rows = layout.database(vectors, number)
            made = pool.map(lambda row: encrypted(secret, row), rows)
            np.save(task.block(number), np.stack(list(made)))


def client_encode_encrypt_query(task: Task) -> None:
    """Encrypt the query, as one ciphertext."""
    secret, layout = read_secret(task), task.layout
    [vector] = read_vectors(task.data / "query.bin", 1, layout.dimension)
    # A real part is half of a number plus its conjugate.
    slots = layout.query(vector) * (layout.indicator().scale / 2)
    token = secrets.token_bytes(TOKEN_BYTES)
    task.query.parent.mkdir(parents=True, exist_ok=True)
    task.query.write_bytes(token + encrypted(secret, slots).tobytes())


def server_encrypted_compute(task: Task) -> None:
    """Count the matches among the encrypted vectors, with only evaluation keys and ciphertexts."""
    clock = Clock()
    circuits = task.circuits
    keys = {name: read_keys(task, name) for name in circuits}
    clock.note("Reading of keys")
    token, query = read_message(task, task.query)
    rotated = circuits["rotations"].run({"query": query}, keys["rotations"])
    clock.note("Rotations of the query")

    def blocks() -> Iterator[dict[str, ckks.Ciphertext]]:
        with ThreadPoolExecutor(threads()) as pool:
            for number in range(task.layout.blocks):
                vectors = read_block(task, number, pool)
                yield rotated | {f"d{k}": vector for k, vector in enumerate(vectors)}

    found = circuits["matches"].run_each(blocks(), keys["matches"])
    total = found[0]["matches"]
    for others in found[1:]:
        total += others["matches"]
    clock.note("Scores and matches, with reading of vectors")
    count = circuits["sums"].run({"matches": total}, keys["sums"])["count"]
    emptied(task.answer.parent)
    task.answer.write_bytes(token + count.to_bytes())
    clock.note("Sum over slots")
    report = task.io / "server_reported_steps.json"
    report.write_text(json.dumps(clock.steps), encoding="ascii")


def client_decrypt_decode(task: Task) -> None:
    """Decrypt the count. The answer must name the query, so it cannot be old or swapped."""
    task.results.unlink(missing_ok=True)
    secret = read_secret(task)
    (token, answer), (sent, _) = (read_message(task, path) for path in (task.answer, task.query))
    if token != sent:
        raise UsageError(f"{task.answer} answers another query than {task.query}: run "
                         "server_encrypted_compute first")  # fmt: skip
    slots = secret.decrypt(answer.bounded(task.layout.blocks * task.layout.slots + 1))
    spread = float(np.abs(slots - slots.real.mean()).max())
    if not spread <= MAX_ERROR:
        raise NoiseError(f"slots that differ by {spread:.3g} from their mean, expected the same "
                         "count in all: the answer is damaged, or is no count")  # fmt: skip
    task.decrypted.write_text(f"{float(slots.real.mean())!r}\n", encoding="ascii")


def client_postprocess(task: Task) -> None:
    """Write the count as an integer. A count far from any integer is refused."""
    try:
        value = float(read(task.decrypted))
    except ValueError as error:
        raise DataError(f"{task.decrypted}: {error}") from error
    count = round(value)
    if abs(value - count) > MAX_ERROR or not 0 <= count <= task.layout.records:
        gap = task.layout.indicator()
        raise NoiseError(f"a count of {value:.3f}, expected an integer up to "
                         f"{task.layout.records}, within {MAX_ERROR}: similarities between "
                         f"{gap.low:g} and {gap.high:g} cannot be counted")  # fmt: skip
    np.array([count], dtype=np.int64).tofile(task.results)


STAGES: Final[dict[str, Callable[[Task], None]]] = {
    stage.__name__: stage
    for stage in (
        client_key_generation, client_encode_encrypt_db, client_encode_encrypt_query,
        server_encrypted_compute, client_decrypt_decode, client_postprocess,
    )
}  # fmt: skip


class Clock:
    """Seconds of the steps of a stage, for the harness's ``Server Reported``."""

    def __init__(self) -> None:
        self.steps: dict[str, float] = {}
        self._last = perf_counter()

    def note(self, step: str) -> None:
        """Note the seconds since the last step."""
        now = perf_counter()
        self.steps[step] = round(now - self._last, 4)
        self._last = now


def encrypted(secret: ckks.SecretKey, slots: npt.NDArray[np.complex128]) -> Bytes:
    """A ciphertext's bytes. All fresh ciphertexts have equally many."""
    return np.frombuffer(secret.encrypt(slots).to_bytes(), np.uint8)


def read_vectors(path: Path, count: int, dimension: int) -> Floats:
    """Vectors of the harness: floats of 32 bits, one vector after another."""
    data = np.frombuffer(read(path), np.uint8)
    if data.size != 4 * count * dimension:
        raise DataError(f"{path}: {data.size} bytes, expected {4 * count * dimension}: {count} "
                        f"x {dimension} floats of 4 bytes")  # fmt: skip
    vectors = data.view(np.float32).reshape(count, dimension)
    lengths = np.linalg.norm(vectors, axis=1)
    if not (lengths <= LONGEST).all():
        raise DataError(f"{path}: a vector of length {lengths.max():.4g}, expected 1: "
                        "normalise the vectors")  # fmt: skip
    return vectors


def read_secret(task: Task) -> ckks.SecretKey:
    """The client's secret key."""
    return parsed(task.secret, partial(ckks.SecretKey.from_bytes, task.params))


def read_keys(task: Task, name: str) -> EvaluationKeys:
    """The evaluation keys of a circuit."""
    path = task.keys / f"{name}.keys"
    return parsed(path, partial(EvaluationKeys.from_bytes, task.params))


def read_message(task: Task, path: Path) -> tuple[bytes, ckks.Ciphertext]:
    """The token and the ciphertext of a query or of an answer."""
    data = read(path)
    parse = partial(ckks.Ciphertext.from_bytes, task.params)
    return data[:TOKEN_BYTES], parsed(path, parse, data[TOKEN_BYTES:])


def read_block(task: Task, number: int, pool: Executor) -> list[ckks.Ciphertext]:
    """The ciphertexts of a block."""
    path, terms = task.block(number), task.layout.terms
    try:
        rows = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"cannot read the encrypted vectors {path}: {error}") from error
    if rows.ndim != 2 or rows.dtype != np.uint8 or len(rows) != terms:
        raise FormatError(f"{path}: {rows.dtype} of shape {rows.shape}, expected {terms} rows of "
                          "bytes")  # fmt: skip
    parse = partial(ckks.Ciphertext.from_bytes, task.params)
    return list(pool.map(lambda row: parsed(path, parse, row.tobytes()), rows))


def task_of(arguments: list[str]) -> Task:
    """The task of the harness's arguments. Stages do not use its seed."""
    names = [f"{number} ({size.name})" for number, size in enumerate(SIZES)]
    if not arguments or arguments[0] not in map(str, range(len(SIZES))):
        found = f"size {arguments[0]!r}" if arguments else "no size"
        raise UsageError(f"{found}, expected {', '.join(names)}")
    if "--count_only" not in arguments:
        raise UsageError("payloads are not fetched: call the harness with --count_only")
    return Task(SIZES[int(arguments[0])])


def run(arguments: list[str]) -> None:
    """Run the stage that the arguments name."""
    if not arguments or arguments[0] not in STAGES:
        raise UsageError(f"no stage in {arguments}, expected one of {', '.join(STAGES)}")
    STAGES[arguments[0]](task_of(arguments[1:]))


if __name__ == "__main__":
    sys.exit(exit_status(lambda: run(sys.argv[1:])))
