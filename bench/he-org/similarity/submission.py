"""The stages of the fetch-by-similarity workload.

``submission.py STAGE SIZE [--count_only]`` runs one stage in the root of the workload's checkout,
on files. The secret key is in ``io/SIZE/secret``. The server reads ``io/SIZE/keys`` and
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
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt
from circuits import (
    COUNT,
    FETCH,
    MARK,
    MAX_ERROR,
    PAIRS,
    PAYLOAD,
    Layout,
    Search,
    add_blocks,
)
from palladion import DataError, FormatError, NoiseError, UsageError, ckks
from palladion.circuit import Circuit
from palladion.schemes.keys import EvaluationKeys
from palladion.support import files
from palladion.support.seconds import threads
from stage_files import emptied, exit_status, parsed, read

T = TypeVar("T", np.float32, np.int16)
Bytes = npt.NDArray[np.uint8]

TOKEN_BYTES: Final = 16
"""A query has a random token before its ciphertext. Its answer has the same one."""
MAX_PAYLOAD_ERROR: Final = 0.4
"""Largest distance of a decrypted payload from integers, and of its mark from 0 and
:data:`MARK`. A mark shows any error of a payload, which has smaller numbers. It is 20 standard
deviations of the largest payload's noise. Slots have more of large errors than normal ones, for
noise is a product with the secret, which has another size in each slot."""
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
    """A search of one size, for a count or for payloads, with the places of its files."""

    size: Size
    count_only: bool

    @cached_property
    def search(self) -> Search:
        """The parameters, the layout and the circuits."""
        params = (COUNT if self.count_only else FETCH).params()
        layout = Layout(self.size.records, self.size.dimension, params.slots)
        return Search(params, layout, layout.indicator())

    @property
    def circuits(self) -> dict[str, Circuit]:
        """The circuits, by the names of their files of keys."""
        search = self.search
        last = [search.matches(), search.sums()] if self.count_only else [search.payloads()]
        return {circuit.name: circuit for circuit in (search.rotations(), *last)}

    @property
    def answers(self) -> int:
        """Number of ciphertexts of an answer."""
        return 1 if self.count_only else PAIRS * self.search.layout.blocks

    @property
    def data(self) -> Path:
        """The folder in which the harness writes vectors, payloads and queries."""
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

    def block(self, kind: str, number: int) -> Path:
        """The file of the encrypted vectors or payloads of a block."""
        return self.io / "ciphertexts_upload" / f"{kind}-{number:03}.npy"

    @property
    def query(self) -> Path:
        return self.io / "ciphertexts_upload" / "query.bin"

    @property
    def answer(self) -> Path:
        return self.io / "ciphertexts_download" / "results.bin"

    @property
    def decrypted(self) -> Path:
        """The numbers of the answer, before they are rounded."""
        return self.io / "secret" / "decrypted.npy"

    @property
    def results(self) -> Path:
        """The count or the payloads, for the harness."""
        return self.io / "results.bin"


def client_key_generation(task: Task) -> None:
    """Generate the secret, and the evaluation keys of each circuit for the server."""
    secret = ckks.keygen(task.search.params)
    emptied(task.secret.parent)
    files.write(task.secret, secret.to_bytes(), secret=True)
    emptied(task.keys)
    for name, circuit in task.circuits.items():
        (task.keys / f"{name}.keys").write_bytes(circuit.keys(secret).to_bytes())


def client_encode_encrypt_db(task: Task) -> None:
    """Encrypt the vectors, and the payloads if they are to be fetched. A file has the ciphertexts
    of a block, one a row."""
    secret, layout, size = read_secret(task), task.search.layout, task.size
    vectors = read_vectors(task.data / "db.bin", size.records, size.dimension)
    payloads = None
    if not task.count_only:
        payloads = read_payloads(task.data / "payloads.bin", size.records)
        level = task.circuits["payloads"].inputs["p0"]
    emptied(task.query.parent)
    with ThreadPoolExecutor(threads()) as pool:
        for number in range(layout.blocks):
            ciphertexts = pool.map(partial(encrypted, secret), layout.vectors(vectors, number))
            np.save(task.block("vectors", number), np.stack(list(ciphertexts)))
            if payloads is not None:
                rows = layout.payloads(payloads, number)
                ciphertexts = pool.map(partial(encrypted, secret, level=level), rows)
                np.save(task.block("payloads", number), np.stack(list(ciphertexts)))


def client_encode_encrypt_query(task: Task) -> None:
    """Encrypt the query, as one ciphertext."""
    secret = read_secret(task)
    [vector] = read_vectors(task.data / "query.bin", 1, task.size.dimension)
    token = secrets.token_bytes(TOKEN_BYTES)
    task.query.parent.mkdir(parents=True, exist_ok=True)
    task.query.write_bytes(token + encrypted(secret, task.search.query(vector)).tobytes())


def server_encrypted_compute(task: Task) -> None:
    """Find the matches among the encrypted vectors, with only evaluation keys and ciphertexts."""
    clock = Clock()
    circuits = task.circuits
    keys = {name: read_keys(task, name) for name in circuits}
    clock.note("Reading of keys")
    token, [query] = read_message(task, task.query, 1)
    rotated = circuits["rotations"].run({"query": query}, keys["rotations"])
    clock.note("Rotations of the query")

    def blocks() -> Iterator[dict[str, ckks.Ciphertext]]:
        with ThreadPoolExecutor(threads()) as pool:
            for number in range(task.search.layout.blocks):
                vectors = read_block(task, "vectors", number, pool)
                block = rotated | {f"d{k}": row for k, row in enumerate(vectors)}
                if not task.count_only:
                    payloads = read_block(task, "payloads", number, pool)
                    block |= {f"p{k}": row for k, row in enumerate(payloads)}
                yield block

    if task.count_only:
        matches = circuits["matches"].run_each(blocks(), keys["matches"])
        total = {"matches": add_blocks(matches)}
        clock.note("Scores and matches, with reading of vectors")
        answer = [circuits["sums"].run(total, keys["sums"])["count"]]
        clock.note("Sum over slots")
    else:
        payloads = circuits["payloads"].run_each(blocks(), keys["payloads"])
        answer = [results[f"p{k}"] for results in payloads for k in range(PAIRS)]
        clock.note("Scores, matches and payloads, with reading of vectors")
    emptied(task.answer.parent)
    task.answer.write_bytes(token + b"".join(x.to_bytes() for x in answer))
    report = task.io / "server_reported_steps.json"
    report.write_text(json.dumps(clock.steps), encoding="ascii")


def client_decrypt_decode(task: Task) -> None:
    """Decrypt the answer. It must name the query, so it cannot be old or swapped."""
    task.results.unlink(missing_ok=True)
    secret = read_secret(task)
    token, answer = read_message(task, task.answer, task.answers)
    sent, _ = read_message(task, task.query, 1)
    if token != sent:
        raise UsageError(f"{task.answer} answers another query than {task.query}: run "
                         "server_encrypted_compute first")  # fmt: skip
    slots = task.search.layout.blocks * task.search.layout.slots
    bound = slots if task.count_only else 2 * MARK
    np.save(task.decrypted, np.stack([secret.decrypt(x.bounded(bound)) for x in answer]))


def client_postprocess(task: Task) -> None:
    """Write the count, or the payloads. Numbers far from any integer are refused."""
    try:
        numbers = np.load(task.decrypted, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"cannot read {task.decrypted}: {error}") from error
    if numbers.shape != (task.answers, task.search.layout.slots):
        raise DataError(f"{task.decrypted}: numbers of shape {numbers.shape}, expected "
                        f"{(task.answers, task.search.layout.slots)}")  # fmt: skip
    if task.count_only:
        count = count_of(numbers[0], task.size.records, gap(task))
        np.array([count], dtype=np.int64).tofile(task.results)
    else:
        payloads_of(numbers, gap(task)).tofile(task.results)


def gap(task: Task) -> str:
    """The reason for which a result is refused."""
    indicator = task.search.indicator
    return (f"similarities between {indicator.low:g} and {indicator.high:g} cannot be told from "
            "matches")  # fmt: skip


def count_of(slots: npt.NDArray[np.complex128], records: int, reason: str) -> int:
    """The count that is in all slots. Raises ``NoiseError`` if it is close to no integer."""
    count = round(float(slots.real.mean()))
    error = float(np.abs(slots - count).max())
    if not (error <= MAX_ERROR and 0 <= count <= records):
        raise NoiseError(f"a count of {slots.real.mean():.3f}, expected an integer up to {records} "
                         f"within {MAX_ERROR}: {reason}")  # fmt: skip
    return count


def payloads_of(numbers: npt.NDArray[np.complex128], reason: str) -> npt.NDArray[np.int16]:
    """The payloads of matches in order. Raises ``NoiseError`` if they are close to no integers.

    ``numbers`` has :data:`PAIRS` rows for each block.
    """
    pairs = numbers.reshape(-1, PAIRS, numbers.shape[1])
    parts = np.stack([pairs.real, pairs.imag], axis=2).reshape(len(pairs), PAYLOAD + 1, -1)
    values = parts.transpose(0, 2, 1).reshape(-1, PAYLOAD + 1)
    marks = values[:, PAYLOAD]
    doubts = np.minimum(np.abs(marks), np.abs(marks - MARK))
    if not doubts.max() <= MAX_PAYLOAD_ERROR:
        raise NoiseError(f"a record with the mark {marks[doubts.argmax()]:.2f}, expected 0 or "
                         f"{MARK} within {MAX_PAYLOAD_ERROR}: {reason}")  # fmt: skip
    payloads = values[marks > MARK / 2, :PAYLOAD]
    if payloads.size and not np.abs(payloads - np.rint(payloads)).max() <= MAX_PAYLOAD_ERROR:
        raise NoiseError(f"a payload of {payloads[0]}, expected integers within "
                         f"{MAX_PAYLOAD_ERROR}: the answer is damaged")  # fmt: skip
    rounded = np.rint(payloads).astype(np.int16)
    ordered: npt.NDArray[np.int16] = rounded[np.lexsort(rounded.T[::-1])]
    return ordered


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


def encrypted(
    secret: ckks.SecretKey, slots: npt.NDArray[np.complex128], level: int | None = None
) -> Bytes:
    """A ciphertext's bytes. All fresh ciphertexts of a level have equally many."""
    return np.frombuffer(secret.encrypt(slots, level=level).to_bytes(), np.uint8)


def read_array(path: Path, dtype: type[T], shape: tuple[int, int]) -> npt.NDArray[T]:
    """An array of the harness: its numbers one row after another."""
    data = np.frombuffer(read(path), np.uint8)
    expected = shape[0] * shape[1] * np.dtype(dtype).itemsize
    if data.size != expected:
        raise DataError(f"{path}: {data.size} bytes, expected {expected}: {shape[0]} x {shape[1]} "
                        f"numbers of type {np.dtype(dtype)}")  # fmt: skip
    return data.view(dtype).reshape(shape)


def read_vectors(path: Path, count: int, dimension: int) -> npt.NDArray[np.float32]:
    """Vectors of length 1."""
    vectors = read_array(path, np.float32, (count, dimension))
    lengths = np.linalg.norm(vectors, axis=1)
    if not (lengths <= LONGEST).all():
        raise DataError(f"{path}: a vector of length {lengths.max():.4g}, expected 1: "
                        "normalise the vectors")  # fmt: skip
    return vectors


def read_payloads(path: Path, count: int) -> npt.NDArray[np.int16]:
    """Payloads of seven numbers."""
    payloads = read_array(path, np.int16, (count, PAYLOAD))
    if payloads.min() < 0 or payloads.max() >= MARK:
        raise DataError(f"{path}: numbers from {payloads.min()} to {payloads.max()}, expected 0 to "
                        f"{MARK - 1}")  # fmt: skip
    return payloads


def read_secret(task: Task) -> ckks.SecretKey:
    """The client's secret key."""
    return parsed(task.secret, partial(ckks.SecretKey.from_bytes, task.search.params))


def read_keys(task: Task, name: str) -> EvaluationKeys:
    """The evaluation keys of a circuit."""
    path = task.keys / f"{name}.keys"
    return parsed(path, partial(EvaluationKeys.from_bytes, task.search.params))


def read_message(task: Task, path: Path, count: int) -> tuple[bytes, list[ckks.Ciphertext]]:
    """The token and the ciphertexts of a query or of an answer."""
    data = read(path)
    token, rest = data[:TOKEN_BYTES], data[TOKEN_BYTES:]
    if not rest or len(rest) % count:
        raise FormatError(f"{path}: {len(data)} bytes, expected {TOKEN_BYTES} and those of {count} "
                          "ciphertexts of equal length")  # fmt: skip
    parts = [bytes(part) for part in np.frombuffer(rest, np.uint8).reshape(count, -1)]
    parse = partial(ckks.Ciphertext.from_bytes, task.search.params)
    return token, [parsed(path, parse, part) for part in parts]


def read_block(task: Task, kind: str, number: int, pool: Executor) -> list[ckks.Ciphertext]:
    """The ciphertexts of a block."""
    path = task.block(kind, number)
    expected = PAIRS if kind == "payloads" else task.search.layout.terms
    try:
        rows = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"cannot read the ciphertexts {path}: {error}") from error
    if rows.ndim != 2 or rows.dtype != np.uint8:
        raise FormatError(f"{path}: {rows.dtype} of shape {rows.shape}, expected rows of bytes")
    if len(rows) != expected:
        raise FormatError(f"{path}: {len(rows)} ciphertexts, expected {expected}")
    parse = partial(ckks.Ciphertext.from_bytes, task.search.params)
    return list(pool.map(lambda row: parsed(path, parse, row.tobytes()), rows))


def task_of(arguments: list[str]) -> Task:
    """The task of the harness's arguments. Stages do not use its seed."""
    names = [f"{number} ({size.name})" for number, size in enumerate(SIZES)]
    if not arguments or arguments[0] not in map(str, range(len(SIZES))):
        size = f"size {arguments[0]!r}" if arguments else "no size"
        raise UsageError(f"{size}, expected {', '.join(names)}")
    return Task(SIZES[int(arguments[0])], "--count_only" in arguments)


def run(arguments: list[str]) -> None:
    """Run the stage that the arguments name."""
    if not arguments or arguments[0] not in STAGES:
        raise UsageError(f"no stage in {arguments}, expected one of {', '.join(STAGES)}")
    STAGES[arguments[0]](task_of(arguments[1:]))


if __name__ == "__main__":
    sys.exit(exit_status(lambda: run(sys.argv[1:])))
