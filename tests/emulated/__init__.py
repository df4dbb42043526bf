"""The kernels for GPUs of NVIDIA, compiled for the CPU and run thread by thread."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from palladion.cuda import launch

HERE = Path(__file__).parent
COMPILER = shutil.which("c++")

POINTERS, NUMBERS = 6, 3
GRID = 3


class EmulatedGpu:
    """A device of :class:`palladion.cuda.gpu_executor.Executor`: memory is that of arrays in numpy.

    What is empty on a GPU is full of ones here, so that a word that was never written is seen.
    """

    def __init__(self, names: set[str], folder: Path) -> None:
        order = sorted(names)
        self._ids = {name: index for index, name in enumerate(order)}
        library = folder / "kernels.so"
        source = folder / "kernels.cpp"
        source.write_text(program(order))
        subprocess.run(
            [str(COMPILER), "-std=c++17", "-O1", "-w", "-shared", "-fPIC", "-o", library, source],
            check=True,
        )
        self._run = ctypes.CDLL(str(library)).run
        self._run.argtypes = [ctypes.c_uint] * (1 + GRID) + [ctypes.c_uint64] * POINTERS
        self._run.argtypes += [ctypes.c_uint] * NUMBERS
        self.launched = self.replayed = 0
        self._recorded: list[Any] | None = None

    def put(self, words: Any) -> Any:
        return np.array(words, order="C")

    def empty(self, rows: int, n: int) -> Any:
        return np.full((rows, n), 0xFFFFFFFF, np.uint32)

    def fill(self, rows: Any, words: Any) -> None:
        assert self._recorded is None
        rows[:] = words

    def get(self, rows: Any) -> bytes:
        assert self._recorded is None
        return bytes(rows.tobytes())

    def address(self, array: Any) -> int:
        return int(array.ctypes.data)

    def launch(self, kernel: str, grid: tuple[int, int, int], arguments: tuple[Any, ...]) -> None:
        if self._recorded is not None:
            self._recorded.append((kernel, grid, arguments))
            return
        self.launched += 1
        self._run(self._ids[kernel], *grid, *arguments)

    def wait(self) -> None:
        assert self._recorded is None

    def begin_recording(self) -> None:
        assert self._recorded is None
        self._recorded = []

    def end_recording(self) -> Any:
        recorded, self._recorded = self._recorded, None
        assert recorded is not None
        return recorded

    def replay(self, recorded: Any) -> None:
        self.replayed += 1
        for launch_of in recorded:
            self._run(self._ids[launch_of[0]], *launch_of[1], *launch_of[2])


def program(names: list[str]) -> str:
    """A program in C++ with a function that runs a kernel by its place in the list."""
    cases = "\n".join(
        f"        case {index}: {name}(STORE, READS, WRITES, WORDS, PRIMES, TABLE, N, R, W); break;"
        for index, name in enumerate(names)
    )
    pointers = ["store", "reads", "writes", "words", "primes", "table"]
    return f"""
#include "{HERE / "cuda.h"}"
#include "{launch.SOURCE}"

static unsigned kernel, N, R, W;
static u32 *STORE;
static const i32 *READS, *WRITES;
static const u32 *WORDS;
static const Prime *PRIMES;
static const void *TABLE;

static void one_thread() {{
    switch (kernel) {{
{cases}
    }}
}}

extern "C" void run(unsigned id, unsigned x, unsigned y, unsigned z,
                    {", ".join(f"uint64_t {name}" for name in pointers)},
                    unsigned n, unsigned r, unsigned w) {{
    kernel = id, N = n, R = r, W = w;
    STORE = (u32 *)store, READS = (const i32 *)reads, WRITES = (const i32 *)writes;
    WORDS = (const u32 *)words, PRIMES = (const Prime *)primes, TABLE = (const void *)table;
    blockDim = {{THREADS, 1, 1}};
    for (unsigned a = 0; a < z; a++)
        for (unsigned b = 0; b < y; b++)
            for (unsigned c = 0; c < x; c++) {{
                blockIdx = {{c, b, a}};
                fibers::run_block(one_thread);
            }}
}}
"""
