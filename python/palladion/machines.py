"""Machines as data, and the cost of programs and programmable bootstrapping on them.

A machine is a TOML file, or the name of one that comes with the package. ``docs/machines.md``
explains its keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from palladion import _native, files, records
from palladion.errors import UsageError


def names() -> list[str]:
    """Names of the machines that come with the package."""
    return _native.machine_names()


@dataclass(frozen=True)
class SpatialSummary:
    """What an array of tiles has."""

    family: str
    name: str
    tiles: int


@dataclass(frozen=True)
class VectorSummary:
    """What a machine of vector units has."""

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
        """Tiles, time, power and energy of a blind rotation, and under ``whole`` those of a whole
        bootstrapping.

        ``multiplier`` is ``direct``, ``fft`` or ``fft as printed``.
        """
        data = _native.simulate_pbs(self.text, parameters.sizes, multiplier)
        return records.read(Bootstrapping, data)

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
        """The machine with other integers at these paths, and the areas and watts that follow.

        Raises
        ------
        FormatError
            If the text is no vector machine, a path names none of its integers, or a value is out
            of range.
        """
        return Machine(_native.machine_varied(self.text, [*values.items()]), self.source)

    def scaling(self) -> str:
        """With which powers of what areas and watts grow in :meth:`varied`."""
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


SETS: Final = {
    "I": BootstrapSet("I", 586, 2, 512, (8, 2), (2, 8), "INSECURE: 110.1 bits (128 by the paper)"),
    "II": BootstrapSet(
        *("II", 500, 1, 1024, (10, 3), (1, 15)),
        "INSECURE: 115.0 bits (110 by the paper, 80 by its code)",
    ),
}
"""Table I of ATHENA. The security is that of ``crates/tfhe``. Set II has 3 digits, as in the
paper's code and text. The table says 2. The digits of the key switch are those of the code."""

SET_II_AS_PRINTED: Final = BootstrapSet(
    *("II, l = 2", 500, 1, 1024, (10, 2), (1, 15)), SETS["II"].security
)


@dataclass(frozen=True)
class Published:
    """Times that the paper prints for a set: of a bootstrapping, and of one of its products."""

    milliseconds: float
    product_us: float


PUBLISHED: Final = {"I": Published(6.19, 11.56), "II": Published(10.35, 21.33)}
"""Tables V and II of ATHENA, for direct multipliers."""


def published(sizes: BootstrapSet, run: Bootstrapping) -> list[str]:
    """What the paper's time of a set can and cannot contain, with the arithmetic.

    ``run`` is what :meth:`Machine.bootstrap` gives with direct multipliers.
    """
    printed, product = (
        PUBLISHED[sizes.name].milliseconds,
        PUBLISHED[sizes.name].product_us,
    )
    each = 1000 * printed / sizes.lwe_dimension
    megabytes = run.switch_key_bytes / 1e6
    least = run.switch_key_bytes / run.memory_megabytes_per_second / 1000
    whole = run.whole.processor
    switch = next(part.us for part in whole.parts if part.name == "key switch") / 1000
    rest = whole.latency_ms - run.latency_ms
    return [
        f"The paper's {printed:.2f} ms are {each:.2f} us for each of {sizes.lwe_dimension} "
        f"iterations, which depend on each other. Its table II prints {product:.2f} us for one "
        "product of an iteration. So the time has no room for the rotation and the sums of an "
        "iteration, and none for any part besides the blind rotation.",
        f"A key switch by samples reads {megabytes:.1f} MB of key. At the peak rate of the memory "
        f"that takes {least:.2f} ms, {100 * least / printed:.0f} % of the printed time; simulated "
        f"on the processor it takes {switch:.2f} ms.",
        f"So {printed:.2f} ms can be the blind rotation ({run.latency_ms:.2f} simulated), and "
        f"cannot contain the key switch. The whole takes {whole.latency_ms:.2f} ms, "
        f"{rest:.2f} of them outside the blind rotation.",
        "The published program starts its clock when the graph starts, after the modulus switch "
        "and the starts of the channels, and stops it when the graph ends, before the extraction "
        "and the key switch. The paper does not say whether its times are those of this program.",
    ]
