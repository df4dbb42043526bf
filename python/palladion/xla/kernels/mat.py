"""The transform as matrix products: the matrix-aligned transformation (MAT) of CROSS.

The ``N`` coefficients are a matrix of ``R`` rows and ``C`` columns: coefficient ``r C + c``. For
the value at ``psi^(2 k + 1)`` with ``k = i + R j``, the power of ``psi`` splits:

    psi^((2 k + 1)(r C + c)) = psi^((2 i + 1) r C)  psi^((2 i + 1) c)  psi^(2 R j c)

A transform is therefore a matrix ``[i, r]`` from the left, a product word by word, and a matrix
``[c, j]`` from the right. The place of ``k`` in the evaluation domain is ``k`` with its bits
reversed: its upper bits are the reversed bits of ``i``, its lower bits the reversed bits of ``j``.
Results are in place if the rows of the left matrix and the columns of the right one are in
bit-reversed order.

With ``psi^g`` in place of ``psi`` the results are the values of the polynomial at ``X^g``. An
automorphism before a transform therefore costs nothing. :class:`MatNtt` takes such a Galois element
for each row.

Source: Tong et al., "Leveraging ASIC AI chips for homomorphic encryption" (CROSS), section 5.1,
<https://arxiv.org/abs/2501.07047>.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from palladion.waves.roots import bit_reversed, powers, root_of
from palladion.xla.kernels.bat import Product
from palladion.xla.kernels.kernel import Wide, Words, check_moduli
from palladion.xla.kernels.words import Residues, montgomery, of_rows, to_montgomery


class Matrices(NamedTuple):
    """The tables of a transform. The first axis counts primes, or pairs of prime and element."""

    residues: Residues
    left: Any
    """The table of the matrix product for the matrix from the left, of ``R`` rows."""
    between: jax.Array | Words
    """Factors word by word, times 2^32: ``[P, R, C]``."""
    right: Any
    """The table of the matrix product for the matrix from the right, of ``C`` columns."""


def shape(n: int) -> tuple[int, int]:
    """Rows and columns, as equal as possible: the cost is rows plus columns."""
    rows = 1 << (n.bit_length() - 1) // 2
    return rows, n // rows


def matrices(q: int, n: int, element: int = 1, *, inverse: bool) -> tuple[Wide, Words, Wide]:
    """The matrix from the left, the factors between times 2^32, and the matrix from the right."""
    rows, columns = shape(n)
    root = pow(root_of(q, n, inverse=inverse), element, q)
    power = powers(root, 2 * n, q)
    i, j = bit_reversed(rows), bit_reversed(columns)
    r, c = np.arange(rows), np.arange(columns)
    left = power[np.outer(2 * i + 1, r * columns) % (2 * n)]
    between = power[np.outer(2 * i + 1, c) % (2 * n)]
    right = power[np.outer(c, 2 * rows * j) % (2 * n)]
    if inverse:
        left, right = left.T, right.T * np.uint64(pow(n, -1, q)) % np.uint64(q)
    return left, to_montgomery(between, q).astype(np.uint32), right


@dataclass(frozen=True)
class MatNtt:
    """Coefficients to values at the odd powers of the smallest root, in bit-reversed order."""

    way: Product
    inverse = False

    @property
    def name(self) -> str:
        """The way of the matrix products."""
        return f"mat-{self.way.name}"

    def tables(self, moduli: Words, n: int, elements: Sequence[int] | None = None) -> Matrices:
        """The matrices of the primes. With ``elements``, entry ``k`` is the transform modulo
        ``moduli[k]`` of polynomials at ``X^elements[k]``."""
        primes = check_moduli(moduli)
        parts = [
            self._matrices(q, n, element)
            for q, element in zip(primes, elements or [1] * len(primes), strict=True)
        ]
        left, between, right = (np.stack(each) for each in zip(*parts, strict=True))
        return Matrices(Residues.of(moduli), left, between, right)

    def _matrices(self, q: int, n: int, element: int) -> tuple[Wide, Words, Wide]:
        left, between, right = matrices(q, n, element, inverse=self.inverse)
        rows, columns = shape(n)
        return (
            self.way.table(left, np.full(rows, q, np.uint64)),
            between,
            self.way.table(right.T, np.full(columns, q, np.uint64)).T,
        )

    def apply(self, tables: Matrices, prime: jax.Array, a: jax.Array) -> jax.Array:
        """The transforms of rows."""
        residues, n = tables.residues, a.shape[1]
        own = residues.rows(prime, 2)
        q, inverse = jnp.asarray(own.q), jnp.asarray(own.inverse)
        left, between, right = (
            of_rows(words, prime) for words in (tables.left, tables.between, tables.right)
        )

        def from_left(words: jax.Array) -> jax.Array:
            return self.way.product(left, self.way.centre(words, q), "left", own)

        def from_right(words: jax.Array) -> jax.Array:
            return self.way.product(right, self.way.centre(words, q), "right", own)

        first, last = (from_right, from_left) if self.inverse else (from_left, from_right)
        words = montgomery(first(a.reshape(-1, *shape(n))), between, inverse, q)
        return last(words).reshape(-1, n)


@dataclass(frozen=True)
class MatIntt(MatNtt):
    """Values to coefficients: the transposed matrices of inverse powers, divided by ``N``."""

    inverse = True
