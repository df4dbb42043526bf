"""Whole networks, encrypted: ours by its command, the peers by separate programs."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import limits
from .environments import BENCH, NotRunError, environment
from .programs import pinned

NETWORKS = ("mnist", "lenet5", "resnet20")
# Ours in two widths: the integers with the most bits, and some with few.
MODELS = {
    "mnist": ("mnist_w7a7", "mnist_w6a7"),
    "lenet5": ("lenet5_w7a7", "lenet5_w4a4"),
    "resnet20": ("resnet20_w7a7", "resnet20_w4a4"),
}
_MODELS = BENCH.parent / "models"


@dataclass(frozen=True)
class Request:
    """The request to all systems."""

    mnist: Path
    cifar: Path | None
    images: int
    threads: int
    limits: limits.Limits
    say: Callable[[str], None]


Row = dict[str, Any]


@dataclass(frozen=True)
class System:
    name: str
    version: str
    # The rows of one network: a system may have several variants of it.
    variants: Callable[[str], tuple[str, ...]]
    measure: Callable[[str, str, Request], Row]


def measure(systems: list[System], networks: list[str], request: Request) -> list[Row]:
    """A row for each variant. If there is no measurement, ``not_run`` has the reason."""
    rows = []
    for network in networks:
        for system in systems:
            for variant in system.variants(network):
                request.say(f"{network}: {system.name} {variant}".rstrip())
                row: Row = {"network": network, "system": system.name, "variant": variant}
                try:
                    row |= system.measure(network, variant, request)
                except NotRunError as reason:
                    row["not_run"] = str(reason)
                rows.append(row | {"threads": request.threads})
    return rows


def _ours(network: str, variant: str, request: Request) -> Row:
    data = request.cifar if network == "resnet20" else request.mnist
    if data is None:
        raise NotRunError("needs --cifar")
    file = ["--network", str(_MODELS / f"{variant}.json")]
    count = str(request.images)
    found, peak = _palladion(
        request, "evaluate", *file, "--data", str(data), "--count", "1000", "--encrypted", count
    )
    encrypted = found["encrypted"]
    with tempfile.TemporaryDirectory() as keys:
        made, _ = _palladion(request, "keygen", *file, "--output", f"{keys}/keys")
        key_bytes = (Path(keys) / "keys" / "evaluation.key").stat().st_size
    # The command gives only the sum over the images.
    return {
        "images": encrypted["images"],
        "seconds": [encrypted["seconds"] / encrypted["images"]],
        "correct": encrypted["correct"],
        "as_clear": encrypted["as_integer"],
        "largest_logit_change": encrypted["largest_logit_change"],
        "clear_images": found["images"],
        "clear_correct": found["integer_correct"],
        "differs": "integers, exact tables; rounding noise before each",
        "security_bits": made["security_bits"],
        "security_source": "the parameters' own check",
        "parameters": {"log_n": made["log_n"], "log_qp": made["log_qp"]},
        "key_bytes": key_bytes,
        "peak_memory_bytes": peak,
    }


def _palladion(request: Request, *arguments: str) -> tuple[dict[str, Any], int]:
    built = BENCH.parent / ".venv" / "bin" / "palladion"
    command = str(built) if built.exists() else shutil.which("palladion")
    if command is None:
        raise NotRunError("needs the command palladion: make build")
    command = [command, *arguments, "--threads", str(request.threads), "--json"]
    finished = limits.run(command, request.threads, request.limits, request.say)
    return json.loads(finished.output), finished.peak_memory


def _peer(folder: str, module: str) -> Callable[[str, str, Request], Row]:
    def measured(network: str, _variant: str, request: Request) -> Row:
        home = BENCH / "networks" / folder
        venv = BENCH / f".venv-{folder}"
        python = environment(venv, home / "requirements.txt", module)
        command = [python, str(home / "main.py"), network, str(request.mnist), str(request.images)]
        finished = limits.run(command, request.threads, request.limits, request.say)
        return json.loads(finished.output) | {"peak_memory_bytes": finished.peak_memory}

    return measured


def _one(_network: str) -> tuple[str, ...]:
    return ("",)


SYSTEMS = [
    System("ours", "this tree", MODELS.__getitem__, _ours),
    System(
        "Orion",
        pinned("networks/orion/requirements.txt", r"orion-fhe==(\S+)"),
        _one,
        _peer("orion", "orion"),
    ),
    System(
        "Concrete ML",
        pinned("networks/concrete_ml/requirements.txt", r"concrete-ml==(\S+)"),
        _one,
        _peer("concrete_ml", "concrete.ml"),
    ),
]
