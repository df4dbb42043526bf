"""A GPU of NVIDIA, through CuPy."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from palladion.cuda.launch import SOURCE, THREADS
from palladion.errors import UsageError

Array = Any

POINTERS: Final = 6
"""Pointers before the numbers in a kernel's arguments."""


class Gpu:
    """The first GPU, with the kernels of some names."""

    def __init__(self, names: set[str]) -> None:
        self._cupy = cupy()
        templates = tuple(sorted(name for name in names if "<" in name))
        module = self._cupy.RawModule(
            code=SOURCE.read_text(), options=("--std=c++17",), name_expressions=templates or None
        )
        self._stream = self._cupy.cuda.Stream(non_blocking=True)
        self._kernels = {name: module.get_function(name) for name in sorted(names)}

    @property
    def name(self) -> str:
        """The name of the GPU."""
        properties = self._cupy.cuda.runtime.getDeviceProperties(0)
        return str(properties["name"].decode())

    @property
    def free(self) -> int:
        """Bytes of memory that are free."""
        self._cupy.get_default_memory_pool().free_all_blocks()
        return int(self._cupy.cuda.Device().mem_info[0])

    def put(self, words: Any) -> Array:
        """A copy on the device of an array of the host."""
        if words.dtype.fields is not None:
            words = np.ascontiguousarray(words).view(np.uint8)
        return self._cupy.asarray(words)

    def empty(self, rows: int, n: int) -> Array:
        """Rows of words whose values are not defined."""
        return self._cupy.empty((rows, n), np.uint32)

    def fill(self, rows: Array, words: Any) -> None:
        """Write an array of the host, or a word everywhere."""
        values = np.full(rows.shape, words, np.uint32) if isinstance(words, int) else words
        rows.set(values, self._stream)
        self._stream.synchronize()

    def get(self, rows: Array) -> bytes:
        """The bytes of rows, when all launches before are done."""
        self._stream.synchronize()
        return bytes(self._cupy.asnumpy(rows).tobytes())

    def address(self, array: Array) -> int:
        """The address of an array on the device."""
        return int(array.data.ptr)

    def launch(self, kernel: str, grid: tuple[int, int, int], arguments: tuple[Any, ...]) -> None:
        """Start a kernel."""
        pointers = (np.uint64(pointer) for pointer in arguments[:POINTERS])
        numbers = (np.uint32(number) for number in arguments[POINTERS:])
        with self._stream:
            self._kernels[kernel](grid, (THREADS,), (*pointers, *numbers))

    def wait(self) -> None:
        """Return when all launches are done."""
        self._stream.synchronize()

    def begin_recording(self) -> None:
        """Record the launches from now on, and do not start them."""
        self._stream.begin_capture()

    def end_recording(self) -> Any:
        """The recorded launches."""
        return self._stream.end_capture()

    def replay(self, recorded: Any) -> None:
        """Start recorded launches in one call."""
        recorded.launch(self._stream)


def cupy() -> Any:
    """The package CuPy, with a GPU.

    Raises
    ------
    UsageError
        If CuPy is not installed, or finds no GPU.
    """
    try:
        import cupy as module
    except ModuleNotFoundError as error:
        raise UsageError(
            "the target cuda needs the package `cupy`, which was not found: "
            "pip install cupy-cuda12x, or cupy-cuda13x for a driver of CUDA 13"
        ) from error
    try:
        count = module.cuda.runtime.getDeviceCount()
    except Exception as error:  # CuPy has several classes for a missing driver
        raise UsageError(f"the target cuda needs a GPU of NVIDIA: {error}") from error
    if count == 0:
        raise UsageError("the target cuda needs a GPU of NVIDIA, and CuPy finds none")
    return module
