"""Machines of the analytical model, as data: times of stages, room, energies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from palladion.errors import FormatError, UsageError
from palladion.support import files
from palladion.support.records import Json

_FOLDER: Final = Path(__file__).parent / "machines"
MACHINES: Final = ("hyena", "f1")
"""Hyena's processing element with its own rotation, and with F1's."""
STAGES: Final = ("multiply", "switch", "butterfly", "benes", "shift", "transpose")
CACHED: Final = ("inputs", "weights")
CHARGED: Final = (
    *("memory", "input_cache", "weight_cache", "hint_cache"),
    *("input_file", "weight_file", "twiddle_file", "hint_file", "buffer_file", "partial_sum_file"),
    *("multipliers", "shift", "benes", "transpose"),
)
LARGEST: Final = 10**12


@dataclass(frozen=True)
class PackingMachine:
    """A machine of the analytical model."""

    name: str
    n: int
    """Ring degree N. A ciphertext has 2 N words, a plaintext N, a hint 2 N."""
    rotation: str
    """``benes`` or ``transposing``: how words change places."""
    nanoseconds: Mapping[str, int]
    """Of a stage; of one step of a small transform."""
    weight_interval: int
    """Published nanoseconds from one weight polynomial of C2PC to the next."""
    bytes_per_second: int
    word_bytes: int
    cached: Mapping[str, int]
    """Polynomials that the L2 buffers hold."""
    partial_sums: int
    """Ciphertexts that registers hold while their sums grow."""
    nanojoules: Mapping[str, float]
    """For a word that a memory, a file or a multiplier passes; for a whole rotation."""

    @property
    def slots(self) -> int:
        """Slots of a ciphertext: N / 2."""
        return self.n // 2

    @property
    def half_steps(self) -> int:
        """Butterfly steps of half a transform: of sqrt(N) points."""
        return (self.n.bit_length() - 1) // 2

    @property
    def ciphertext(self) -> int:
        """Words of a ciphertext, and of a hint."""
        return 2 * self.n

    @property
    def plaintext(self) -> int:
        """Words of a weight polynomial."""
        return self.n

    @property
    def all_hints(self) -> int:
        """Words of the hints of all N rotations, which a layer loads at its start."""
        return self.n * self.ciphertext

    @classmethod
    def named(cls, name: str) -> PackingMachine:
        """A machine that comes with the package.

        Raises
        ------
        UsageError
            If there is none of this name.
        """
        return cls.parse(machine_file(name), name)

    @classmethod
    def load(cls, path: Path) -> PackingMachine:
        """A machine from a file.

        Raises
        ------
        FormatError
            If the file is no machine of this model.
        """
        try:
            return cls.parse(files.read(path).decode(), str(path))
        except UnicodeDecodeError:
            raise FormatError(f"{path} is no text, expected JSON; {WAY_OUT}") from None

    @classmethod
    def parse(cls, text: str, where: str) -> PackingMachine:
        """A machine from the text of its file. Errors name ``where``."""
        try:
            data = json.loads(text)
        except (json.JSONDecodeError, RecursionError):
            raise FormatError(f"{where} is no JSON; {WAY_OUT}") from None
        return checked(data, where)


WAY_OUT: Final = (
    "expected a machine of the packing model: `palladion simulate packing-machine hyena` writes one"
)


def machine_file(name: str) -> str:
    """The file of a machine that comes with the package.

    Raises
    ------
    UsageError
        If there is none of this name.
    """
    if name not in MACHINES:
        raise UsageError(f"{name} is no machine of the packing model: {', '.join(MACHINES)}")
    return (_FOLDER / f"{name}.json").read_text(encoding="utf-8")


def checked(data: Any, where: str) -> PackingMachine:
    """The machine of parsed JSON."""
    if not isinstance(data, dict) or data.get("family") != "packing":
        raise FormatError(f'{where} has no "family": "packing"; {WAY_OUT}')
    sizes = {"ring_degree", "weight_interval_ns", "memory_bytes_per_second", "word_bytes"}
    groups = {"cached": CACHED, "nanoseconds": STAGES, "nanojoules": CHARGED}
    wanted = {"family", "name", "rotation", "partial_sums", *sizes, *groups}
    same_keys(data, wanted, f"{where}: ", {"sources"})
    for key, names in groups.items():
        if not isinstance(data[key], dict):
            raise FormatError(f"{where}: {key} is {data[key]!r}, expected an object")
        same_keys(data[key], {*names}, f"{where}: {key}.", set())
    if not isinstance(data["name"], str) or not 1 <= len(data["name"]) <= 64:
        raise FormatError(f"{where}: name is {data['name']!r}, expected 1 to 64 characters")
    if data["rotation"] not in ("benes", "transposing"):
        found = data["rotation"]
        raise FormatError(f"{where}: rotation is {found!r}, expected benes or transposing")
    n = whole(data, "ring_degree", where)
    if n.bit_count() != 1 or n.bit_length() % 2 == 0 or not 16 <= n <= 2**20:
        raise FormatError(
            f"{where}: ring_degree is {n}, expected 16 to 2^20, a power of 4: a transform is two "
            "halves of sqrt(N) points"
        )
    return PackingMachine(
        name=data["name"],
        n=n,
        rotation=data["rotation"],
        nanoseconds={key: whole(data["nanoseconds"], key, where) for key in STAGES},
        weight_interval=whole(data, "weight_interval_ns", where),
        bytes_per_second=whole(data, "memory_bytes_per_second", where),
        word_bytes=whole(data, "word_bytes", where),
        cached={key: whole(data["cached"], key, where) for key in CACHED},
        partial_sums=whole(data, "partial_sums", where),
        nanojoules={key: per_word(data["nanojoules"][key], key, where) for key in CHARGED},
    )


def same_keys(data: Json, wanted: set[str], where: str, optional: set[str]) -> None:
    """Refuse keys that are missing or unknown."""
    missing, unknown = sorted(wanted - data.keys()), sorted(data.keys() - wanted - optional)
    if missing:
        raise FormatError(f"{where}{missing[0]} is missing; {WAY_OUT}")
    if unknown:
        expected = ", ".join(sorted(wanted))
        raise FormatError(f"{where}{unknown[0]} is unknown, expected {expected}")


def whole(data: Json, key: str, where: str) -> int:
    """A positive integer."""
    value = data[key]
    if type(value) is not int or not 1 <= value <= LARGEST:
        raise FormatError(f"{where}: {key} is {value!r}, expected an integer from 1 to {LARGEST}")
    return value


def per_word(value: Any, key: str, where: str) -> float:
    """Nanojoules for one word, of a pair: nanojoules, and for how many words."""
    numbers = isinstance(value, list) and len(value) == 2
    if numbers and all(type(each) in (int, float) for each in value):
        joules, words = value
        if 0 <= joules <= LARGEST and 1 <= words <= LARGEST:
            return float(joules) / float(words)
    raise FormatError(
        f"{where}: nanojoules.{key} is {value!r}, expected two numbers: nanojoules, and for how "
        "many words"
    )
