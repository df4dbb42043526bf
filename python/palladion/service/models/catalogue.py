"""The versions of models that lie in a folder, read again when the folder changes."""

from __future__ import annotations

import logging
import random
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from sqlalchemy import insert, select, update

from palladion import _native
from palladion.errors import DataError, PalladionError, UsageError
from palladion.service.blobs.store import FullError, Store, StoreError
from palladion.service.models.inspection import ENCRYPTED, TWO_PARTY, Facts, Kind, inspect
from palladion.service.models.two_parties import TwoPartyFacts
from palladion.service.problems import NotThereError, UnfitError
from palladion.service.settings import Serving, Settings
from palladion.service.state.database import Database, DatabaseError, now
from palladion.service.state.schema import programs
from palladion.support import files

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
"""Names of models and versions: they are parts of addresses."""

LOG: Final = logging.getLogger("palladion.service.models")

State = tuple[str, str, str, float, int]
"""Model, version, ending, time of change and length of a file."""


@dataclass(frozen=True)
class Version:
    """A version of a model, ready for encrypted queries."""

    model: str
    version: str
    digest: str
    """SHA-256 of the program's file: its name in the store."""
    facts: Facts
    terms: _native.Terms
    """A client's knowledge of the program."""
    seconds: float
    """Predicted seconds of a run on a worker."""


@dataclass(frozen=True)
class TwoPartyVersion:
    """A version of a model for two parties, ready for sessions."""

    model: str
    version: str
    digest: str
    """SHA-256 of the program's file: its name in the store."""
    facts: TwoPartyFacts


Served: TypeAlias = Version | TwoPartyVersion


@dataclass(frozen=True)
class Refused:
    """A file of the folder that cannot be served, and why."""

    path: Path
    reason: str


@dataclass(frozen=True)
class Catalogue:
    """The models that are served."""

    versions: Mapping[str, Mapping[str, Served]]
    """Versions by model and version, in their order."""
    refused: tuple[Refused, ...]
    serving: Mapping[str, Serving]

    def model(self, name: str) -> Mapping[str, Served]:
        """The versions of a model.

        Raises
        ------
        NotThereError
            If there is no such model.
        """
        if name not in self.versions:
            known = ", ".join(self.versions) or "none"
            raise NotThereError(f"there is no model {name!r}; the models are: {known}")
        return self.versions[name]

    def served(self, model: str, version: str | None = None) -> Served:
        """A version of a model, of either kind. If none is named, the one that the settings choose,
        else the last.

        Raises
        ------
        NotThereError
            If there is no such model or version.
        """
        versions = self.model(model)
        chosen = version or self._chosen(model, versions)
        if chosen not in versions:
            raise NotThereError(f"there is no version {chosen!r} of {model}; the versions are: "
                                f"{', '.join(versions)}")  # fmt: skip
        return versions[chosen]

    def version(self, model: str, version: str | None = None) -> Version:
        """A version that runs on encrypted queries. Raises as :meth:`served`.

        Raises
        ------
        UnfitError
            If it is one for two parties.
        """
        chosen = self.served(model, version)
        if isinstance(chosen, Version):
            return chosen
        raise UnfitError(f"{model} version {chosen.version} is a program for two parties, which "
                         "takes no keys, queries or jobs: open a session at "
                         f"/v2/models/{model}/session, as `palladion.connect(...).predict` and "
                         "`palladion remote predict` do")  # fmt: skip

    def two_party(self, model: str, version: str | None = None) -> TwoPartyVersion:
        """A version for two parties. Raises as :meth:`served`.

        Raises
        ------
        UnfitError
            If it is one that runs on encrypted queries.
        """
        chosen = self.served(model, version)
        if isinstance(chosen, TwoPartyVersion):
            return chosen
        raise UnfitError(
            f"{model} version {chosen.version} runs on encrypted queries, and has no sessions: "
            f"send a query to /v2/models/{model}/jobs, as `palladion.connect(...).predict` and "
            "`palladion remote predict` do"
        )

    def _chosen(self, model: str, versions: Mapping[str, Served]) -> str:
        serving = self.serving.get(model, Serving())
        if serving.split:
            return random.choices([*serving.split], [*serving.split.values()])[0]
        return serving.version or [*versions][-1]


def scan(folder: Path) -> dict[State, Path]:
    """The programs of a folder: ``NAME.program`` is version 1 of NAME, and ``NAME/VERSION.program``
    a version. Those for two parties end in ``.hybrid``. The keys change when a file does."""
    paths = {}
    for path in sorted(programs_in(folder, "*")):
        paths[state(path.stem, "1", path)] = path
    for path in sorted(programs_in(folder, "*/*"), key=in_order):
        paths[state(path.parent.name, path.stem, path)] = path
    return paths


def programs_in(folder: Path, pattern: str) -> list[Path]:
    """Files whose endings are those of programs."""
    return [path for ending in (ENCRYPTED, TWO_PARTY) for path in folder.glob(pattern + ending)]


def in_order(path: Path) -> tuple[str, list[tuple[int, int, str]]]:
    """The order of versions: 2 comes before 10."""
    parts = re.findall(r"\d+|\D+", path.stem)
    return path.parent.name, [(0, int(p), "") if p.isdigit() else (1, 0, p) for p in parts]


def state(model: str, version: str, path: Path) -> State:
    """The state of a file. It differs when the file has changed."""
    stat = path.stat()
    return model, version, path.suffix, stat.st_mtime, stat.st_size


def has_other_kind(key: State, present: Mapping[State, Path]) -> bool:
    """Whether a file of the other kind has the same model and version."""
    return any(other[:2] == key[:2] and other[2] != key[2] for other in present)


def same_name(path: Path, version: TwoPartyVersion) -> Refused:
    """The refusal of a program for two parties beside another of the same name."""
    return Refused(path, f"there is also a {ENCRYPTED} of {version.model} version "
                   f"{version.version}, which is served: rename one of the two files, or give it "
                   "another version")  # fmt: skip


class Models:
    """The catalogue of a folder. Programs are copied into the store, so that a job ends with the
    version with which it began, whatever happens in the folder."""

    def __init__(self, settings: Settings, database: Database, store: Store) -> None:
        self._settings = settings
        self._database = database
        self._store = store
        self._seen: dict[State, Served | Refused] = {}
        self.catalogue = Catalogue({}, (), settings.models)

    def refresh(self) -> Catalogue:
        """Read the folder again, and inspect programs that are new. It can take a minute."""
        present = scan(self._settings.programs)
        self._seen = {
            key: self._seen[key] if key in self._seen else self._read(key, path)
            for key, path in present.items()
        }
        versions: dict[str, dict[str, Served]] = {}
        faults = [read for read in self._seen.values() if isinstance(read, Refused)]
        for key, read in self._seen.items():
            if isinstance(read, TwoPartyVersion) and has_other_kind(key, present):
                faults.append(same_name(present[key], read))
            elif not isinstance(read, Refused):
                versions.setdefault(read.model, {})[read.version] = read
        refused = tuple(faults)
        for fault in {*refused} - {*self.catalogue.refused}:
            LOG.warning("%s is not served: %s", fault.path, fault.reason)
        self.catalogue = Catalogue(versions, refused, self._settings.models)
        return self.catalogue

    def two_party_facts(self, program_hash: str) -> TwoPartyFacts:
        """The facts of a program for two parties, also of one that is no longer in the folder. Of
        several with the same public part, those whose floods hide the fewest inputs.

        Raises
        ------
        UsageError
            If the service never had it.
        """
        with self._database.read() as connection:
            known = connection.execute(select(programs.c.facts)).scalars().all()
        read = [facts for data in known if (facts := TwoPartyFacts.of_json(data)) is not None]
        same = [facts for facts in read if facts.program_hash == program_hash]
        if not same:
            hashes = ", ".join(sorted({facts.program_hash for facts in read})) or "none"
            raise UsageError(f"the service has no program for two parties with the hash "
                             f"{program_hash}; it has: {hashes}")  # fmt: skip
        return min(same, key=lambda facts: facts.hidden_inputs)

    def _read(self, key: State, path: Path) -> Served | Refused:
        model, version, ending, *_ = key
        for name in (model, version):
            if not NAME.fullmatch(name):
                return Refused(path, f"the name {name!r}, expected letters, digits, '_', '.', '-'")
        try:
            digest = files.digest_of(path)
            if ending == TWO_PARTY:
                parties = self._facts(digest, path, TwoPartyFacts)
                return TwoPartyVersion(model, version, digest, parties)
            facts = self._facts(digest, path, Facts)
        except (DatabaseError, FullError, StoreError):
            raise  # no fault of the file: it is read again
        except PalladionError as error:
            return Refused(path, str(error))
        terms = _native.Terms.from_bytes(facts.client_file)
        seconds = facts.seconds(self._settings.worker_threads)
        return Version(model, version, digest, facts, terms, seconds)

    def _facts(self, digest: str, path: Path, kind: type[Kind]) -> Kind:
        same = programs.c.digest == digest
        with self._database.read() as connection:
            known = connection.execute(select(programs.c.facts).where(same)).scalar_one_or_none()
        if known is not None and (facts := kind.of_json(known)) is not None:
            return facts
        facts = inspect(path, kind)
        with self._store.incoming() as file:
            shutil.copyfile(path, file)
            if files.digest_of(file) != digest:
                raise DataError(f"{path} changed while it was read")
            self._store.move_in(f"programs/{digest}", file)
        with self._database.write(digest) as connection:
            values = {"facts": facts.to_json(), "created": now()}
            if not connection.execute(update(programs).where(same).values(**values)).rowcount:
                connection.execute(insert(programs).values(digest=digest, **values))
        return facts
