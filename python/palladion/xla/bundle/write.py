"""Writes a bundle: modules of StableHLO, their tables, the plan, and a program that runs them.

:func:`palladion.xla.enable` must be called before this is used.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

import jax
import jax.export
import numpy as np

from palladion import _native
from palladion.errors import UsageError
from palladion.support import files
from palladion.support.destination import make_folder
from palladion.support.records import Json
from palladion.waves.plan import Plan, Stage, Words
from palladion.waves.roots import root_of
from palladion.xla import stages
from palladion.xla.bundle import runner
from palladion.xla.device import chunk
from palladion.xla.executor import run_chunks

PLATFORMS: Final = {"cpu": "cpu", "cuda": "gpu", "rocm": "gpu", "tpu": "tpu"}
"""Platforms of modules, and the kind of device of each."""
DEFAULT: Final = ("cpu", "cuda", "tpu")

KINDS: Final = {
    "keys": {"tag": "EKEY", "version": 3, "words": "evaluation keys", "blocks": 2},
    "query": {"tag": "ENCI", "version": 2, "words": "encrypted images", "blocks": 0},
    "answer": {"tag": "ENCO", "version": 3, "words": "encrypted results", "blocks": 0},
}
"""Files of a run, as the crate `exchange` defines them."""


PUBLIC: Final = "public"
"""Name of the public key among the offsets of a file."""


@dataclass(frozen=True)
class AbsentDevice:
    """A device of a platform. It need not be present, so no measured choice of kernels applies."""

    platform: str
    device_kind: str = "of a bundle"


def require_flatbuffers() -> None:
    """Check that flatbuffers is installed. JAX writes modules with it and does not install it."""
    try:
        import_module("flatbuffers")
    except ImportError:
        raise UsageError(
            "an export needs flatbuffers, which is not installed: pip install 'palladion[xla]'"
        ) from None


class Folder:
    """The folder of a bundle, and the checksums of the files written so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sums: dict[str, str] = {}
        make_folder(path)

    def write(self, name: str, data: bytes) -> None:
        """Write a file."""
        files.write(self.path / name, data)
        self.sums[name] = hashlib.sha256(data).hexdigest()

    def arrays(self, name: str, arrays: dict[str, Words]) -> None:
        """Write a file of arrays."""
        data = io.BytesIO()
        np.savez_compressed(data, **arrays)  # type: ignore[arg-type]
        self.write(name, data.getvalue())


@dataclass(frozen=True)
class Terms:
    """The contents of a program's files: of keys, query and answer."""

    network: str
    fingerprints: dict[str, str]
    """Of the files of ``keys``, ``query`` and ``answer``: profile, layout and program."""
    batch: int
    lengths: dict[str, int]
    """Bytes of ``keys`` and ``query``, behind the blocks before them."""
    places: dict[str, FileOffsets]
    """The offsets of each name's seed and bodies."""
    answer: list[Json]
    """One entry for each result: the ``names`` of its components and its ``moduli``. To hide it:
    the ``roots`` of the moduli's transforms, the offsets of the ``public`` key, and the ``shown``
    pairs of an image and a coefficient. Without a public key the result is not hidden."""


class FileOffsets(NamedTuple):
    """Offsets in the payload of a file."""

    file: str
    seed: int
    bodies: int
    body_len: int


def write(program: _native.Program, path: Path, platforms: Sequence[str] = DEFAULT) -> Json:
    """Write the bundle of a program to a folder. Returns its manifest.

    Raises
    ------
    UsageError
        If a modulus of the program has more than 32 bits, or the folder cannot be made.
    """
    facts, lengths = program.facts(), dict[str, int]()
    places = {}
    for name, of_query, (seed, bodies, body_len, end) in _native.file_places(program):
        file = "query" if of_query else "keys"
        places[name], lengths[file] = FileOffsets(file, seed, bodies, body_len), end
    waves = _native.Waves.of_program(program)
    plan = Plan(waves)
    public = places.pop(PUBLIC)
    outputs = program.terms().outputs()
    answer = [result(index, output, plan, public) for index, output in enumerate(outputs)]
    known = program.terms()
    fingerprints = {"keys": known.profile_id, "query": known.layout_id, "answer": known.program_id}
    terms = Terms(facts["network"], fingerprints, facts["batch"], lengths, places, answer)
    return write_plan(plan, terms, path, platforms)


def result(index: int, output: Json, plan: Plan, public: FileOffsets) -> Json:
    """The manifest's entry for the result ``index``: how it is hidden and written."""
    if output["parts"]:
        raise UsageError("outputs of the program are sums of parts in several ciphertexts, which "
                         "bundles do not hide: run it with `palladion run`")  # fmt: skip
    return {
        "names": [f"answer/{index}/{part}" for part in (0, 1)],
        "moduli": output["moduli"],
        "roots": [root_of(q, plan.n) for q in output["moduli"]],
        "public": {"seed": public.seed, "body": public.bodies},
        "shown": output["shown"],
        "flood": output["flood"],
    }


def write_plan(plan: Plan, terms: Terms, path: Path, platforms: Sequence[str]) -> Json:
    """Write the bundle of a plan.

    Raises
    ------
    UsageError
        If flatbuffers is not installed, before anything is written.
    """
    require_flatbuffers()
    folder = Folder(path)
    loads, stores = _native.waves_moves(plan.native)
    forms = [write_modules(plan, folder, name) for name in platforms]
    folder.arrays("plan.npz", collect_lists(plan))
    named = sorted({name for kind, name, *_ in loads if kind == "constant"}, key=int)
    folder.arrays("constants.npz", {name: constant(plan.native, int(name)) for name in named})
    folder.write("run.py", Path(runner.__file__).read_bytes())
    kinds = {name: dict(kind) for name, kind in KINDS.items()}
    for name, length in terms.lengths.items():
        kinds[name]["bytes"] = length
    for name, fingerprint in terms.fingerprints.items():
        kinds[name]["fingerprint"] = fingerprint
    manifest = {
        "format": runner.FORMAT,
        "network": terms.network,
        "jax": jax.__version__,
        "platforms": list(platforms),
        "n": plan.n,
        "rows": plan.rows,
        "primes": plan.primes.tolist(),
        "batch": terms.batch,
        "kinds": kinds,
        "loads": [load(crossing, terms.places) for crossing in loads],
        "stores": [
            {"name": name, "primes": primes, "rows": rows} for _, name, _, primes, rows in stores
        ],
        "answer": terms.answer,
        "stages": [
            {"name": stage.name, "forms": dict(zip(platforms, each, strict=True))}
            for stage, *each in zip(plan.stages, *forms, strict=True)
        ],
        "files": folder.sums,
    }
    files.write(path / "manifest.json", json.dumps(manifest).encode())
    return manifest


def load(crossing: _native.Crossing, places: dict[str, FileOffsets]) -> Json:
    """The manifest's entry for a value to load: its source and its rows."""
    kind, name, stream, primes, rows = crossing
    common = {"kind": kind, "primes": primes, "rows": rows}
    if kind == "constant":
        return {**common, "name": name}
    if kind == "mask":
        place = places[name]
        return {**common, "file": place.file, "at": place.seed, "stream": stream}
    seed, _, index = name.rpartition("/")
    place = places[seed]
    return {**common, "file": place.file, "at": place.bodies + int(index) * place.body_len}


def collect_lists(plan: Plan) -> dict[str, Words]:
    """The waves, and the rows and words of each stage's instructions."""
    lists = {"waves": np.frombuffer(plan.native.waves(), np.uint32).reshape(-1, 4)}
    for index, stage in enumerate(plan.stages):
        lists[f"{index}/reads"] = stage.read_rows
        lists[f"{index}/writes"] = stage.write_rows
        lists[f"{index}/words"] = stage.words
    return lists


def constant(native: _native.Waves, index: int) -> Words:
    """The words of a constant, in the smallest type that holds them."""
    words = np.frombuffer(_native.waves_constant(native, index), np.int64)
    return words.astype(np.result_type(np.min_scalar_type(words.min()),
                                       np.min_scalar_type(words.max())))  # fmt: skip


def write_modules(plan: Plan, folder: Folder, platform: str) -> list[Json]:
    """Write the modules of all stages for a platform, and each of their tables once."""
    device: Any = AbsentDevice(PLATFORMS[platform])
    tables: dict[str, Words] = {}
    names_of: dict[object, list[str]] = {}
    forms = []
    for index, stage in enumerate(plan.stages):
        work = stages.work(plan, stage, device)
        arrays = work.tables()
        leaves, tree = jax.tree.flatten(arrays)
        if work.key not in names_of:
            names_of[work.key] = [keep_array(tables, leaf) for leaf in leaves]
        size = chunk(device, stage, plan.n)
        module = export_stage(plan, stage, (work.apply, size), (leaves, tree), platform)
        name = f"{index:03}-{platform}.jax"
        folder.write(name, module)
        forms.append({"file": name, "chunk": size, "tables": names_of[work.key]})
    folder.arrays(f"tables-{platform}.npz", tables)
    return forms


def keep_array(tables: dict[str, Words], leaf: Any) -> str:
    """Adds an array to ``tables``. Returns its name, a checksum of its content."""
    array = np.asarray(leaf)
    sum_ = hashlib.sha256(f"{array.dtype}{array.shape}".encode() + array.tobytes()).hexdigest()
    tables[sum_[:16]] = array
    return sum_[:16]


def export_stage(
    plan: Plan, stage: Stage, work: tuple[Any, int], tables: tuple[list[Any], Any], platform: str
) -> bytes:
    """Exports a stage: ``(store, first, count, reads, writes, words, tables...) -> store``."""
    (apply, size), (leaves, tree) = work, tables

    def function(rows: Any, first: Any, count: Any, *arrays: Any) -> Any:
        own = jax.tree.unflatten(tree, arrays[3:])
        return run_chunks(apply, size, rows, first, count, tables=own, lists=arrays[:3])

    lists = (stage.read_rows, stage.write_rows, stage.words)
    shaped: Any = jax.ShapeDtypeStruct
    number = shaped((), np.int32)
    shapes = [
        shaped((plan.rows, plan.n), np.uint32),
        *(number, number),
        *(shaped((len(part) + size, part.shape[1]), part.dtype) for part in lists),
        *(shaped(np.shape(leaf), np.asarray(leaf).dtype) for leaf in leaves),
    ]
    module = jax.export.export(jax.jit(function), platforms=[platform])(*shapes)
    return bytes(module.serialize())
