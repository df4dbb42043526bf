"""The stages of the ml-inference workload. Each is a process of its own that works on files.

``submission.py STAGE [SIZE]`` runs one stage in the root of the workload's checkout. Files that
belong only to the client are in ``io/SIZE/secret`` and ``io/SIZE/intermediate``. The server reads
none of them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from palladion import Client, CompiledModel, DataError, Model, UsageError
from palladion.levelled import (
    LevelledClient,
    LevelledModel,
    LevelledProgram,
    LevelledQuery,
    LevelledTerms,
)
from stage_files import emptied, exit_status, read

HERE: Final = Path(__file__).resolve().parent
SIZES: Final = ("single", "small", "medium", "large")


@dataclass(frozen=True)
class Dataset:
    """Pictures, and for each size the network and the number of images in one run.

    A network in ONNX has polynomials and runs on levels. One in JSON has tables.
    """

    name: str
    networks: tuple[str, str, str, str]
    shape: tuple[int, int, int]
    batches: tuple[int, int, int, int]

    def path(self, size: int) -> Path:
        """The file of the evaluated network: beside this file, or in the repository."""
        name = self.networks[size]
        found = [place / "models" / name for place in (HERE, HERE.parents[1])]
        return next((path for path in found if path.exists()), found[0])


# Larger batches take fewer seconds per image. CIFAR-10's batch is limited by its predicted memory.
DATASETS: Final = {
    "mnist": Dataset(
        "mnist", ("mnist_w6a7.json", *["mnist_squares.onnx"] * 3), (1, 28, 28),
        (1, 100, 1000, 10000),
    ),
    "cifar10": Dataset("cifar10", ("resnet20_w6a7.json",) * 4, (3, 32, 32), (1, 8, 8, 8)),
}  # fmt: skip


@dataclass(frozen=True)
class Task:
    """One size of one data set, and the places of its files."""

    dataset: Dataset
    size: int

    @property
    def io(self) -> Path:
        return Path("io") / SIZES[self.size]

    @property
    def pixels(self) -> Path:
        """The file to which the harness writes the images, one per line."""
        return Path("datasets") / SIZES[self.size] / "intermediate" / "test_pixels.txt"

    @property
    def keys(self) -> Path:
        return self.io / "public_keys" / "evaluation.keys"

    @property
    def secret(self) -> Path:
        return self.io / "secret" / "secret.key"

    @property
    def program(self) -> Path:
        """Compiled once for each network and batch, and kept: it depends on no key and no image.

        It has the weights, so it is the server's. The client's file lies beside it.
        """
        batch, network = self.dataset.batches[self.size], self.dataset.networks[self.size]
        return HERE / "programs" / f"{Path(network).stem}-{batch}.program"

    def folder(self, name: str) -> Path:
        return self.io / name

    @property
    def levelled(self) -> bool:
        """True if the network runs on levels."""
        return self.dataset.path(self.size).suffix == ".onnx"

    def compiled(self) -> CompiledModel | LevelledProgram:
        kind = LevelledProgram if self.levelled else CompiledModel
        return kind.load(self.program)

    @property
    def terms(self) -> Path:
        """The client's file."""
        return self.program.with_name(f"{self.program.name}.client")

    def new_client(self) -> Client | LevelledClient:
        """A client with a fresh secret."""
        if self.levelled:
            return LevelledClient(LevelledTerms.load(self.terms))
        return Client.generate(self.terms)

    def client(self) -> Client | LevelledClient:
        kind = LevelledClient if self.levelled else Client
        return kind.load(self.terms, self.secret)


def compile_program(task: Task) -> None:
    """Compile the network, unless it is compiled already."""
    if task.program.exists() and task.terms.exists():
        return
    task.program.parent.mkdir(parents=True, exist_ok=True)
    path, batch = task.dataset.path(task.size), task.dataset.batches[task.size]
    if task.levelled:
        darkest_and_brightest = np.stack([np.full(task.dataset.shape, end) for end in (0, 255)])
        LevelledModel.from_onnx(path).compile(darkest_and_brightest, batch).save(task.program)
    else:
        Model.load(path).compile(batch=batch).save(task.program)


def client_key_generation(task: Task) -> None:
    """Generate the secret, and the evaluation keys for the server."""
    compile_program(task)
    client = task.new_client()
    for path in (task.keys, task.secret):
        path.parent.mkdir(parents=True, exist_ok=True)
    client.save(task.secret)
    task.keys.write_bytes(client.keys().to_bytes())


def server_preprocess_model(task: Task) -> None:
    """Do nothing: the program, which contains the weights, is compiled already."""


def client_preprocess_input(task: Task) -> None:
    """Read the images as pixels of 0 to 255."""
    found = read_pixels(task.pixels, task.dataset.shape)
    if task.size == 0 and len(found) != 1:
        raise DataError(f"{task.pixels}: {len(found)} images, expected 1 for size 0 (single)")
    task.folder("intermediate").mkdir(parents=True, exist_ok=True)
    np.save(task.folder("intermediate") / "pixels.npy", found)


def client_encode_encrypt_input(task: Task) -> None:
    """Encrypt the images, one batch per file."""
    pixels = np.load(task.folder("intermediate") / "pixels.npy", allow_pickle=False)
    upload, client = emptied(task.folder("ciphertexts_upload")), task.client()
    batch = task.dataset.batches[task.size]
    for number, start in enumerate(range(0, len(pixels), batch)):
        part = pixels[start : start + batch]
        tables = isinstance(client, Client)
        query = client.encrypt_pixels(part) if tables else client.encrypt(part)
        (upload / f"{number:05}.query").write_bytes(query.to_bytes())


def server_encrypted_compute(task: Task) -> None:
    """Run the program on ciphertexts, with only evaluation keys, program and queries."""
    program, keys = task.compiled(), read(task.keys)
    if isinstance(program, CompiledModel):
        keys = program.keys(keys)
    download = emptied(task.folder("ciphertexts_download"))
    for path in queries(task):
        answer = program.run(keys, read(path))
        (download / f"{path.stem}.answer").write_bytes(answer.to_bytes())


def client_decrypt_decode(task: Task) -> None:
    """Decrypt the answers to logits. Each must name its query, so none can be old or swapped."""
    client, found = task.client(), []
    for path in queries(task):
        answer = read(task.folder("ciphertexts_download") / f"{path.stem}.answer")
        if isinstance(client, LevelledClient):
            sent = LevelledQuery.from_bytes(client.terms, read(path))
        else:
            sent = client.query(read(path))
        found.append(client.decrypt(answer, sent).values)
    logits = np.concatenate(found)
    np.save(task.folder("intermediate") / "logits.npy", logits.reshape(len(logits), -1))


def client_postprocess(task: Task) -> None:
    """Write the class of each image, one per line."""
    logits = np.load(task.folder("intermediate") / "logits.npy", allow_pickle=False)
    lines = "".join(f"{label}\n" for label in logits.argmax(axis=1))
    (task.io / "encrypted_model_predictions.txt").write_text(lines, encoding="ascii")


STAGES: Final[dict[str, Callable[[Task], None]]] = {
    stage.__name__: stage
    for stage in (
        client_key_generation, server_preprocess_model, client_preprocess_input,
        client_encode_encrypt_input, server_encrypted_compute, client_decrypt_decode,
        client_postprocess,
    )
}  # fmt: skip


def read_pixels(path: Path, shape: tuple[int, int, int]) -> npt.NDArray[np.uint8]:
    """Images of a text file, one per line, channel by channel.

    The harness writes numbers from 0 to 1 with six digits. Files with a number above 1 are read as
    numbers from 0 to 255.
    """
    values = int(np.prod(shape))
    try:
        lines = path.read_text(encoding="ascii").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read the images {path}: {error}") from error
    rows = [line.split() for line in lines if line.strip()]
    if not rows:
        raise DataError(f"{path}: no image, expected one a line")
    for number, row in enumerate(rows, 1):
        if len(row) != values:
            raise DataError(f"{path}, image {number}: {len(row)} values, expected {values} "
                            f"({' x '.join(map(str, shape))})")  # fmt: skip
    try:
        found = np.array(rows, dtype=np.float64)
    except ValueError as error:
        raise DataError(f"{path}: {error}, expected numbers") from error
    if not (found >= 0).all() or found.max() > 255:
        raise DataError(f"{path}: values from {found.min():g} to {found.max():g}, expected 0 to 1, "
                        "or 0 to 255; normalised values are not accepted")  # fmt: skip
    scaled = found if found.max() > 1 else found * 255
    return np.rint(scaled).astype(np.uint8).reshape(-1, *shape)


def queries(task: Task) -> list[Path]:
    found = sorted(task.folder("ciphertexts_upload").glob("*.query"))
    if not found:
        raise DataError(f"{task.folder('ciphertexts_upload')} has no queries: run "
                        "client_encode_encrypt_input first")  # fmt: skip
    return found


def task_of(size: str) -> Task:
    """The task of the harness. The data set comes from the environment: stages get only the
    size."""
    name = os.environ.get("PALLADION_DATASET", "mnist")
    if name not in DATASETS:
        raise UsageError(f"PALLADION_DATASET is {name!r}, expected {' or '.join(DATASETS)}")
    if size not in map(str, range(len(SIZES))):
        raise UsageError(f"size {size!r}, expected 0 to 3: {', '.join(SIZES)}")
    return Task(DATASETS[name], int(size))


def run(arguments: list[str]) -> None:
    """Run the stage that the arguments name."""
    if not arguments or arguments[0] not in STAGES:
        raise UsageError(f"no stage in {arguments}, expected one of {', '.join(STAGES)}")
    stage, *rest = arguments
    if not rest and stage != "server_preprocess_model":
        raise UsageError(f"{stage} needs a size: 0 to 3")
    STAGES[stage](task_of(rest[0] if rest else "0"))


if __name__ == "__main__":
    sys.exit(exit_status(lambda: run(sys.argv[1:])))
