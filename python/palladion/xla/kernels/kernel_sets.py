"""Named sets of kernels, which a run can ask for. No set changes a word of the results.

A set names variants of some operations. For the others a device has its defaults. The names are
those of :data:`palladion.xla.kernels.choice.OPERATIONS`, whose module needs JAX. This one does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from palladion.errors import UsageError

KERNEL_SETS: Final[Mapping[str, Mapping[str, str]]] = {
    "default": {},
    "bat": {
        "ntt": "mat-bat-s8",
        "intt": "mat-bat-s8",
        "combine": "chunks-s8",
        "convert": "bat-s8",
    },
    "bat-bf16": {
        "ntt": "mat-bat-bf16",
        "intt": "mat-bat-bf16",
        "combine": "chunks-s8",
        "convert": "bat-bf16",
    },
    "conv": {
        "ntt": "mat-conv-s8",
        "intt": "mat-conv-s8",
        "combine": "chunks-s8",
        "convert": "conv-s8",
    },
    "bytes": {
        "ntt": "mat-bat-s8",
        "intt": "mat-bat-s8",
        "mul": "chunks-lazy",
        "scale": "bat-lazy",
        "combine": "chunks-s8",
        "convert": "bat-s8",
    },
    "constant-geometry": {"ntt": "constant-geometry", "intt": "constant-geometry"},
    "montgomery": {"mul": "montgomery-u64", "scale": "montgomery-u64"},
    "parts-f64": {
        "ntt": "mat-parts-f64",
        "intt": "mat-parts-f64",
        "combine": "parts-f64",
        "combine-wide": "parts-f64",
        "convert": "parts-f64",
    },
    "parts-u64": {
        "ntt": "mat-parts-u64",
        "intt": "mat-parts-u64",
        "combine": "parts-u64",
        "combine-wide": "parts-u64",
        "convert": "parts-u64",
    },
    "u32": {
        "ntt": "butterflies-u32",
        "intt": "butterflies-u32",
        "mul": "barrett-u32",
        "dot": "barrett-u32",
        "scale": "barrett-u32",
        "round": "u32",
    },
    "pallas-gpu": {"ntt": "pallas-triton", "intt": "pallas-triton", "dot": "pallas-triton"},
    "pallas-tpu": {"ntt": "pallas-mosaic", "intt": "pallas-mosaic", "dot": "pallas-mosaic"},
}
"""Variants by set and operation. ``bat`` is CROSS's way for matrices, and ``bytes`` cuts products
word by word into bytes too. ``conv`` has
convolutions of digits in the place of BAT. ``default`` ignores what ``palladion xla tune`` kept."""


def kernel_set(name: str) -> Mapping[str, str]:
    """The variants of a set, by operation.

    Raises
    ------
    UsageError
        If there is no such set.
    """
    if name not in KERNEL_SETS:
        known = ", ".join(KERNEL_SETS)
        raise UsageError(f"no set of kernels {name!r}, expected one of {known}")
    return KERNEL_SETS[name]
