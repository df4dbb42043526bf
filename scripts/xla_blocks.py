"""Times of basis conversions through XLA, whole and in blocks of columns: `docs/notes/xla.md`.

    python scripts/xla_blocks.py

A call is a loop of some conversions, as a wave of a run on a CPU is. Times are milliseconds of one.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
from palladion.reproduce.cross.measured import median
from palladion.xla import enable

enable()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from palladion.xla.kernels.bat import Aligned, Product, Whole  # noqa: E402
from palladion.xla.kernels.convert import Bases, Convert  # noqa: E402
from palladion.xla.kernels.tune import primes  # noqa: E402

SIZES: Final = ((1 << 16, 17, 34), (1 << 15, 8, 8), (1 << 14, 8, 8))
"""Words of a row, and primes of the source and of the target."""
BLOCKS: Final = (256, 1024, 4096, 16384)
LOOPED: Final = 4
"""Conversions of a call."""
WAYS: Final[tuple[Product, ...]] = (Whole(), Aligned("s8"))


def convert_in_blocks(kernel: Convert, block: int, tables: Any, which: Any, rows: Any) -> Any:
    """The converted rows, ``block`` columns at a time."""
    n, targets = rows.shape[2], tables.target.shape[1]
    if block >= n:
        return kernel.apply(tables, which, rows)

    def step(index: Any, result: Any) -> Any:
        some = jax.lax.dynamic_slice_in_dim(rows, index * block, block, 2)
        part = kernel.apply(tables, which, some)
        return jax.lax.dynamic_update_slice_in_dim(result, part, index * block, 2)

    return jax.lax.fori_loop(0, n // block, step, jnp.zeros((1, targets, n), jnp.uint32))


def main() -> None:
    rng = np.random.default_rng(1)
    for n, source, target in SIZES:
        moduli = np.array(primes(n, source + target), np.uint32)
        bases = Bases.of(moduli, [([*range(source)], [*range(source, source + target)])])
        size = (LOOPED, 1, source, n)
        rows = rng.integers(int(moduli.min()), size=size, dtype=np.uint32)
        for way in WAYS:
            kernel = Convert(way)
            tables = kernel.tables(moduli, n, bases)
            expected = None
            for block in (n, *(block for block in BLOCKS if block < n)):
                one = partial(convert_in_blocks, kernel, block)

                def call(tables: Any, which: Any, rows: Any, one: Any = one) -> Any:
                    return jax.lax.map(lambda own: one(tables, *own), (which, rows))

                operands = jax.device_put((tables, np.zeros((LOOPED, 1), np.int32), rows))
                compiled = jax.jit(call).lower(*operands).compile()
                result = np.asarray(compiled(*operands))
                expected = result if expected is None else expected
                assert np.array_equal(result, expected), "blocks change no word"
                seconds = median(lambda f=compiled, x=operands: f(*x).block_until_ready(), 5)  # type: ignore[misc]
                print(f"{n:6} {source:3} {target:3} {way.name:10} block {block:6} "
                      f"{1e3 * seconds / LOOPED:8.2f} ms", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
