"""One network between two processes on one core each: ours by its commands, and SPU's."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .environments import BENCH, NotRunError, environment, last_line
from .links import Connected, Link

PALLADION = BENCH.parent / ".venv" / "bin" / "palladion"
Row = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """The network and images that both parties evaluate."""

    network: Path
    # The images as the model takes them, and as the network's integers.
    values: npt.NDArray[np.float32]
    integers: npt.NDArray[np.int64]
    # The integer network's logits.
    logits: npt.NDArray[np.int64]
    classes: list[Any]

    def first(self, count: int) -> Task:
        return Task(self.network, self.values[:count], self.integers[:count],
                    self.logits[:count], self.classes[:count])  # fmt: skip


def palladion(*arguments: str, prefix: list[str] | None = None) -> dict[str, Any]:
    """The JSON object that a command of this tree prints."""
    command = [*(prefix or []), str(PALLADION), *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise NotRunError(f"palladion {arguments[0]} failed: {last_line(done.stderr)}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def ours(task: Task, net: Connected, link: Link, *, revealed: bool) -> Row:
    """One session of all images, with a program for this connection. Online and offline seconds,
    bytes and rounds are for one image."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program, hashes = folder / "program", folder / "hash"
        reveal = ["--reveal-accumulators"] if revealed else []
        bandwidth, latency = link.assumed
        palladion(
            "compile", str(task.network), "--mode", "hybrid", "--bandwidth", str(bandwidth),
            "--latency", str(latency), "--output", str(program), *reveal,
        )  # fmt: skip
        np.save(folder / "x.npy", task.values)
        command = [*net.prefix(0), str(PALLADION), "serve-hybrid", str(program), "--listen",
                   net.own(0), "--sessions", "1", "--threads", "1", "--any-client",
                   "--inputs-per-client", str(len(task.values)),
                   "--hash-file", str(hashes), "--json"]  # fmt: skip
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
            try:
                while not hashes.exists():
                    if server.poll() is not None:
                        raise NotRunError("palladion serve-hybrid ended")
                    time.sleep(0.05)
                found = palladion(
                    "query", net.reached(0), "--trust", hashes.read_text(), "--integers",
                    "--input", str(folder / "x.npy"), "--threads", "1", prefix=net.prefix(1),
                )  # fmt: skip
                server.wait(timeout=60)
            finally:
                server.kill()
    count, report = len(task.values), found["report"]
    online, offline = report["online"], report["offline"]
    equal = (np.array(found["logits"]) == task.logits).all(axis=1)
    return {
        "system": "ours",
        "images": count,
        "equal": int(equal.sum()),
        "same_class": agreeing(found["predicted"], task.classes),
        "online_seconds": online["seconds"] / count,
        "offline_seconds": offline["seconds"] / count,
        "online_bytes": (online["sent"] + online["received"]) / count,
        "offline_bytes": (offline["sent"] + offline["received"]) / count,
        "rounds": online["rounds"] / count,
        "predicted_cost": found["predicted_cost"],
        "linear_seconds": sum(part["linear"]["seconds"] for part in report["layers"]) / count,
    }


def agreeing(found: list[Any], expected: list[Any]) -> int:
    return sum(a == b for a, b in zip(found, expected, strict=True))


def spu(task: Task, net: Connected, *, packed: bool, patience: float) -> Row:
    """SPU's CHEETAH on the same images, one after the other. The first one bears the set-up of
    oblivious transfers, and is reported apart."""
    home = BENCH / "networks" / "spu"
    python = environment(BENCH / ".venv-spu", home / "requirements.txt", "spu", (3, 11))
    main = [python, str(home / "main.py")]
    variables = os.environ | {"JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1"}

    def call(*arguments: str) -> str:
        done = subprocess.run([*main, *arguments], env=variables, capture_output=True, text=True)
        if done.returncode != 0:
            raise NotRunError(f"SPU's {arguments[0]} failed: {last_line(done.stderr)}")
        return done.stdout

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "integers.npy", task.integers)
        call("prepare", name, str(task.network), str(folder / "integers.npy"))
        parties, logs = [], []
        try:
            for rank in (0, 1):
                logs.append((folder / f"log{rank}").open("w+"))
                command = [*net.prefix(rank), *main, "party", name, str(rank), net.own(rank),
                           net.reached(1 - rank), "packed" if packed else "unpacked"]  # fmt: skip
                parties.append(subprocess.Popen(command, env=variables, stdout=logs[-1],
                                                stderr=subprocess.STDOUT))  # fmt: skip
            _both(parties, time.monotonic() + patience)
        except NotRunError as error:
            logs[1].seek(0)
            raise NotRunError(f"SPU: {error}; {last_line(logs[1].read())}") from None
        finally:
            for party in parties:
                party.kill()
                party.wait()
        logs[1].seek(0)
        links = re.findall(
            r"total send bytes (\d+), recv bytes (\d+), send actions (\d+), recv actions (\d+)",
            logs[1].read(),
        )
        found = json.loads(call("finish", name))
    # The log's numbers are of one run each.
    each = np.array(links, dtype=np.int64)
    later = slice(1, None) if len(found["seconds"]) > 1 else slice(None)
    classes = np.array(found["logits"]).argmax(1).tolist()
    return {
        "system": "SPU" if packed else "SPU, unpacked",
        "images": len(found["seconds"]),
        "as_clear": found["as_clear"],
        "same_class": agreeing(classes, task.logits.argmax(1).tolist()),
        "largest_logit_change": found["largest_logit_change"],
        "largest_logit": found["largest_logit"],
        "first_seconds": found["seconds"][0],
        "seconds": float(np.mean(found["seconds"][later])),
        "bytes": float(each[later, :2].sum(1).mean()),
        "actions": float(each[later, 2:].sum(1).mean()),
        "seconds_of_each": found["seconds"],
        "processor_seconds_of_each": found["processor_seconds"],
    }


def _both(parties: list[subprocess.Popen[bytes]], until: float) -> None:
    """Waits for both. If one fails, the other would wait for it in vain."""
    while any(party.poll() is None for party in parties):
        if any(party.poll() for party in parties):
            raise NotRunError("a party ended with an error")
        if time.monotonic() > until:
            raise NotRunError("took longer than --minutes")
        time.sleep(0.1)
    if any(party.returncode for party in parties):
        raise NotRunError("a party ended with an error")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
