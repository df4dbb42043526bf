"""Lists every variant of every kernel, and chooses one for a device.

A run can name a set of :mod:`palladion.xla.kernels.kernel_sets`. Otherwise a device uses what
``palladion xla tune`` kept. It measures all variants and keeps the fastest ones in a file of the
user's cache, with the device and JAX's version for which they hold. Without such a file a device
uses the defaults below."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jax

from palladion.errors import UsageError
from palladion.support import files
from palladion.waves.roots import least_root as root
from palladion.xla.kernels.bat import Aligned, Blocks, Chunks, Parts, Product, Whole
from palladion.xla.kernels.butterflies import ButterflyIntt, ButterflyNtt
from palladion.xla.kernels.chunks import MulChunks, ScaleAligned
from palladion.xla.kernels.combine import Combine
from palladion.xla.kernels.constant_geometry import ConstantGeometryIntt, ConstantGeometryNtt
from palladion.xla.kernels.convert import Convert
from palladion.xla.kernels.convolution import Convolution
from palladion.xla.kernels.digit import Digit
from palladion.xla.kernels.extract import Extract
from palladion.xla.kernels.kernel import Kernel
from palladion.xla.kernels.kernel_sets import KERNEL_SETS, kernel_set
from palladion.xla.kernels.mat import MatIntt, MatNtt
from palladion.xla.kernels.modular import Add, Dot, Mul, Scale, Sub
from palladion.xla.kernels.pallas_dot import PallasDot
from palladion.xla.kernels.pallas_ntt import PallasIntt, PallasNtt
from palladion.xla.kernels.permute import Permute, Turn
from palladion.xla.kernels.round import Round

__all__ = ["OPERATIONS", "Choice", "choose_kernels", "root", "variant"]

RESIDUES: Final[tuple[Product, ...]] = (
    Aligned("s8"),
    Aligned("bf16"),
    Convolution(),
    Parts("f64", 31),
    Parts("u64", 31),
)
"""Products of matrices of residues."""
SMALL: Final[tuple[Product, ...]] = (Blocks(), Chunks(), Parts("f64", 17), Parts("u64", 17))
"""Products of matrices of integers below 2^17."""
WIDE: Final[tuple[Product, ...]] = (Parts("f64", 32), Parts("u64", 32))
"""Products of matrices of integers below 2^32."""

OPERATIONS: Final[Mapping[str, tuple[Any, ...]]] = {
    "ntt": (
        ButterflyNtt("u64"),
        ButterflyNtt("u32"),
        ConstantGeometryNtt(),
        *map(MatNtt, RESIDUES),
        PallasNtt("gpu"),
        PallasNtt("tpu"),
    ),
    "intt": (
        ButterflyIntt("u64"),
        ButterflyIntt("u32"),
        ConstantGeometryIntt(),
        *map(MatIntt, RESIDUES),
        PallasIntt("gpu"),
        PallasIntt("tpu"),
    ),
    "add": (Add(),),
    "sub": (Sub(),),
    "mul": (
        *(Mul(way, bits) for way in ("barrett", "montgomery") for bits in ("u64", "u32")),
        MulChunks(lazy=False),
        MulChunks(lazy=True),
    ),
    "dot": (Dot("u64"), Dot("u32"), PallasDot("gpu"), PallasDot("tpu")),
    "scale": (
        *(Scale(way, bits) for way in ("barrett", "montgomery") for bits in ("u64", "u32")),
        Scale("shoup", "u64"),
        ScaleAligned(),
    ),
    "combine": tuple(map(Combine, SMALL)),
    "combine-wide": tuple(map(Combine, WIDE)),
    "convert": tuple(map(Convert, (Whole(), *RESIDUES))),
    "permute": (Permute(),),
    "extract": (Extract(),),
    "turn": (Turn(),),
    "round": (Round("u64"), Round("u32")),
    "digit": (Digit(),),
}
"""Kernels by operation. All kernels of an operation give the same words."""

DEFAULTS: Final[Mapping[str, Mapping[str, str]]] = {
    "cpu": {},
    "gpu": {},
    "tpu": KERNEL_SETS["bat"],
}
"""Default variants by platform and operation. Otherwise it is the first of :data:`OPERATIONS`."""


def fits(kernel: Any, platform: str) -> bool:
    """True if a kind of device can compile a kernel. Most kernels are for all devices."""
    return platform in getattr(kernel, "platforms", (platform,))


def variant(operation: str, name: str, platform: str | None = None) -> Kernel:
    """The variant of a name. With ``platform``, that kind of device must be able to compile it.

    Raises
    ------
    UsageError
        If there is none, or if it is for other devices.
    """
    if operation not in OPERATIONS:
        raise UsageError(f"no operation {operation!r}, expected one of {', '.join(OPERATIONS)}")
    by_name = {kernel.name: kernel for kernel in OPERATIONS[operation]}
    if name not in by_name:
        raise UsageError(
            f"no variant {name!r} of {operation}, expected one of {', '.join(by_name)}"
        )
    wanted: Kernel = by_name[name]
    if platform is not None and not fits(wanted, platform):
        others = ", ".join(kernel.name for kernel in by_name.values() if fits(kernel, platform))
        raise UsageError(
            f"the variant {name} of {operation} is not for a {platform}, expected one of {others}"
        )
    return wanted


@dataclass(frozen=True)
class Choice:
    """The variant that was fastest on a device, for each operation."""

    device: str
    jax: str
    n: int
    kernels: Mapping[str, str]

    def save(self) -> Path:
        """Save the choice in the user's cache. Returns the file."""
        path = file(self.device)
        path.parent.mkdir(parents=True, exist_ok=True)
        fields = {"device": self.device, "jax": self.jax, "n": self.n, "kernels": {**self.kernels}}
        files.write(path, json.dumps(fields, indent=2).encode())
        return path


def file(device: str) -> Path:
    """The file that keeps the choice for a device, in the user's cache."""
    if folder := os.environ.get("XDG_CACHE_HOME"):
        root = Path(folder)
    elif sys.platform == "win32":
        root = Path(os.environ.get("LOCALAPPDATA", Path.home()))
    else:
        root = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    name = "".join(sign if sign.isalnum() else "-" for sign in device)
    return root / "palladion" / f"xla-{name}.json"


def load_choice(device: str) -> Mapping[str, str]:
    """The saved choice for a device under this version of JAX. It is empty if there is none."""
    try:
        fields = json.loads(file(device).read_bytes())
        if (fields["device"], fields["jax"]) != (device, jax.__version__):
            return {}
        return {str(key): str(name) for key, name in fields["kernels"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}  # without a choice the defaults hold


def name_of(device: Any) -> str:
    """Platform and kind of a device of JAX."""
    return f"{device.platform} {device.device_kind}"


def choose_kernels(device: Any | None = None, named: str | None = None) -> dict[str, Kernel]:
    """A kernel for each operation, for a device of JAX or its first one.

    ``named`` is a set of :data:`KERNEL_SETS`. Without it what ``palladion xla tune`` kept is
    chosen.

    Raises
    ------
    UsageError
        If there is no such set, or if one of its kernels is for other devices.
    """
    device = device or jax.devices()[0]
    defaults = DEFAULTS.get(device.platform, {})
    if named is not None:
        names = {**{name: of[0].name for name, of in OPERATIONS.items()}, **defaults}
        names |= kernel_set(named)
        return {name: variant(name, names[name], device.platform) for name in OPERATIONS}
    kept = load_choice(name_of(device))
    choices = {}
    for operation, kernels in OPERATIONS.items():
        known = {kernel.name for kernel in kernels if fits(kernel, device.platform)}
        name = kept.get(operation)
        if name is None or name not in known:  # an older version may have saved other names
            name = defaults.get(operation, kernels[0].name)
        choices[operation] = variant(operation, name, device.platform)
    return choices
