"""Measures what a device does through XLA and writes one record. ``run`` calls it."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

# `xla tune` is a process of its own, which needs memory of the device too.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import numpy as np
import palladion
import roofline
from palladion import _native, xla
from palladion.cuda import gpu_run as cuda_run
from palladion.waves.plan import Plan
from palladion.xla import run as xla_run
from PIL import Image

NETWORKS = {
    "MNIST": "models/mnist_w7a7.json",
    "LeNet-5": "models/lenet5_w6a7.json",
    "ResNet-20": "models/resnet20_w6a7_words32.json",
}
BYTES = 1 << 26
"""Bytes of the rows that a transform is measured on."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def command(*words: Any) -> str:
    """Standard output of a command of the product."""
    tool = [sys.executable, "-m", "palladion"]
    done = subprocess.run([*tool, *map(str, words)], capture_output=True, text=True)
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


def network(
    name: str, model: Path, device: Any, folder: Path, runs: int, targets: list[str]
) -> dict[str, Any]:
    """Times of one image: the CPU's kernels, then the GPU's and XLA, whose answers must be equal."""
    file, keys_of, query_of = folder / "program", folder / "keys", folder / "query"
    command("compile", model, "--words", 32, "--output", file)
    command("keygen", "--client", f"{file}.client", "--output", keys_of)
    picture = folder / "picture.png"
    image = palladion.mnist_sample().images[0]
    if name == "ResNet-20":
        image = np.random.default_rng(1).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    Image.fromarray(image).save(picture)
    given = ["--client", f"{file}.client", "--secret", keys_of / "secret.key"]
    command("encrypt", *given, "--output", query_of, picture)
    program = _native.Program.from_bytes(file.read_bytes())
    keys = palladion.EvaluationKeys.from_bytes(program, (keys_of / "evaluation.key").read_bytes())
    query = palladion.Query.from_bytes(program, query_of.read_bytes())
    row: dict[str, Any] = {"network": name}
    for _ in range(1 if runs == 1 or name != "MNIST" else 3):
        _, report = program.run(keys, query, None, None, None)
        row["raw_digest"] = report["raw_digest"]
        row.setdefault("cpu_kernels_seconds", []).append(report["seconds"])
    say(f"the CPU's kernels: {row['cpu_kernels_seconds']}")
    prepare = {"xla": partial(xla_run.prepare_run, device=device)}
    if device.platform == "gpu":
        prepare = {"cuda": cuda_run.prepare_run, **prepare}
    for target in [one for one in targets if one in prepare]:
        bring = prepare[target]
        try:
            row[target] = measured(bring, program, keys, query, row["raw_digest"], runs)
        except Exception as error:
            row[target] = {"not_run": f"{type(error).__name__}: {error}"[:300]}
        say(f"{target}: {row[target].get('not_run', 'done')}")
    plan = Plan(_native.Waves.of_program(program))
    row["model"] = roofline.modelled(plan)
    return row


def measured(
    prepare: Any, program: Any, keys: Any, query: Any, expected: str, runs: int
) -> dict[str, Any]:
    """Times of runs on a target.

    The first run compiles. The last one waits for every wave, which gives the seconds of each
    stage. They are not those of a run that works ahead.
    """
    began = time.perf_counter()
    run = prepare(program)
    times: dict[str, Any] = {"prepare_seconds": time.perf_counter() - began, "equal": True}
    for _ in range(runs):
        _, report = run.run(keys, query)
        times.setdefault("seconds", []).append(report["seconds"])
        times["equal"] &= report["raw_digest"] == expected
        say(f"{times['seconds'][-1]:.3f} s, {'equal' if times['equal'] else 'DIFFERENT'}")
    times["steps"] = report["steps"]
    times["device_memory_bytes"] = report["device_memory_bytes"]
    _, report = run.run(keys, query, profile=True)
    times["profiled_seconds"], times["kernels"] = report["seconds"], report["kernels"]
    if isinstance(run.prepared, cuda_run.Prepared):
        times["kernels"] = seconds_of_stages(run.prepared.executor)
    for stage, seconds in sorted(times["kernels"].items(), key=lambda item: -item[1])[:12]:
        say(f"  {stage}: {seconds:.4f} s")
    return times


def seconds_of_stages(executor: Any) -> dict[str, float]:
    """Seconds of all waves of each stage, which are replayed one after the other on the GPU."""
    device, plan, seconds = executor.device, executor.plan, {}
    for index, stage in enumerate(plan.stages):
        device.begin_recording()
        for wave in plan.waves:
            if wave.stage == index:
                executor.run_stage(index, wave.first, wave.length)
        recorded = device.end_recording()
        for _ in range(2):  # the first time brings it to the device
            device.wait()
            began = time.perf_counter()
            device.replay(recorded)
            device.wait()
            seconds[stage.name] = time.perf_counter() - began
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("device")
    parser.add_argument("output", type=Path)
    parser.add_argument("root", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--part", action="append", choices=["kernels", "ntt", *NETWORKS])
    parser.add_argument("--target", action="append", choices=["cuda", "xla"])
    args = parser.parse_args()
    targets = args.target or ["cuda", "xla"]
    quick, parts = args.quick, args.part or ["kernels", "ntt", *NETWORKS][: 3 if args.quick else None]
    xla.enable()
    try:
        device = jax.devices(args.device)[0]
    except RuntimeError as error:
        say(f"there is no {args.device} here, for a rehearsal give --device cpu --quick: {error}")
        return 1
    record: dict[str, Any] = {
        "device": f"{device.platform} {device.device_kind}",
        "jax": jax.__version__,
        "palladion": palladion.__version__,
        "quick": quick,
        "date": time.strftime("%Y-%m-%d"),
    }
    sizes = ["--n", 4096, "--rows", 2, "--runs", 2] if quick else ["--rows", 64]
    some = ["--operation", "dot", "--operation", "convert"] if quick else []
    for part in parts:
        say(part)
        if part == "kernels":
            words = ["xla", "tune", "--device", args.device, *sizes, *some, "--json"]
            record["tuned"] = json.loads(command(*words))
        elif part == "ntt":
            record["ntt"] = transforms(device, range(12, 14 if quick else 17), quick)
        else:
            with tempfile.TemporaryDirectory() as folder:
                model, runs = args.root / NETWORKS[part], 1 if quick else 4
                try:
                    row = network(part, model, device, Path(folder), runs, targets)
                except Exception as error:
                    row = {"network": part, "not_run": f"{type(error).__name__}: {error}"[:300]}
            record.setdefault("networks", []).append(row)
        args.output.write_text(json.dumps(record, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
