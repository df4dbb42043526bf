"""Products of matrices modulo primes, on units that multiply small numbers.

Words of 32 bits and entries of a matrix are cut into pieces, which a unit multiplies exactly. There
are five ways:

- :class:`Aligned`, the basis-aligned transformation (BAT) of CROSS. Piece ``d`` of a word weighs
  ``2^(8 d)``. The matrix is multiplied by each weight and reduced modulo the prime before a run, so
  that all products have results of four pieces, none of seven: 16 products of pieces, in one matrix
  product of 4 times the rows and 4 times the columns.
- :class:`Chunks`: the matrix is cut without that step, and products are added up by weight. For
  entries below 2^17 these are 12 products of pieces.
- :class:`Blocks`: entries of at most 17 bits times whole words, exact in doubles for 64 terms.
- :class:`Parts`: words are cut into two parts or more, and products with whole entries are exact
  in doubles, or in words of 64 bits.
- :class:`Whole`: no matrix unit. One kernel multiplies whole words and adds the products up.

Pieces are signed bytes in ``[-128, 127]``, because matrix units and XLA multiply signed by signed
bytes fast. A word is first centred: the prime is subtracted if the word is beyond the range of four
signed bytes, ``[-0x80808080, 0x7f7f7f7f]``. The result is in the range, which has 2^32 numbers.

Source of BAT: Tong et al., "Leveraging ASIC AI chips for homomorphic encryption" (CROSS), section
4.1.4, <https://arxiv.org/abs/2501.07047>, where pieces are unsigned.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, Literal, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from palladion.errors import UsageError
from palladion.xla.kernels.kernel import Wide
from palladion.xla.kernels.words import BITS, Residues, high64, remainder

Side = Literal["left", "right"]
"""The side of the known matrix in the product."""

LARGEST: Final = np.uint32(0x7F7F7F7F)
"""The largest number that four signed bytes represent."""
OFFSET: Final = np.uint32(0x80808080)
"""Minus the smallest such number. Added to a word, it makes each byte the digit plus 128."""
LOWER: Final = np.uint64(0xFFFFFFFF)
PIECES: Final = 4
WRITTEN: Final = 16
"""Sums of at most this many terms are written term by term. Longer ones take long to compile."""
TERMS: Final = 64
"""Terms of a block of :class:`Blocks`."""
ENTRY_PIECES: Final = 3
"""Pieces of an entry below 2^17."""


class Product(Protocol):
    """A way to multiply matrices modulo primes."""

    @property
    def name(self) -> str:
        """Name of the way."""
        ...

    def table(self, matrix: Wide, q: Wide) -> npt.NDArray[Any]:
        """The table of a known left factor ``[R, C]``, whose row ``r`` is modulo ``q[r]``."""
        ...

    def centre(self, words: jax.Array, q: jax.Array) -> jax.Array:
        """Words that :meth:`product` can cut into pieces: the prime is subtracted from some."""
        ...

    def product(self, table: jax.Array, words: jax.Array, side: Side, own: Residues) -> jax.Array:
        """Residues of the product of a table and centred words. ``own`` has each row's constants.

        For the right side, ``table`` is the transpose of the table of the transposed matrix.
        """
        ...


def reduce_sums(sums: jax.Array, bound: int, own: Residues) -> jax.Array:
    """Residues of signed integers of at most ``bound``, which is at most 2^61."""
    wide = jnp.asarray(own.q).astype(jnp.uint64)
    offset = (jnp.uint64(bound) + wide - jnp.uint64(1)) // wide * wide
    return remainder((sums + offset.astype(jnp.int64)).astype(jnp.uint64), own.division, 2 * bound)


def centre_words(words: jax.Array, q: jax.Array) -> jax.Array:
    """Subtracts the prime from words beyond four signed bytes, modulo 2^32."""
    return words - jnp.where(words > LARGEST, q, jnp.uint32(0))


def cut_pieces(words: jax.Array, axis: int) -> jax.Array:
    """The four signed bytes of centred words, on a new axis, the lowest first."""
    shape = [1] * (words.ndim + 1)
    shape[axis] = PIECES
    shifts = (8 * jnp.arange(PIECES, dtype=jnp.uint32)).reshape(shape)
    moved = jnp.expand_dims((words + OFFSET) ^ OFFSET, axis) >> shifts
    return jax.lax.bitcast_convert_type(moved.astype(jnp.uint8), jnp.int8)


def cut_pieces_on_host(words: Wide, q: Wide) -> npt.NDArray[np.int8]:
    """The four signed bytes of residues, on a new last axis."""
    lower = (words - np.where(words > LARGEST, q, np.uint64(0))).astype(np.uint32)
    return np.ascontiguousarray((lower + OFFSET) ^ OFFSET).view(np.int8).reshape(*words.shape, 4)


def merge_axes(words: jax.Array, axis: int) -> jax.Array:
    """Merges the axes ``axis`` and ``axis + 1``. ``axis`` is negative."""
    shape = words.shape
    end = words.ndim + axis
    return words.reshape(*shape[:end], shape[end] * shape[end + 1], *shape[end + 2 :])


def weigh_sums(sums: jax.Array, axis: int, bits: int) -> jax.Array:
    """The sum over an axis, whose entry ``i`` weighs ``2^(bits i)``."""
    total = jnp.zeros((), jnp.int64)
    for i in range(sums.shape[axis]):  # a reduction is not vectorised
        part = jax.lax.index_in_dim(sums, i, axis % sums.ndim, keepdims=False)
        total = total + (part.astype(jnp.int64) << np.int64(bits * i))
    return total


def sum_axis(terms: jax.Array, axis: int) -> jax.Array:
    """The sum over an axis. Few terms are written one by one: a reduction is not vectorised."""
    count = terms.shape[axis]
    if count > WRITTEN:
        return jnp.sum(terms, axis=axis)
    parts = (
        jax.lax.index_in_dim(terms, i, axis % terms.ndim, keepdims=False) for i in range(count)
    )
    sum_: jax.Array = reduce(jnp.add, parts)
    return sum_


def split_pieces(sums: jax.Array, side: Side, count: int) -> tuple[jax.Array, int]:
    """Splits a result into ``count`` pieces, by rows or for the right side by columns.

    Returns the array and the axis that counts pieces.
    """
    *rest, rows, columns = sums.shape
    if side == "left":
        return sums.reshape(*rest, count, rows // count, columns), -3
    return sums.reshape(*rest, rows, count, columns // count), -2


@dataclass(frozen=True)
class Aligned:
    """Signed bytes, aligned to four weights before the run."""

    unit: Literal["s8", "bf16"]

    @property
    def name(self) -> str:
        """The unit that multiplies."""
        return f"bat-{self.unit}"

    def table(self, matrix: Wide, q: Wide) -> npt.NDArray[Any]:
        """Pieces of ``2^(8 d)`` times the matrix: rows by piece of the result, columns by ``d``."""
        rows, columns = matrix.shape
        # A sum of products of bytes must be exact in the type of the sums.
        most = 1 << (24 if self.unit == "bf16" else 31)
        if PIECES * columns << 14 > most:
            raise UsageError(
                f"a product with {columns} terms, expected at most {most >> 16} in {self.name}"
            )
        modulus = q[:, None]
        shifted = np.stack([(matrix << np.uint64(8 * d)) % modulus for d in range(PIECES)])
        digits = cut_pieces_on_host(shifted, np.broadcast_to(modulus, shifted.shape))
        entries = digits.transpose(3, 1, 0, 2).reshape(PIECES * rows, PIECES * columns)
        return (
            entries.astype(jnp.bfloat16) if self.unit == "bf16" else np.ascontiguousarray(entries)
        )

    def centre(self, words: jax.Array, q: jax.Array) -> jax.Array:
        """Words in the range of four signed bytes."""
        return centre_words(words, q)

    def product(self, table: jax.Array, words: jax.Array, side: Side, own: Residues) -> jax.Array:
        """The product by one matrix product of pieces. The results are added up by weight."""
        axis = -3 if side == "left" else -2
        cut = merge_axes(cut_pieces(words, axis), axis)
        if self.unit == "bf16":
            cut = cut.astype(jnp.bfloat16)
        kind = jnp.float32 if self.unit == "bf16" else jnp.int32
        factors = (table, cut) if side == "left" else (cut, table)
        product = jnp.matmul(*factors, preferred_element_type=kind)
        apart, axis = split_pieces(product, side, PIECES)
        terms = cut.shape[-2 if side == "left" else -1]
        bound = (terms << 14) * (1 + (1 << 8) + (1 << 16) + (1 << 24))  # a product is at most 2^14
        return reduce_sums(weigh_sums(apart, axis, 8), bound, own)


@dataclass(frozen=True)
class Chunks:
    """Signed bytes of both factors, for entries below 2^17."""

    name = "chunks-s8"

    def table(self, matrix: Wide, q: Wide) -> npt.NDArray[Any]:
        """The entries."""
        if matrix.size and int(matrix.max()) >= 1 << 17:
            raise UsageError(
                f"an entry {int(matrix.max())} of a matrix, expected at most 17 bits in {self.name}"
            )
        return matrix.astype(np.uint32)

    def centre(self, words: jax.Array, q: jax.Array) -> jax.Array:
        """Words in the range of four signed bytes."""
        return centre_words(words, q)

    def product(self, table: jax.Array, words: jax.Array, side: Side, own: Residues) -> jax.Array:
        """The products of three pieces of an entry with four of a word, added up by weight."""
        assert side == "left", "entries of at most 17 bits are left factors"
        # Entries have the highest piece first, words the lowest: all products of one weight are
        # one product of neighbouring columns with neighbouring rows.
        few = merge_axes(cut_pieces(table, -2)[..., ENTRY_PIECES - 1 :: -1, :], -2)
        cut = merge_axes(cut_pieces(words, -3), -3)
        inner, last = words.shape[-2], ENTRY_PIECES - 1
        sums = jnp.zeros((), jnp.int64)
        for weight in range(ENTRY_PIECES + PIECES - 1):
            first, end = max(0, weight - last), min(PIECES - 1, weight) + 1
            left = few[..., (first + last - weight) * inner : (end + last - weight) * inner]
            right = cut[..., first * inner : end * inner, :]
            part = jnp.matmul(left, right, preferred_element_type=jnp.int32)
            sums = sums + (part.astype(jnp.int64) << np.int64(8 * weight))
        return reduce_sums(sums, inner * int(OFFSET) << 17, own)


@dataclass(frozen=True)
class Blocks:
    """Whole words times whole entries of at most 2^17, in doubles, in blocks of 64 terms.

    An entry less 2^16 is at most 2^16 in size and a centred residue at most 2^31, so a sum of 64
    products is at most 2^53."""

    name = "blocks-f64"

    def table(self, matrix: Wide, q: Wide) -> npt.NDArray[Any]:
        """The entries."""
        return Chunks().table(matrix, q)

    def centre(self, words: jax.Array, q: jax.Array) -> jax.Array:
        """Centred residues, modulo 2^32."""
        return words - jnp.where(words > q >> np.uint32(1), q, jnp.uint32(0))

    def product(self, table: jax.Array, words: jax.Array, side: Side, own: Residues) -> jax.Array:
        """The product, block by block.

        Entries were lowered by 2^16, so 2^16 times the sum of the words is added.
        """
        assert side == "left", "entries of at most 17 bits are left factors"
        inner, middle = words.shape[-2], 16
        whole = jax.lax.bitcast_convert_type(words, jnp.int32)
        entries = table.astype(jnp.float64) - (1 << middle)
        numbers = whole.astype(jnp.float64)
        sums = jnp.sum(whole.astype(jnp.int64), axis=-2, keepdims=True) << np.int64(middle)
        for start in range(0, inner, TERMS):
            block = slice(start, start + TERMS)
            part = jnp.matmul(entries[..., block], numbers[..., block, :])
            sums = sums + part.astype(jnp.int64)
        return reduce_sums(sums, inner << (17 + 31), own)


@dataclass(frozen=True)
class Parts:
    """Words cut into two or more parts, times whole entries."""

    unit: Literal["f64", "u64"]
    entry_bits: int
    """Bits of the entries: 17, 31 for centred residues, or 32."""

    @property
    def name(self) -> str:
        """The unit that multiplies."""
        return f"parts-{self.unit}"

    def table(self, matrix: Wide, q: Wide) -> npt.NDArray[Any]:
        """The entries, centred."""
        modulus = np.broadcast_to(q[:, None], matrix.shape).astype(np.int64)
        whole = matrix.astype(np.int64)
        centre = np.where(2 * whole > modulus, whole - modulus, whole)
        return centre.astype(np.float64 if self.unit == "f64" else np.int64)

    def centre(self, words: jax.Array, q: jax.Array) -> jax.Array:
        """The words themselves."""
        return words

    def product(self, table: jax.Array, words: jax.Array, side: Side, own: Residues) -> jax.Array:
        """One matrix product for each part."""
        kind = jnp.float64 if self.unit == "f64" else jnp.int64
        terms = words.shape[-2 if side == "left" else -1]
        exact = 53 if self.unit == "f64" else 60
        bits = min(16, exact - self.entry_bits - (terms - 1).bit_length())
        if bits < 1:
            raise UsageError(f"a product with {terms} terms is too long for {self.name}")
        table, mask = table.astype(kind), np.uint32((1 << bits) - 1)
        rest = None
        for shift in reversed(range(0, 32, bits)):
            part = ((words >> np.uint32(shift)) & mask).astype(kind)
            sums = jnp.matmul(*((table, part) if side == "left" else (part, table)))
            whole, bound = sums.astype(jnp.int64), terms << (self.entry_bits + bits)
            if rest is not None:
                whole = whole + (rest.astype(jnp.int64) << np.int64(bits))
                bound += 1 << (32 + bits)
            rest = reduce_sums(whole, bound, own)
        assert rest is not None
        return rest


@dataclass(frozen=True)
class Whole:
    """Whole words times whole entries, which have the factor 2^32 of Montgomery's products.

    Upper and lower halves of the products have a sum each. The quotient of the whole sum by 2^32 is
    the sum of the upper halves, each below the prime, plus the rest of the sum of lower halves."""

    name = "whole-u64"

    def table(self, matrix: Wide, q: Wide) -> npt.NDArray[Any]:
        """The entries times 2^32."""
        return ((matrix << BITS) % q[:, None]).astype(np.uint32)

    def centre(self, words: jax.Array, q: jax.Array) -> jax.Array:
        """The words themselves."""
        return words

    def product(self, table: jax.Array, words: jax.Array, side: Side, own: Residues) -> jax.Array:
        """All products, and one reduction of their sum."""
        assert side == "left", "only products from the left are written word by word"
        q, terms = jnp.asarray(own.q), words.shape[-2]
        entries, numbers = table[..., None].astype(jnp.uint64), words.astype(jnp.uint64)
        low, upper = jnp.uint64(0), jnp.uint64(0)
        if terms > WRITTEN:
            products = entries * numbers[..., None, :, :]
            low, upper = jnp.sum(products & LOWER, -2), jnp.sum(products >> BITS, -2)
        for k in range(terms if terms <= WRITTEN else 0):
            product = entries[..., k, :] * numbers[..., None, k, :]
            low, upper = low + (product & LOWER), upper + (product >> BITS)
        upper = upper + (low >> BITS)
        wide = q.astype(jnp.uint64)
        minus = high64(low.astype(jnp.uint32) * own.inverse, q)
        # Between 0 and terms + 3 times the prime: the carry is below the prime, too.
        rest = upper + wide - minus
        for bit in reversed(range((terms + 2).bit_length())):
            rest = jnp.minimum(rest, rest - (wide << np.uint64(bit)))
        residues: jax.Array = rest.astype(jnp.uint32)
        return residues
