"""The transform by stages of butterflies, in passes that suit vector units.

A stage of the transform takes words ``x`` and ``y`` to ``x + w y`` and ``x - w y``. XLA writes each
output with a loop of its own, so it would compute the product twice. Here it is computed once: a
pass reads ``x`` and ``w y``, adds and subtracts them, and multiplies those results that are ``y``
in the *next* stage by this stage's factors. The results of a pass are stacked: XLA on a CPU fuses
operations before a stack into its loops, and begins the next kernel after it.

The inverse takes ``x`` and ``y`` to ``x + y`` and ``(x - y) w``. That has only one product.

The ``N`` words are a matrix of rows and columns. The first half of the stages pairs rows, with
columns in vector registers. Then the matrix is transposed for the second half of the stages. The
innermost loop thus has at least 16 steps from N = 2^8 on. A transposition is a loop of its own, see
:func:`transpose`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from palladion.waves.roots import root_of, tree
from palladion.xla.kernels.kernel import Wide, Words, check_moduli
from palladion.xla.kernels.mat import shape
from palladion.xla.kernels.modular import Bits
from palladion.xla.kernels.words import (
    HIGH,
    Residues,
    add,
    column,
    montgomery,
    of_rows,
    sub,
    to_montgomery,
)

Times: TypeAlias = Callable[[jax.Array, jax.Array], jax.Array]
Factors: TypeAlias = Callable[[int], jax.Array]


class Roots(NamedTuple):
    """The tables of a transform. The first axis counts primes."""

    residues: Residues
    factors: jax.Array | Words
    """Factors times 2^32, in the order of :func:`arrange_factors`: ``[P, N]``."""
    last: jax.Array | Words
    """For the inverse: ``2^32 / N``, and the same times its last factor, ``[P, 2]``."""


def arrange_factors(factors: Wide, rows: int) -> Wide:
    """Arranges the powers of nodes in the order in which the passes read them.

    The first ``rows`` powers belong to the first half of the stages. A later stage has ``2^s rows``
    nodes, ``2^s`` in each row. They become ``[2^s, rows]``: rows are the innermost axis then."""
    parts, nodes = [factors[:rows]], rows
    while nodes < len(factors):
        parts.append(factors[nodes : 2 * nodes].reshape(rows, -1).T.reshape(-1))
        nodes *= 2
    return np.concatenate(parts)


def make_roots(moduli: Words, n: int, inverse: bool) -> Roots:
    """The tables of the primes."""
    factors, last = [], []
    for q in check_moduli(moduli):
        root = root_of(q, n, inverse=inverse)
        by_node = to_montgomery(tree(root, n, q), q)
        factors.append(arrange_factors(by_node, shape(n)[0]))
        scale = pow(n, -1, q)
        last.append([(scale << 32) % q, int(by_node[1]) * scale % q])
    return Roots(Residues.of(moduli), np.array(factors, np.uint32), np.array(last, np.uint32))


@dataclass(frozen=True)
class ButterflyNtt:
    """Coefficients to values, in bit-reversed order."""

    bits: Bits = "u64"
    inverse = False

    @property
    def name(self) -> str:
        """The form of the transform, with the width of products' words."""
        return f"butterflies-{self.bits}"

    def tables(self, moduli: Words, n: int) -> Roots:
        """The factors of the primes."""
        return make_roots(moduli, n, self.inverse)

    def apply(self, tables: Roots, prime: jax.Array, a: jax.Array) -> jax.Array:
        """The transforms of rows."""
        count, n = a.shape
        rows, columns = shape(n)
        q, inverse = (
            column(words, prime, 3) for words in (tables.residues.q, tables.residues.inverse)
        )
        factors, last = of_rows(tables.factors, prime), of_rows(tables.last, prime)

        def times(words: jax.Array, factor: jax.Array) -> jax.Array:
            return montgomery(words, factor, inverse, q, HIGH[self.bits])

        def between_rows(stage: int) -> jax.Array:
            return factors[:, 1 << stage : 2 << stage].reshape(count, -1, 1, 1)

        def between_columns(stage: int) -> jax.Array:
            first = rows << stage
            return factors[:, first : 2 * first].reshape(count, -1, 1, rows)

        if not self.inverse:
            a = forward(a.reshape(count, rows, columns), q, times, between_rows)
            a = forward(transpose(a), q, times, between_columns)
            return transpose(a).reshape(count, n)
        a = backward(transpose(a.reshape(count, rows, columns)), q, times, between_columns)
        scale = last[:, :, None, None, None]
        a = backward(transpose(a), q, times, between_rows, scale)
        return a.reshape(count, n)


@dataclass(frozen=True)
class ButterflyIntt(ButterflyNtt):
    """Values to coefficients."""

    inverse = True


def forward(a: jax.Array, q: jax.Array, times: Times, factors: Factors) -> jax.Array:
    """Runs the stages that pair rows of ``[B, rows, lanes]``, with the factors of each stage.

    Between passes the shape is ``[B, nodes, 2, half, lanes]``. Axis 2 has ``x`` at 0 and ``w y`` at
    1."""
    count, rows, lanes = a.shape
    pairs = a.reshape(count, 1, 2, rows // 2, lanes)
    pairs = jnp.stack([pairs[:, :, 0], times(pairs[:, :, 1], factors(0))], axis=2)
    for stage in range(1, rows.bit_length() - 1):
        half = pairs.shape[3] // 2
        parts = []
        next_ = factors(stage)
        for child, words in enumerate(add_and_subtract(pairs, q)):
            factor = next_.reshape(count, -1, 2, *next_.shape[2:])[:, :, child]
            parts += [words[:, :, :half], times(words[:, :, half:], factor)]
        pairs = jnp.stack(parts, axis=2).reshape(count, -1, 2, half, lanes)
    return jnp.stack(add_and_subtract(pairs, q), axis=2).reshape(count, rows, lanes)


def backward(
    a: jax.Array, q: jax.Array, times: Times, factors: Factors, scale: jax.Array | None = None
) -> jax.Array:
    """Runs the inverse stages that pair rows, from the last to the first.

    ``scale`` has the factors of the sum and of the difference in the first stage. Without it the
    sum has no factor."""
    count, rows, lanes = a.shape
    stages = rows.bit_length() - 1
    for stage in reversed(range(stages)):
        pairs = a.reshape(count, 1 << stage, 2, rows >> (stage + 1), lanes)
        upper, lower = add_and_subtract(pairs, q)
        if stage or scale is None:
            lower = times(lower, factors(stage))
        else:
            upper, lower = (times(words, scale[:, i]) for i, words in enumerate((upper, lower)))
        a = jnp.stack([upper, lower], axis=2)
    return a.reshape(count, rows, lanes)


def transpose(a: jax.Array) -> jax.Array:
    """Transposes the matrices ``[B, rows, columns]``.

    It does so in two halves. XLA would fuse a single transposition with the pass before or after
    it, which then works word by word. A transform of 2^15 words takes 154 us with two halves, 256
    us with a single transposition."""
    half = a.shape[1] // 2
    return jnp.concatenate([a[:, :half].swapaxes(1, 2), a[:, half:].swapaxes(1, 2)], axis=2)


def add_and_subtract(pairs: jax.Array, q: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Adds and subtracts the words that are paired along axis 2."""
    x, y = pairs[:, :, 0], pairs[:, :, 1]
    return add(x, y, q), sub(x, y, q)
