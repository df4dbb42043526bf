"""Search by similarity: the query is encrypted, the collection lies at the service in the clear.

The score of a vector is its inner product with the query. A client gets the exact scores of all
vectors, in a few ciphertexts, and sorts them itself. A second query fetches records by encrypted
indices. ``docs/search.md`` says who learns what.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from palladion.client import Client
from palladion.deployment import CompiledModel
from palladion.errors import DataError, NetworkError, UsageError
from palladion.nn.ends.boundary import Input
from palladion.nn.ends.interface import Gives, Interface, Takes, array_of
from palladion.nn.ends.prediction import Prediction
from palladion.nn.integers.linear_maps import Dense, Ints
from palladion.nn.integers.network import IntNetwork, Layer, Term

LARGEST_SCORE: Final = 32_767
"""The largest score, below half of the plaintext modulus 65537. Larger ones would wrap around."""

FEWEST_BITS: Final = 2
MOST_BITS: Final = 12

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SearchIndex:
    """A collection of N vectors of dimension d, as integers.

    A vector's coordinate ``v`` is the integer ``rint(v / scale)``, a query's coordinate ``q`` the
    integer ``rint(q / query_scale)``, and both lie in ``-levels..levels``. Coordinates of a query
    beyond that range are clipped, with an :class:`~palladion.errors.InputWarning`. Scores are the
    exact inner products of these integers. Times ``scale * query_scale`` they are the inner
    products of the vectors, up to the rounding of both: cosines, if all vectors have length 1.
    """

    vectors: Ints
    """The integers, of shape (N, d)."""
    levels: int
    """The largest absolute integer of a vector and of a query."""
    scale: float
    query_scale: float
    name: str = "search"

    @classmethod
    def of_vectors(
        cls,
        vectors: npt.ArrayLike,
        *,
        bits: int | None = None,
        limit: float | None = None,
        name: str = "search",
    ) -> SearchIndex:
        """An index of vectors of shape (N, d).

        ``bits`` is the size of an integer with its sign: ``levels`` is ``2**(bits - 1) - 1``. By
        default it is the largest at which no query can have a score beyond
        :data:`LARGEST_SCORE`. ``limit`` is the largest absolute coordinate of a query, by default
        the largest one of the vectors.

        Raises
        ------
        DataError
            If the vectors are no array of finite numbers of shape (N, d), or are all 0.
        UsageError
            If ``bits`` or ``limit`` are out of range, or if a score could be too large.
        """
        array = checked_vectors(vectors)
        largest = float(np.abs(array).max())
        if limit is not None and not 0 < limit < np.inf:
            raise UsageError(f"a limit of {limit} for the coordinates of queries, expected a "
                             "positive number")  # fmt: skip
        if bits is not None and not FEWEST_BITS <= bits <= MOST_BITS:
            raise UsageError(f"integers of {bits} bits, expected {FEWEST_BITS} to {MOST_BITS}")
        sizes = range(MOST_BITS, FEWEST_BITS - 1, -1) if bits is None else [bits]
        for size in sizes:
            levels = 2 ** (size - 1) - 1
            integers = np.rint(array / (largest / levels)).astype(np.int64)
            index = cls(integers, levels, largest / levels, (limit or largest) / levels, name)
            if index.bound <= LARGEST_SCORE:
                return index
        raise UsageError(
            f"scores can reach {index.bound} with integers of {size} bits, expected at most "
            f"{LARGEST_SCORE}: give fewer bits, or leave them out; vectors of fewer dimensions or "
            "with less extreme coordinates leave room for more"
        )

    @property
    def bound(self) -> int:
        """The largest absolute score that any query can have."""
        return int(np.abs(self.vectors).sum(axis=1).max()) * self.levels

    @property
    def network(self) -> IntNetwork:
        """The integer network of one dense layer that computes the scores."""
        count, dimension = self.vectors.shape
        unit = self.scale * self.query_scale
        layer = Layer(
            name="scores",
            terms=(Term(0, Dense(self.vectors)),),
            bias=np.zeros(count, dtype=np.int64),
            bound=max(self.bound, 1),
            lut=None,
            scale=unit,
        )
        ends = Interface(Takes("query", (dimension,)), Gives((count,), (unit,), name="scores"))
        shape = (dimension, 1, 1)
        taken = Input(shape, -self.levels, self.levels, self.query_scale)
        return IntNetwork(self.name, taken, (layer,), ends)

    def compile(self, batch: int = 1, **options: Any) -> CompiledModel:
        """The program for a service, for ``batch`` queries in one run.

        The options are those of :meth:`CompiledModel.of_network`, whose errors it raises.
        """
        return CompiledModel.of_network(self.network, batch, **options)

    def __repr__(self) -> str:
        count, dimension = self.vectors.shape
        return (f"SearchIndex({count} vectors of dimension {dimension}, integers up to "
                f"{self.levels}, scores up to {self.bound})")  # fmt: skip


@dataclass(frozen=True, eq=False)
class Matches:
    """The vectors of highest score for one query, best first. Equal scores are in the order of
    their indices."""

    indices: Ints
    scores: Floats
    """In units of the vectors: cosines, if all vectors and the query have length 1."""

    def __len__(self) -> int:
        return len(self.indices)


def top(prediction: Prediction, k: int, threshold: float | None = None) -> list[Matches]:
    """The ``k`` best vectors for each query of a prediction, and with a threshold only those whose
    score is at least that.

    They are compared by their exact integers.

    Raises
    ------
    UsageError
        If ``k`` is not at least 1.
    NetworkError
        If the prediction has no integers.
    """
    if k < 1:
        raise UsageError(f"the best {k} vectors, expected at least 1")
    if prediction.integers is None:
        raise NetworkError("a prediction without integers has no exact scores: decrypt an answer")
    matches = []
    for integers, scores in zip(prediction.integers, prediction.values, strict=True):
        order = np.argsort(-integers, kind="stable")[:k]
        values = scores.reshape(-1)[order].astype(np.float64)
        kept = slice(None) if threshold is None else values >= threshold
        matches.append(Matches(order[kept].astype(np.int64), values[kept]))
    return matches


WORD_BITS: Final = 15
"""Bits of a record in one output of its program. A word less ``2**14`` is the integer there."""

LENGTH_BYTES: Final = 4

MOST_IN_A_ROW: Final = 1 << 15
"""Records whose places in a query lie in one ciphertext."""


@dataclass(frozen=True, eq=False)
class Records:
    """The records of a collection, one for each vector, to be fetched by an encrypted index.

    A query is 1 at the place of a record and 0 at all others. Its product with the records is that
    record, exactly. A query of another form gives a sum of records, modulo 65537 for each word.
    """

    words: Ints
    """Words of the records, of shape (places, words), in ``-2**14..2**14 - 1``. Places after the
    last record are empty records."""
    name: str = "records"

    @classmethod
    def of_bytes(cls, records: Sequence[bytes], *, name: str = "records") -> Records:
        """Records of any lengths. Each takes the room of the longest, and of its length.

        Raises
        ------
        DataError
            If there is none.
        """
        if not records:
            raise DataError("no records, expected one for each vector")
        rows = -(-len(records) // MOST_IN_A_ROW)
        places = rows * -(-len(records) // rows)
        longest = max(map(len, records))
        words = -(-8 * (LENGTH_BYTES + longest) // WORD_BITS)
        packed = np.zeros((places, -(-words * WORD_BITS // 8)), dtype=np.uint8)
        for place, record in enumerate(records):
            whole = len(record).to_bytes(LENGTH_BYTES, "big") + record
            packed[place, : len(whole)] = np.frombuffer(whole, dtype=np.uint8)
        bits = np.unpackbits(packed, axis=1)[:, : words * WORD_BITS]
        powers = 1 << np.arange(WORD_BITS - 1, -1, -1)
        values = bits.reshape(places, words, WORD_BITS) @ powers
        return cls(values.astype(np.int64) - (1 << (WORD_BITS - 1)), name)

    @property
    def network(self) -> IntNetwork:
        """The integer network of one dense layer that selects a record."""
        places, words = self.words.shape
        rows = -(-places // MOST_IN_A_ROW)
        layer = Layer(
            name="records",
            terms=(Term(0, Dense(np.ascontiguousarray(self.words.T))),),
            bias=np.zeros(words, dtype=np.int64),
            bound=1 << (WORD_BITS - 1),
            lut=None,
            scale=1.0,
        )
        ends = Interface(Takes("place", (places,)), Gives((words,), (1.0,), name="words"))
        taken = Input((rows, places // rows, 1), 0, 1, 1.0)
        return IntNetwork(self.name, taken, (layer,), ends)

    def compile(self, batch: int = 1, **options: Any) -> CompiledModel:
        """The program for a service, as :meth:`SearchIndex.compile`."""
        return CompiledModel.of_network(self.network, batch, **options)


def places_of(indices: npt.ArrayLike, count: int) -> Floats:
    """Queries for records: one row for each index, with ``count`` places.

    Raises
    ------
    UsageError
        If an index is not below ``count``.
    """
    chosen = np.atleast_1d(np.asarray(indices, dtype=np.int64))
    if chosen.size and not 0 <= chosen.min() <= chosen.max() < count:
        raise UsageError(f"records {chosen.min()} to {chosen.max()}, expected 0 to {count - 1}")
    rows = np.zeros((len(chosen), count))
    rows[np.arange(len(chosen)), chosen] = 1
    return rows


def records_of(prediction: Prediction) -> list[bytes]:
    """The records in the answer to :func:`places_of`.

    Raises
    ------
    NetworkError
        If the prediction has no integers.
    DataError
        If its words are no record.
    """
    if prediction.integers is None:
        raise NetworkError("a prediction without integers has no records: decrypt an answer")
    words = prediction.integers + (1 << (WORD_BITS - 1))
    if words.min() < 0 or words.max() >= 1 << WORD_BITS:
        raise DataError("an answer that is no record: the query was no single place")
    bits = (words[..., None] >> np.arange(WORD_BITS - 1, -1, -1)) & 1
    packed = np.packbits(bits.reshape(len(words), -1).astype(np.uint8), axis=1)
    records = []
    for row in packed:
        length = int.from_bytes(row[:LENGTH_BYTES].tobytes(), "big")
        if length > len(row) - LENGTH_BYTES:
            most = len(row) - LENGTH_BYTES
            raise DataError(f"a record of {length} bytes, expected at most {most}: the query was "
                            "no single place")  # fmt: skip
        records.append(row[LENGTH_BYTES : LENGTH_BYTES + length].tobytes())
    return records


class Remote(Protocol):
    """A model at a service: :class:`palladion.remote.service.RemoteModel`."""

    @property
    def client(self) -> Client: ...

    def predict(self, x: npt.ArrayLike) -> Prediction: ...


def fetch(
    vectors: Remote,
    records: Remote,
    query: npt.ArrayLike,
    k: int = 1,
    threshold: float | None = None,
) -> tuple[Matches, list[bytes]]:
    """The records of the ``k`` vectors that are nearest to one query, of shape (d,), in two rounds.

    The service sees two encrypted queries, and how many records are fetched. Raises as :func:`top`
    and the ``predict`` of both models.
    """
    [matches] = top(vectors.predict(np.asarray(query)[None]), k, threshold)
    if not len(matches):
        return matches, []
    (places,) = records.client.boundary.interface.takes.shape
    return matches, records_of(records.predict(places_of(matches.indices, places)))


def checked_vectors(vectors: npt.ArrayLike) -> Floats:
    """Vectors as an array of shape (N, d)."""
    array = array_of(vectors, "vectors")
    if array.ndim != 2 or not array.size or array.dtype.kind not in "fiub":
        raise DataError(f"vectors of shape {array.shape} and type {array.dtype}, expected numbers "
                        "of shape (N, d)")  # fmt: skip
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise DataError(f"vectors with NaN or infinite numbers, the first in row {row}; expected "
                        "finite ones")  # fmt: skip
    if not array.any():
        raise DataError("vectors that are all 0, expected at least one coordinate that is not")
    return array
