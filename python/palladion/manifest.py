"""The manifest of a program: what it was made of, with which options, and what it is good for.

It says which model ran, to whoever has the program. It does not prove to a client that a server ran
this program: no such proof exists here (SECURITY.md).
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Final

from palladion import _native
from palladion.deployment import CompiledModel
from palladion.errors import FormatError, MismatchError
from palladion.identity import ids_of
from palladion.nn.integers.network import IntNetwork
from palladion.support import files, records
from palladion.support.build import COMMIT
from palladion.support.records import Json

FORMAT: Final = "palladion-manifest/1"
LIBRARIES: Final = ("numpy", "onnx")
"""Libraries that quantisation computes with."""


@dataclass(frozen=True)
class Source:
    """A file or folder that a program was made of."""

    name: str
    """Its name, without the folders above it."""
    sha256: str
    """Hash of its bytes. That of a folder is the hash of the names and hashes of its files."""

    @classmethod
    def of(cls, path: Path) -> Source:
        """The source at a path.

        Raises
        ------
        DataError
            If it cannot be read.
        """
        if not path.is_dir():
            return cls(path.name, hash_of(files.read(path)))
        inside = sorted(one for one in path.rglob("*") if one.is_file())
        lines = (f"{one.relative_to(path).as_posix()} {hash_of(files.read(one))}" for one in inside)
        return cls(path.resolve().name, hash_of("\n".join(lines).encode()))


@dataclass(frozen=True)
class Manifest:
    """A description of a program. It is JSON, in a file beside the program."""

    format: str
    network: str
    """Name of the network."""
    program_sha256: str
    ids: Mapping[str, str]
    """Identities of the program, its key profile and its input layout: see ``palladion id``."""
    network_sha256: str
    """Hash of the integer network, as ``Model.save`` writes it."""
    model: Source
    """The ONNX file, or the integer network if there was none."""
    data: Source | None
    """The calibration data."""
    options: Json
    """Options of ``compile``, those that were not given too."""
    versions: Mapping[str, str]
    """Versions of palladion, Python and the libraries, and the commit of palladion."""
    log2_failure: float
    """log2 of a bound on the probability that a run is wrong."""
    security: Json
    warnings: tuple[str, ...]
    accuracy: tuple[Json, ...] = ()
    """Results of ``evaluate --attach``."""

    @classmethod
    def of(
        cls,
        program: CompiledModel,
        network: IntNetwork,
        model: Path,
        data: Path | None,
        options: Json,
    ) -> Manifest:
        """The manifest of a program that was just compiled."""
        facts = program.facts
        return cls(
            format=FORMAT,
            network=facts.network,
            program_sha256=hash_of(program.to_bytes()),
            ids=ids_of(program.terms),
            network_sha256=hash_of(network.to_json().encode()),
            model=Source.of(model),
            data=None if data is None else Source.of(data),
            options={**options, "batch": facts.batch},
            versions=versions(),
            log2_failure=facts.predicted_log2_failure,
            security=records.to_json(facts.security),
            warnings=network.warnings,
        )

    @classmethod
    def load(cls, path: Path) -> Manifest:
        """Read a manifest.

        Raises
        ------
        FormatError
            If it is none, or one of a later version.
        """
        try:
            fields = json.loads(files.read(path))
            if fields["format"] != FORMAT:
                raise FormatError(f"{path} has the format {fields['format']!r}, expected {FORMAT}: "
                                  "read it with the version that wrote it")  # fmt: skip
            fields["model"] = Source(**fields["model"])
            fields["data"] = Source(**fields["data"]) if fields.get("data") else None
            for name in ("warnings", "accuracy"):
                fields[name] = tuple(fields.get(name, ()))
            return cls(**fields)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FormatError(f"{path} is no manifest of a program: {error}") from error

    def to_json(self) -> Json:
        """The manifest as data for JSON."""
        return records.to_json(self)

    def save(self, path: Path) -> None:
        """Write it."""
        files.write(path, (json.dumps(self.to_json(), indent=1) + "\n").encode())

    def with_accuracy(self, result: Json) -> Manifest:
        """The manifest with a result of ``evaluate``."""
        return replace(self, accuracy=(*self.accuracy, dict(result)))

    def of_same_network(self, network: IntNetwork) -> Manifest:
        """This manifest, if the program was compiled of the network.

        Raises
        ------
        MismatchError
            If it was compiled of another one.
        """
        own = hash_of(network.to_json().encode())
        if own != self.network_sha256:
            raise MismatchError(f"the network has the hash {own[:16]}.., expected that of "
                                f"the program, {self.network_sha256[:16]}..")  # fmt: skip
        return self


def beside(program: Path) -> Path:
    """The path of a program's manifest."""
    return program.with_name(program.name + ".manifest")


def hash_of(data: bytes) -> str:
    """SHA-256, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def versions(libraries: Iterable[str] = LIBRARIES) -> dict[str, str]:
    """The versions of palladion, of Python and of the libraries, and the commit of palladion."""
    own = {"palladion": _native.__version__, "commit": COMMIT}
    others = {}
    for name in libraries:
        with suppress(metadata.PackageNotFoundError):  # integer networks need no ONNX
            others[name] = metadata.version(name)
    return {**own, "python": platform.python_version(), **others}
