"""Products of matrices modulo primes as convolutions of digits: the baseline of CROSS's ablation.

Entries and words are cut into four signed bytes each, as for :class:`~.bat.Aligned`. The product
of two such numbers is a convolution of their digits, with seven weights ``2^(8 w)``. For a matrix
unit the digits of an entry are a matrix of 7 x 4 whose diagonals are the digits, and whose other 12
of 28 places are zero. So a product of residues is 28 products of bytes, where BAT has 16, and there
are seven sums to add up by weight, where BAT has four.

Source: Tong et al., "Leveraging ASIC AI chips for homomorphic encryption" (CROSS), section 4.1.3
and figure 6, <https://arxiv.org/abs/2501.07047>, where digits are unsigned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from palladion.errors import UsageError
from palladion.xla.kernels.bat import (
    PIECES,
    Side,
    centre_words,
    cut_pieces,
    cut_pieces_on_host,
    merge_axes,
    reduce_sums,
    split_pieces,
    weigh_sums,
)
from palladion.xla.kernels.kernel import Wide
from palladion.xla.kernels.words import Residues

WEIGHTS: Final = 2 * PIECES - 1
LOWER_WEIGHTS: Final = 3
"""Weights that are added up after the upper ones are reduced. A residue times ``2^24`` and three
sums of at most 2^31 by their weights are below 2^57."""
LARGEST_SUM: Final = 1 << 31


@dataclass(frozen=True)
class Convolution:
    """Signed bytes of both factors, for residues of any prime below 2^32."""

    name = "conv-s8"

    def table(self, matrix: Wide, q: Wide) -> npt.NDArray[np.int8]:
        """Digits of the matrix ``[R, C]`` on diagonals: ``s8[7 R, 4 C]``.

        Rows are by weight, and columns by the digit of a word, the lowest first.

        Raises
        ------
        UsageError
            If sums of so many products do not fit 32 bits.
        """
        rows, columns = matrix.shape
        if PIECES * columns << 14 > LARGEST_SUM:
            raise UsageError(
                f"a product with {columns} terms, expected at most {LARGEST_SUM >> 16} in "
                f"{self.name}"
            )
        digits = cut_pieces_on_host(matrix, np.broadcast_to(q[:, None], matrix.shape))
        table = np.zeros((WEIGHTS, rows, PIECES, columns), np.int8)
        for own in range(PIECES):
            for other in range(PIECES):
                table[own + other, :, other] = digits[..., own]
        return table.reshape(WEIGHTS * rows, PIECES * columns)

    def centre(self, words: jax.Array, q: jax.Array) -> jax.Array:
        """Words in the range of four signed bytes."""
        return centre_words(words, q)

    def product(self, table: jax.Array, words: jax.Array, side: Side, own: Residues) -> jax.Array:
        """The product by one matrix product of digits, and two reductions of its sums.

        All sums together have up to 79 bits, so the upper four weights are reduced before the lower
        three are added.
        """
        axis = -3 if side == "left" else -2
        cut = merge_axes(cut_pieces(words, axis), axis)
        factors = (table, cut) if side == "left" else (cut, table)
        product = jnp.matmul(*factors, preferred_element_type=jnp.int32)
        apart, axis = split_pieces(product, side, WEIGHTS)
        lower, upper = jnp.split(apart, [LOWER_WEIGHTS], axis % apart.ndim)
        largest = cut.shape[-2 if side == "left" else -1] << 14
        rest = reduce_sums(weigh_sums(upper, axis, 8), largest * weights_of(PIECES), own)
        shifted = rest.astype(jnp.int64) << np.int64(8 * LOWER_WEIGHTS)
        bound = largest * weights_of(LOWER_WEIGHTS) + (1 << 32 + 8 * LOWER_WEIGHTS)
        return reduce_sums(weigh_sums(lower, axis, 8) + shifted, bound, own)


def weights_of(count: int) -> int:
    """The sum of the lowest weights."""
    return sum(1 << 8 * w for w in range(count))
