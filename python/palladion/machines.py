"""Machines as data, and the cost of programs and programmable bootstrapping on them.

A machine is a TOML file, or the name of one that comes with the package. ``docs/machines.md``
explains its keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from palladion import _native
from palladion.errors import UsageError
from palladion.support import files, folders, records


def names() -> list[str]:
    """Names of the machines that come with the package."""
    return _native.machine_names()


@dataclass(frozen=True)
class SpatialSummary:
    """The sizes of an array of tiles."""

    family: str
    name: str
    tiles: int


@dataclass(frozen=True)
class VectorSummary:
    """The sizes of a machine of vector units."""

    family: str
    name: str
    word_bits: int
    max_n: int
    clusters: int
    units: tuple[str, ...]
    """Kinds of units."""
    unit_lanes: Mapping[str, int]
    scratchpad_bytes: int
    bytes_per_second: int
    area_mm2: Mapping[str, float]
    """By component."""


@dataclass(frozen=True)
class TileKind:
    """Tiles of an array that do the same."""

    name: str
    tiles: int
    busy: float | None
    """Share of the time; ``None`` if it is not known."""
    does: str


@dataclass(frozen=True)
class Placement:
    """The places of the tiles of a blind rotation."""

    columns: int
    """Columns with a tile."""
    rows: int
    """Rows with a tile."""
    shim_columns: tuple[int, ...]
    """Columns of the shim tiles of the channels."""
    streams: int
    """Pairs of a writer and a reader."""
    neighbours: int
    """Pairs that are neighbours."""
    longest: int
    """Columns plus rows of the longest stream."""
    latency_ms: float
    """Time of the blind rotation with streams as long as the places ask for."""


@dataclass(frozen=True)
class BootstrappingPart:
    """A part of a whole bootstrapping."""

    name: str
    at: str
    """Where it is done."""
    us: float


@dataclass(frozen=True)
class WholeBootstrapping:
    """A bootstrapping from LWE sample in to LWE sample out."""

    latency_ms: float
    watts: float
    energy_mj: float
    tiles: int
    switch_channels: int | None
    """Channels of the key switch, if it is on the array."""
    parts: tuple[BootstrappingPart, ...]


@dataclass(frozen=True)
class Wholes:
    """A whole bootstrapping with its key switch in either place."""

    processor: WholeBootstrapping
    array: WholeBootstrapping | None
    array_refused: str | None
    """Why the array has no room for it."""

    def places(self) -> dict[str, WholeBootstrapping]:
        """The places that there are, by name."""
        own = {"processor": self.processor, "array": self.array}
        return {place: whole for place, whole in own.items() if whole is not None}


@dataclass(frozen=True)
class Bootstrapping:
    """A blind rotation on an array, and under ``whole`` the whole bootstrapping."""

    machine: str
    iterations: int
    multipliers: int
    elements: int
    passes: int
    """Passes of a product through its elements."""
    tiles: int
    tiles_available: int
    channels: int
    channel_gigabits: float
    key_gigabits: float
    iteration_us: float
    latency_ms: float
    static_watts: float
    tile_watts: float
    channel_watts: float
    watts: float
    energy_mj: float
    kinds: tuple[TileKind, ...]
    placement: Placement
    bootstrap_key_bytes: int
    switch_key_bytes: int
    memory_megabytes_per_second: int
    whole: Wholes

    def to_json(self) -> records.Json:
        """As data for JSON."""
        return records.to_json(self)


@dataclass(frozen=True)
class Machine:
    """A machine's file. It is checked when a simulation uses it.

    ``source`` is where the text is from, if not from the package.
    """

    text: str
    source: Path | None = None

    def titled(self, name: str) -> str:
        """The name that the file states, and the file: copies have the same name."""
        return name if self.source is None else f"{name} of {self.source}"

    @classmethod
    def named(cls, name: str) -> Machine:
        """A machine that comes with the package.

        Raises
        ------
        UsageError
            If there is no machine of this name.
        """
        return cls(_native.machine_file(name))

    @classmethod
    def of(cls, name: str) -> Machine:
        """A packaged machine by its name, or a machine from its file.

        Raises
        ------
        UsageError
            If it is neither.
        """
        if name in names():
            return cls.named(name)
        path = Path(name)
        if not path.is_file():
            known = ", ".join(names())
            raise UsageError(f"{name} is no file, and no machine of ours: {known}")
        return cls.load(path)

    @classmethod
    def load(cls, path: Path) -> Machine:
        """A machine from a file.

        Raises
        ------
        UsageError
            If the file is not text.
        """
        try:
            return cls(files.read(path).decode(), path)
        except UnicodeDecodeError:
            raise UsageError(f"{path} is no machine: TOML is text in UTF-8") from None

    def parts(self) -> list[tuple[str, float, float]]:
        """Components of a vector machine: names, square millimetres, watts if always busy."""
        return _native.machine_parts(self.text)

    def products(self, n: int, elements: int) -> dict[str, float]:
        """Microseconds of products of polynomials: ``latency_us`` and ``interval_us``."""
        return _native.simulate_products(self.text, n, elements)

    def fft_products(self, n: int, digit: int, *, exact: bool) -> dict[str, float]:
        """Microseconds of products on a pipeline of transforms, as :meth:`products`.

        ``digit`` is the largest digit. Without ``exact`` a product takes the three passes that the
        paper prints, and its words would be wrong.
        """
        return _native.simulate_fft_products(self.text, n, digit, exact)

    def bootstrap(self, parameters: BootstrapSet, multiplier: str = "direct") -> Bootstrapping:
        """Tiles, time, power and energy of a blind rotation. ``whole`` has the same figures of a
        whole bootstrapping.

        ``multiplier`` is ``direct``, ``fft`` or ``fft as printed``.
        """
        data = _native.simulate_pbs(self.text, parameters.sizes, multiplier)
        return records.read(Bootstrapping, data)

    def emit(
        self, parameters: BootstrapSet, folder: Path, multiplier: str = "direct"
    ) -> dict[str, int]:
        """Write a bootstrapping into a new folder, as source code for AI engines with words for a
        run. Returns the number of bytes of each file.

        Raises
        ------
        UsageError
            If the folder has files, or the multiplier is not ``direct``.
        DataError
            If the folder cannot be written to.
        """
        folders.check_new(folder, "the folder")
        contents = _native.emit_pbs(self.text, parameters.sizes, multiplier)
        folders.write(folder, contents)
        return {name: len(content) for name, content in contents}

    def summary(self) -> SpatialSummary | VectorSummary:
        """Its family, name and sizes.

        Raises
        ------
        FormatError
            If the text is no machine.
        """
        data = _native.machine_summary(self.text)
        if data["family"] == "spatial":
            return records.read(SpatialSummary, data)
        return records.read(VectorSummary, data)

    def varied(self, values: Mapping[str, int]) -> Machine:
        """The machine with other integers at these paths, and the areas and energies that follow.

        Raises
        ------
        FormatError
            If the text is no vector machine, a path names none of its integers, or a value is out
            of range.
        """
        return Machine(_native.machine_varied(self.text, [*values.items()]), self.source)

    def scaling(self) -> str:
        """The powers of sizes with which areas and watts grow in :meth:`varied`."""
        return _native.machine_scaling(self.text)


@dataclass(frozen=True)
class BootstrapSet:
    """Sizes of a published programmable bootstrapping, and its security."""

    name: str
    lwe_dimension: int
    rank: int
    n: int
    digits: tuple[int, int]
    """Bits and number of the digits of an external product."""
    switch: tuple[int, int]
    """Bits and number of the digits of the key switch."""
    security: str

    @property
    def sizes(self) -> tuple[int, int, int, tuple[int, int], tuple[int, int]]:
        """The sizes in the order of the core."""
        return self.lwe_dimension, self.rank, self.n, self.digits, self.switch

    @property
    def products(self) -> int:
        """Number of products of polynomials in an iteration."""
        return (self.rank + 1) ** 2 * self.digits[1]
