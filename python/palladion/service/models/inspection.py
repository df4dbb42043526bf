"""The facts of a program, which a process of its own finds out.

The front never loads a program, whose constants can take gigabytes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from palladion.deployment import CompiledModel
from palladion.errors import FormatError, PalladionError
from palladion.hybrid import HybridModel
from palladion.service.models.two_parties import TwoPartyFacts
from palladion.support.records import Json

THREADS = (1, 2, 4)

ENCRYPTED: Final = ".program"
"""Ending of programs that run on encrypted queries."""

TWO_PARTY: Final = ".hybrid"
"""Ending of programs for two parties."""


@dataclass(frozen=True)
class Facts:
    """The facts of a program, as the database has them."""

    network: str
    """Name of the network."""
    program_id: str
    profile_id: str
    layout_id: str
    client: str
    """The client's file, in base64."""
    batch: int
    """Inputs in one run, at most."""
    key_bytes: int
    """Length of a file of all evaluation keys."""
    query_bytes: int
    core_seconds: float
    """Predicted seconds of a run on one thread of this machine."""
    seconds_on: dict[str, float]
    """Predicted seconds of a run on 1, 2 and 4 threads of this machine."""
    running_bytes: int
    """Predicted memory of a run without its keys."""
    memory_bytes: int
    """The same with its keys."""
    log2_failure: float
    """log2 of a bound on the probability that a run is wrong."""
    security: str

    @property
    def client_file(self) -> bytes:
        """The bytes of the client's file."""
        return base64.b64decode(self.client)

    @property
    def client_digest(self) -> str:
        """SHA-256 of the client's file."""
        return hashlib.sha256(self.client_file).hexdigest()

    def seconds(self, threads: int) -> float:
        """Predicted seconds of a run on some threads. More than 4 are taken for 4."""
        return self.seconds_on[str(max(count for count in THREADS if count <= threads))]

    def to_json(self) -> Json:
        """As data for JSON."""
        return asdict(self)

    @classmethod
    def of_json(cls, data: Any) -> Facts | None:
        """From data of :meth:`to_json`. None if another version wrote them."""
        try:
            return cls(**data)
        except TypeError:
            return None

    @classmethod
    def of(cls, program: CompiledModel) -> Facts:
        """Find the facts of a program out. It prepares the program for runs."""
        facts, costs = program.facts, program.costs()
        return cls(
            network=facts.network,
            program_id=program.terms.program_id,
            profile_id=program.terms.profile_id,
            layout_id=program.terms.layout_id,
            client=base64.b64encode(program.terms.to_bytes()).decode(),
            batch=facts.batch,
            key_bytes=facts.predicted_evaluation_key_bytes,
            query_bytes=facts.predicted_ciphertext_bytes,
            core_seconds=costs.seconds_here,
            seconds_on={str(count): costs.wall_seconds(count) for count in THREADS},
            running_bytes=costs.predicted_running_memory_bytes,
            memory_bytes=costs.predicted_running_memory_bytes + costs.predicted_key_memory_bytes,
            log2_failure=facts.predicted_log2_failure,
            security=facts.security.text,
        )


Kind = TypeVar("Kind", Facts, TwoPartyFacts)


def inspect(path: Path, kind: type[Kind]) -> Kind:
    """Find the facts of a program's file out, in a process of its own. ``kind`` is that of the
    file's ending.

    Raises
    ------
    FormatError
        If it is no program, or none of this version.
    """
    words = [sys.executable, "-m", "palladion.service.models.inspection", str(path)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise FormatError(done.stderr.strip().rpartition("\n")[2] or f"{path}: its inspection died")
    return kind(**json.loads(done.stdout))


def main() -> None:
    """Print the facts of a program's file as JSON."""
    path = Path(sys.argv[1])
    try:
        if path.suffix == TWO_PARTY:
            facts = TwoPartyFacts.of(HybridModel.load(path)).to_json()
        else:
            facts = Facts.of(CompiledModel.load(path)).to_json()
        print(json.dumps(facts))
    except PalladionError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
