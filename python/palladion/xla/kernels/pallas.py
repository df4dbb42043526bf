"""The base of kernels written in Pallas: their devices, and their calls.

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
        """The kinds of devices that can compile the kernel."""
        return (self.unit,)

    @property
    def bits(self) -> Literal["u32", "u64"]:
        """The width of products' words. A TPU has no words of 64 bits."""
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

        The first ``scalars`` operands are arrays of numbers without a specification. On a TPU the
        specifications of the other operands may depend on them. ``out`` has the specification and
        the shape of the result.
        """
        spec, dimensions = out
        words: Any = jnp.uint32
        shape: Any = jax.ShapeDtypeStruct(dimensions, words)  # type: ignore[no-untyped-call]
        if self.unit == "tpu":
            from jax.experimental.pallas import tpu

            grids = tpu.PrefetchScalarGridSpec(
                num_scalar_prefetch=scalars, grid=grid, in_specs=list(specs), out_specs=spec
            )
            function: Callable[..., jax.Array] = pl.pallas_call(
                body, out_shape=shape, grid_spec=grids, interpret=self.interpret
            )
            return function
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
