"""What kernels of Pallas have in common: for which devices they are, and how they are called.

Pallas compiles a kernel of blocks by Triton for GPUs and by Mosaic for TPUs. ``interpret`` runs it
by XLA instead, on any device: slowly, for tests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

Unit = Literal["gpu", "tpu"]
COMPILERS = {"gpu": "triton", "tpu": "mosaic"}


@dataclass(frozen=True)
class OfPallas:
    """A kernel that one kind of device can compile."""

    unit: Unit
    interpret: bool = False

    @property
    def name(self) -> str:
        """The compiler."""
        return f"pallas-{COMPILERS[self.unit]}"

    @property
    def platforms(self) -> tuple[str, ...]:
        """The devices that it is for."""
        return (self.unit,)

    @property
    def bits(self) -> Literal["u32", "u64"]:
        """Words of products: a TPU has none of 64 bits."""
        return "u32" if self.unit == "tpu" else "u64"

    def call(
        self,
        body: Callable[..., None],
        grid: tuple[int, ...],
        specs: Sequence[Any],
        out: tuple[Any, tuple[int, ...]],
        scalars: int,
    ) -> Callable[..., jax.Array]:
        """A function that runs ``body`` for each point of a grid.

        The first operands are ``scalars`` arrays of numbers, which have no specification. On a TPU
        the specifications of the others may depend on them. ``out`` has the specification of the
        result and its shape.
        """
        spec, dimensions = out
        words: Any = jnp.uint32
        shape: Any = jax.ShapeDtypeStruct(dimensions, words)  # type: ignore[no-untyped-call]
        if self.unit == "tpu":
            from jax.experimental.pallas import tpu

            grids = tpu.PrefetchScalarGridSpec(
                num_scalar_prefetch=scalars, grid=grid, in_specs=list(specs), out_specs=spec
            )
            found: Callable[..., jax.Array] = pl.pallas_call(
                body, out_shape=shape, grid_spec=grids, interpret=self.interpret
            )
            return found
        from jax.experimental.pallas import triton

        return pl.pallas_call(
            body,
            grid=grid,
            in_specs=[*[pl.no_block_spec] * scalars, *specs],
            out_specs=spec,
            out_shape=shape,
            compiler_params=triton.CompilerParams(),
            interpret=self.interpret,
        )
