"""Measures what a device does through XLA and writes one record. ``run`` calls it."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
import palladion
import roofline
from palladion import _native, xla
from PIL import Image

NETWORKS = {
    "MNIST": "python/palladion/data/mnist.json",
    "LeNet-5": "models/lenet5_w6a7.json",
    "ResNet-20": "models/resnet20_w6a7_words32.json",
}
BYTES = 1 << 26
"""Bytes of the rows that a transform is measured on."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def command(*words: Any) -> str:
    """Standard output of a command of the product."""
    tool = Path(sys.executable).with_name("palladion")
    done = subprocess.run([tool, *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[-1])
    return done.stdout


def transforms(device: Any, sizes: range, quick: bool) -> list[dict[str, Any]]:
    """Times of every variant of the transform, on as many rows as fill the device."""
    from palladion.xla.kernels import choice, tune

    rows_of = []
    for log_n in sizes:
        n = 1 << log_n
        count = 2 if quick else max(1, BYTES // (4 * n))
        for kernel in choice.OPERATIONS["ntt"]:
            if not choice.fits(kernel, device.platform):
                continue
            row: dict[str, Any] = {"n": n, "variant": kernel.name, "rows": count}
            try:
                tables, values, _ = tune.operands("ntt", n, count)
                placed = jax.device_put((kernel.tables(*tables), *values), device)
                run = jax.jit(kernel.apply).lower(*placed).compile()
                run(*placed).block_until_ready()
                taken = []
                for _ in range(3 if quick else 20):
                    began = time.perf_counter()
                    run(*placed).block_until_ready()
                    taken.append(time.perf_counter() - began)
                row["microseconds_per_row"] = statistics.median(taken) / count * 1e6
                row["gb_per_s"] = 8 * n * count / statistics.median(taken) / 1e9
            except Exception as error:
                row["not_run"] = (str(error).splitlines() or [type(error).__name__])[0][:200]
            rows_of.append(row)
            say(f"ntt {n} {kernel.name}: {row.get('microseconds_per_row', row.get('not_run'))}")
    return rows_of


def network(name: str, model: Path, device: str, folder: Path, runs: int) -> dict[str, Any]:
    """Times of one image: the CPU's kernels, then the device, whose answers must be equal."""
    program, keys, query = folder / "program", folder / "keys", folder / "query"
    command("compile", model, "--words", 32, "--output", program)
    plan_of = _native.Program.from_bytes(program.read_bytes())
    from palladion.xla.plan import Plan

    found: dict[str, Any] = {
        "network": name,
        "model": roofline.modelled(Plan(_native.Waves.of_program(plan_of))),
    }
    command("keygen", "--client", f"{program}.client", "--output", keys)
    picture = folder / "picture.png"
    image = palladion.mnist_sample().images[0]
    if name == "ResNet-20":
        image = np.random.default_rng(1).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    Image.fromarray(image).save(picture)
    secret = keys / "secret.key"
    command(
        "encrypt", "--client", f"{program}.client", "--secret", secret, "--output", query, picture
    )
    given = ["--program", program, "--keys", keys / "evaluation.key", "--json", query]
    cpu, through = folder / "cpu", folder / "xla"
    report = json.loads(command("run", "--output", cpu, *given))
    found["cpu_kernels_seconds"] = report["seconds"]
    target = ["--target", "xla", "--device", device]
    for _ in range(runs):
        report = json.loads(command("run", "--output", through, *target, *given))
        found.setdefault("seconds", []).append(report["seconds"])
        found["equal"] = through.read_bytes() == cpu.read_bytes()
        found["device_memory_bytes"] = report["device_memory_bytes"]
        through.unlink()
    return found


def main() -> int:
    kind, output, root, *rest = sys.argv[1:]
    quick = "quick" in rest
    xla.enable()
    try:
        device = jax.devices(kind)[0]
    except RuntimeError as error:
        say(f"there is no {kind} here, for a rehearsal give --device cpu --quick: {error}")
        return 1
    record: dict[str, Any] = {
        "device": f"{device.platform} {device.device_kind}",
        "jax": jax.__version__,
        "palladion": palladion.__version__,
        "quick": quick,
        "date": time.strftime("%Y-%m-%d"),
    }
    say("kernels")
    sizes = ["--n", 4096, "--rows", 2, "--runs", 2] if quick else ["--rows", 256]
    some = ["--operation", "dot", "--operation", "convert"] if quick else []
    record["tuned"] = json.loads(command("xla", "tune", "--device", kind, *sizes, *some, "--json"))
    record["ntt"] = transforms(device, range(12, 14 if quick else 17), quick)
    record["networks"] = []
    for name, model in list(NETWORKS.items())[: 1 if quick else None]:
        say(name)
        with tempfile.TemporaryDirectory() as folder:
            try:
                found = network(name, Path(root) / model, kind, Path(folder), 1 if quick else 3)
            except RuntimeError as error:
                found = {"network": name, "not_run": str(error)[:300]}
        record["networks"].append(found)
    Path(output).write_text(json.dumps(record, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
