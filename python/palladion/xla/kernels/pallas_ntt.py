"""The transform in two kernels of Pallas, in CROSS's matrix form with signed bytes.

XLA writes the products of bytes to memory, four words for each result, and reads them again. Here
a kernel makes one block of the result: it reads the words once, cuts and multiplies them on the
matrix unit, and reduces the block before it is written. See ``mat.py`` for the formulas, ``bat.py``
for pieces.

The matrices have a factor 2^32. A bias makes each of the four sums of products positive. Added up
by weight they are a number of at most 51 bits, in two words. Montgomery's reduction divides it by
2^32, and the kernel subtracts the bias modulo the prime. No word has more than 32 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl

from palladion.xla.kernels.bat import OFFSET, PIECES, centre_words, cut_pieces_on_host
from palladion.xla.kernels.kernel import Wide, Words, check_moduli
from palladion.xla.kernels.mat import matrices, shape
from palladion.xla.kernels.pallas import OfPallas
from palladion.xla.kernels.words import HIGH, High, montgomery, sub, to_montgomery

TILE: Final = 64
"""Rows of a block of the result. Triton holds four sums for each word of a block in registers."""
LANES: Final = 128
"""Columns of a block."""
CONSTANTS: Final = 4
"""Numbers of each prime: the prime, its inverse, and the bias of either pass as a residue."""


class Passes(NamedTuple):
    """The tables of a transform. The first axis counts primes."""

    constants: jax.Array | Words
    """``q``, ``q^-1 mod 2^32``, and for the left and the right pass ``bias / 2^32 mod q``."""
    left: Any
    """The matrix from the left, ``s8[P, 4, 4, R, R]``. The axes of 4 are weights of the result
    and pieces of the operand."""
    between: jax.Array | Words
    """Factors word by word, times 2^32: ``[P, R, C]``."""
    right: Any
    """The matrix from the right: ``s8[P, 4, 4, C, C]``."""


def cut_matrix(matrix: Wide, q: int) -> Any:
    """A matrix times 2^32 and each weight, in signed bytes: ``s8[4, 4, R, C]``."""
    modulus = np.uint64(q)
    scaled = to_montgomery(matrix, q)
    weighed = np.stack([(scaled << np.uint64(8 * d)) % modulus for d in range(PIECES)])
    return cut_pieces_on_host(weighed, np.full_like(weighed, modulus)).transpose(3, 0, 1, 2)


def bias(terms: int) -> int:
    """A number that makes a sum of products of bytes positive."""
    return PIECES * terms << 14


def find_bias_residue(terms: int, q: int) -> int:
    """The bias of the weighted sums, times 2^-32 modulo ``q``. The kernel subtracts it."""
    return bias(terms) * 0x01010101 * pow(1 << 32, -1, q) % q


@dataclass(frozen=True)
class PallasNtt(OfPallas):
    """Coefficients to values, in bit-reversed order."""

    inverse = False

    def tables(self, moduli: Words, n: int) -> Passes:
        """The matrices of the primes."""
        rows, columns = shape(n)
        parts = []
        for q in check_moduli(moduli):
            left, between, right = matrices(q, n, inverse=self.inverse)
            numbers = (
                q,
                pow(q, -1, 1 << 32),
                find_bias_residue(rows, q),
                find_bias_residue(columns, q),
            )
            parts.append(
                (np.array(numbers, np.uint32), cut_matrix(left, q), between, cut_matrix(right, q))
            )
        return Passes(*(np.stack(each) for each in zip(*parts, strict=True)))

    def apply(self, tables: Passes, prime: jax.Array, a: jax.Array) -> jax.Array:
        """The transforms of rows."""
        n = a.shape[1]
        words = a.reshape(-1, *shape(n))
        first, last = ("right", "left") if self.inverse else ("left", "right")
        words = self._pass(tables, prime, words, first, between=True)
        return self._pass(tables, prime, words, last, between=False).reshape(-1, n)

    def _pass(
        self, tables: Passes, prime: jax.Array, words: jax.Array, side: str, *, between: bool
    ) -> jax.Array:
        """The product with one matrix, and with ``between`` also with the factors word by word."""
        count, rows, columns = words.shape
        tile, lanes = min(TILE, rows), min(LANES, columns)
        left = side == "left"
        terms = rows if left else columns
        high = HIGH[self.bits]

        def body(primes: Any, numbers: Any, matrix: Any, factors: Any, own: Any, out: Any) -> None:
            row, down, across = (pl.program_id(axis) for axis in range(3))
            p = primes[row]
            q, inverse = numbers[CONSTANTS * p], numbers[CONSTANTS * p + 1]
            excess = numbers[CONSTANTS * p + (2 if left else 3)]
            # On a GPU the operands are whole tables, of which the kernel reads a block.
            whole = self.unit == "gpu"
            own_rows, own_columns = pl.ds(down * tile, tile), pl.ds(across * lanes, lanes)
            part = (own_rows, slice(None)) if left else (slice(None), own_columns)
            raised_words = (centre_words(own[...], q) + OFFSET) ^ OFFSET
            cuts = [(raised_words >> np.uint32(8 * d)).astype(jnp.int8) for d in range(PIECES)]
            sums = []
            for weight in range(PIECES):
                total = jnp.full((tile, lanes), bias(terms), jnp.int32)
                for d, piece in enumerate(cuts):
                    known = matrix[(p, weight, d, *part) if whole else (weight, d)]
                    pair = (known, piece) if left else (piece, known)
                    total = total + jnp.dot(*pair, preferred_element_type=jnp.int32)
                sums.append(total.astype(jnp.uint32))
            result = sub(reduce_weighted_sums(sums, inverse, q, high), excess, q)
            if between:
                factor = factors[(p, own_rows, own_columns) if whole else ...]
                result = montgomery(result, factor, inverse, q, high)
            out[...] = result

        own = (None, rows, lanes) if left else (None, tile, columns)
        block = (None, tile, lanes)
        known = (None, PIECES, PIECES, *((tile, rows) if left else (columns, lanes)))
        if self.unit == "gpu":
            specs: list[Any] = [pl.no_block_spec, pl.no_block_spec]
        else:
            specs = [
                pl.BlockSpec(
                    known,
                    (lambda b, i, j, primes, _: (primes[b], 0, 0, i, 0))
                    if left
                    else (lambda b, i, j, primes, _: (primes[b], 0, 0, 0, j)),
                ),
                pl.BlockSpec(block, lambda b, i, j, primes, _: (primes[b], i, j)),
            ]
        specs.append(pl.BlockSpec(own, lambda b, i, j, *_: (b, 0, j) if left else (b, i, 0)))
        run = self.call(
            body,
            (count, rows // tile, columns // lanes),
            specs,
            (pl.BlockSpec(block, lambda b, i, j, *_: (b, i, j)), words.shape),
            scalars=2,
        )
        matrix = tables.left if left else tables.right
        numbers = jnp.asarray(tables.constants).reshape(-1)
        return run(prime, numbers, matrix, tables.between, words)


@dataclass(frozen=True)
class PallasIntt(PallasNtt):
    """Values to coefficients."""

    inverse = True


def reduce_weighted_sums(
    sums: list[jax.Array], inverse: jax.Array, q: jax.Array, high: High
) -> jax.Array:
    """``sum_i 2^(8 i) sums[i] / 2^32 mod q``, for sums of at most 27 bits."""
    low, upper = sums[0], jnp.zeros_like(sums[0])
    for i in range(1, PIECES):
        part = sums[i] << np.uint32(8 * i)
        low = low + part
        upper = upper + (sums[i] >> np.uint32(32 - 8 * i)) + (low < part).astype(jnp.uint32)
    for bit in (3, 2, 1, 0):  # below 2^20, and primes are above 2^16
        multiple = jnp.minimum(q, np.uint32((1 << 28) - 1)) << np.uint32(bit)
        upper = jnp.where(upper >= multiple, upper - multiple, upper)
    return sub(upper, high(low * inverse, q), q)
