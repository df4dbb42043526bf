"""The inputs of all programs: the same numbers as in `common/src/lib.rs` and `lattigo/main.go`."""

from __future__ import annotations

_MASK = (1 << 64) - 1
_FRACTION_BITS = 53


def words(seed: int, length: int, modulus: int) -> list[int]:
    """The input named ``seed``: output of SplitMix64 reduced modulo ``modulus``."""
    out = []
    for i in range(1, length + 1):
        z = (seed + i * 0x9E3779B97F4A7C15) & _MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        out.append((z ^ (z >> 31)) % modulus)
    return out


def complexes(seed: int, length: int) -> list[complex]:
    """The input named ``seed``: real parts, then imaginary parts, in [-1, 1)."""
    drawn = words(seed, 2 * length, 1 << _FRACTION_BITS)
    parts = [word / (1 << (_FRACTION_BITS - 1)) - 1 for word in drawn]
    return list(map(complex, parts[:length], parts[length:]))
