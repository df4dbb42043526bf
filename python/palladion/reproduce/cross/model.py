"""A roofline: least times by peak figures of a chip. It is a model, and no measurement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from palladion.support.records import Json


@dataclass(frozen=True)
class Chip:
    """Peak figures of one chip, as its maker publishes them."""

    name: str
    int8_per_second: float
    """Additions and multiplications of 8-bit integers in matrix units."""
    bytes_per_second: float

    def seconds(self, byte_products: float, moved: float) -> float:
        """The larger of the times for products and for bytes."""
        return max(2 * byte_products / self.int8_per_second, moved / self.bytes_per_second)


TPU_V4: Final = Chip("TPUv4", 275e12, 1200e9)
TPU_V6E: Final = Chip("TPU v6e", 1836e12, 1600e9)
"""Cloud TPU's documents, pages "TPU v4" and "TPU v6e", read in November 2026."""


@dataclass(frozen=True)
class Work:
    """The work of an operation, from the counts of its trace."""

    n: int
    bits: int
    """Bits of the widest prime."""
    passes: dict[str, int]
    """Passes over limbs by kind, as ``palladion lower`` counts them."""

    @staticmethod
    def of(n: int, bits: int, counts: Json) -> Work:
        """The work of a trace."""
        return Work(n, bits, {kind: int(count) for kind, count in counts["passes"].items()})

    def minus(self, passes: dict[str, int]) -> Work:
        """Without some passes."""
        left = {kind: count - passes.get(kind, 0) for kind, count in self.passes.items()}
        return Work(self.n, self.bits, left)

    @property
    def digits(self) -> int:
        """8-bit digits of a residue."""
        return -(-self.bits // 8)

    @property
    def transforms(self) -> int:
        """Transforms of limbs, in both directions."""
        return self.passes["ntt"] + self.passes["intt"]

    @property
    def transform_products(self) -> int:
        """Modular products in matrices of transforms: ``N = R C`` takes ``R + C`` for a word."""
        rows = 1 << ((self.n.bit_length() - 1 + 1) // 2)
        return self.transforms * self.n * (rows + self.n // rows)

    @property
    def conversion_products(self) -> int:
        """Modular products in matrices of basis changes, and of combinations."""
        terms = self.passes["conversion terms"] + self.passes["combination terms"]
        return terms * self.n

    @property
    def word_products(self) -> int:
        """Modular products word by word. A transform by matrices has one for each word."""
        kinds = ("products", "dot terms", "scalings")
        return (self.transforms + sum(self.passes[kind] for kind in kinds)) * self.n

    @property
    def byte_products(self) -> int:
        """8-bit products in matrices by BAT: each digit of one factor with each of the other."""
        return self.digits**2 * (self.transform_products + self.conversion_products)

    @property
    def limb_bytes(self) -> int:
        """Bytes of a limb in memory."""
        return self.n * (4 if self.bits <= 32 else 8)

    @property
    def compulsory_bytes(self) -> int:
        """Inputs, keys, and results, each moved once."""
        kinds = ("loaded", "sampled", "constants", "stored")
        return self.limb_bytes * sum(self.passes[kind] for kind in kinds)

    @property
    def pass_bytes(self) -> int:
        """Bytes if every pass reads its operands from memory and writes its result there."""
        return self.limb_bytes * sum(MOVED[kind] * count for kind, count in self.passes.items())

    def least_seconds(self, chip: Chip) -> float:
        """A time that no schedule by these matrices is below."""
        return chip.seconds(self.byte_products, self.compulsory_bytes)

    def unfused_seconds(self, chip: Chip) -> float:
        """The same if passes keep nothing on the chip."""
        return chip.seconds(self.byte_products, self.pass_bytes)


MOVED: Final = {
    **dict.fromkeys(("ntt", "intt", "scalings", "permutations", "roundings", "digits"), 2),
    **dict.fromkeys(("additions", "products"), 3),
    # A term reads two limbs, or one: its sum stays on the chip.
    "dot terms": 2,
    **dict.fromkeys(("combination terms", "conversion terms", "quotients"), 1),
    **dict.fromkeys(("sampled", "constants", "loaded", "stored"), 0),
}
"""Limbs that a pass moves. A loaded limb is moved by the pass that reads it."""
