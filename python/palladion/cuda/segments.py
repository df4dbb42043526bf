"""Launches that are recorded once and replayed: the graphs of CUDA."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, Protocol

Array = Any


class Device(Protocol):
    """A device: memory, and kernels by name."""

    def put(self, words: Any) -> Array:
        """A copy on the device of an array of the host."""

    def empty(self, rows: int, n: int) -> Array:
        """Rows of words whose values are not defined."""

    def fill(self, rows: Array, words: Any) -> None:
        """Write an array of the host, or a word everywhere."""

    def get(self, rows: Array) -> bytes:
        """The bytes of rows, when all launches before are done."""

    def address(self, array: Array) -> int:
        """The address of an array on the device."""

    def launch(self, kernel: str, grid: tuple[int, int, int], arguments: tuple[Any, ...]) -> None:
        """Start a kernel with :data:`launch.THREADS` threads a block."""

    def wait(self) -> None:
        """Return when all launches are done."""

    def begin_recording(self) -> None:
        """Record the launches from now on, and do not start them."""

    def end_recording(self) -> Any:
        """The recorded launches."""

    def replay(self, recorded: Any) -> None:
        """Start recorded launches in one call."""


class Segments:
    """The launches of a run between the moments when the host reads, writes or waits.

    Runs with the same kept values launch the same kernels on the same memory. The first of them
    records its segments, and later ones replay them.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._mode: Literal["launch", "record", "replay"] = "launch"
        self._recorded: list[Any] = []
        self._complete = False
        self._next = 0
        self._open = False
        """True if the segment has begun: it is being recorded, or was replayed."""

    @contextmanager
    def use(self, *, known: bool) -> Iterator[None]:
        """Begin a run. It launches one kernel after the other if its values are not ``known``."""
        self._mode = ("replay" if self._complete else "record") if known else "launch"
        self._next, self._open = 0, False
        if self._mode == "record":
            self._recorded = []
        try:
            yield
            self.end()
            self._complete |= self._mode == "record"
        finally:
            if self._open and self._mode == "record":
                self._device.end_recording()
            self._mode, self._open = "launch", False

    def launch(self, kernel: str, grid: tuple[int, int, int], arguments: tuple[Any, ...]) -> None:
        """Start or record a kernel."""
        if self._mode == "record" and not self._open:
            self._device.begin_recording()
            self._open = True
        self._device.launch(kernel, grid, arguments)

    def replayed(self) -> bool:
        """True if this run replays segments. The first call in a segment starts all of it."""
        if self._mode != "replay":
            return False
        if not self._open:
            self._device.replay(self._recorded[self._next])
            self._next, self._open = self._next + 1, True
        return True

    def end(self) -> None:
        """End the segment: the host is about to read, to write or to wait."""
        if self._open and self._mode == "record":
            recorded = self._device.end_recording()
            self._recorded.append(recorded)
            self._device.replay(recorded)
        self._open = False
