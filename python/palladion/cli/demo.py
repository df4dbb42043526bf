"""``palladion demo``."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

import palladion
from palladion import memory
from palladion.cli.common import (
    FILE,
    json_option,
    peak_memory,
    phases,
    print_json,
    print_rows,
    threads_option,
)
from palladion.cli.draw import draw
from palladion.cli.progress import Steps
from palladion.errors import UsageError
from palladion.image import load_digit
from palladion.text import size


@dataclass(frozen=True)
class Digits:
    """The images to classify. The user's own pictures have no label."""

    images: npt.NDArray[np.uint8]
    labels: list[int | None]


@dataclass
class Outcome:
    """The results of the encrypted runs, added up over all runs."""

    logits: list[list[int]]
    seconds: float
    steps: dict[str, float]
    noise_margin_bits: float
    ciphertext_bytes: int
    evaluation_key_bytes: int


@click.command()
@click.option("--image", "pictures", type=FILE, multiple=True, help="Picture of a digit.")
@click.option("--sample", type=click.IntRange(0, 99), default=0, help="First MNIST test image.")
@click.option("--count", type=click.IntRange(1, 100), default=1, help="Number of MNIST images.")
@click.option("--batch", type=click.IntRange(min=1), default=1, help="Images in one run.")
@threads_option
@json_option
def demo(pictures: tuple[Path, ...], sample: int, count: int, batch: int, as_json: bool) -> None:
    """Classify handwritten digits while they are encrypted.

    Encrypts real MNIST test images, or your own pictures. Runs the network on the ciphertexts
    alone, decrypts, and compares with the same network in the clear.
    """
    digits = choose(pictures, sample, count)
    if not as_json:
        unicode = "utf" in (sys.stdout.encoding or "").lower()
        for image in digits.images:
            click.echo(draw(image, unicode=unicode) + "\n")
    network = palladion.mnist_network()
    inputs = network.inputs_of_pixels(digits.images)
    with Steps(quiet=as_json) as steps:
        with steps.step("compile"):
            program = palladion.compile_network(network.to_json(), batch)
        outcome = classify(program, inputs.tolist(), batch, steps)
    result = summary(program, outcome, digits, network.evaluate(inputs).predicted)
    if as_json:
        print_json(result)
    else:
        show(result)


def choose(pictures: tuple[Path, ...], sample: int, count: int) -> Digits:
    if pictures:
        images = np.stack([load_digit(path) for path in pictures])
        return Digits(images, [None] * len(images))
    packaged = palladion.mnist_sample()
    if sample + count > len(packaged.images):
        found = f"--sample {sample} --count {count}"
        raise UsageError(f"{found} goes beyond the {len(packaged.images)} images of the sample")
    chosen = slice(sample, sample + count)
    return Digits(packaged.images[chosen], [int(label) for label in packaged.labels[chosen]])


def classify(
    program: palladion.Program, inputs: list[list[int]], batch: int, steps: Steps
) -> Outcome:
    """Client and server in one process; the server's part is given no secret."""
    memory.check_keys(program.report())
    memory.check_run(program.report())
    with steps.step("make keys"):
        secret, keys = palladion.keygen(program)
    found = Outcome([], 0.0, {}, float("inf"), 0, len(keys.to_bytes()))
    for start in range(0, len(inputs), batch):
        began = time.perf_counter()
        with steps.step("encrypt"):
            query = secret.encrypt(inputs[start : start + batch])
        encrypted = time.perf_counter() - began
        steps.start_run()
        answer, report = program.run(keys, query, steps.update)
        found.seconds += report["seconds"]
        began = time.perf_counter()
        with steps.step("decrypt"):
            logits, margin = secret.decrypt(answer, query)
        found.logits += logits
        found.noise_margin_bits = min(found.noise_margin_bits, margin)
        found.ciphertext_bytes += len(query.to_bytes())
        decrypted = time.perf_counter() - began
        taken = {"encrypt": encrypted, **phases(report["steps"]), "decrypt": decrypted}
        for name, seconds in taken.items():
            found.steps[name] = found.steps.get(name, 0.0) + seconds
    return found


def summary(
    program: palladion.Program,
    outcome: Outcome,
    digits: Digits,
    integer: npt.NDArray[np.int64],
) -> dict[str, Any]:
    """The object that ``--json`` prints. docs/cli.md documents its fields, which do not change."""
    report = program.report()
    plain = palladion.mnist_plain().predict(digits.images)
    rows = zip(digits.labels, outcome.logits, integer, plain, strict=True)
    images = [
        {
            "label": label,
            "predicted": int(np.argmax(logits)),
            "integer_predicted": int(of_integer),
            "plain_predicted": int(of_plain),
            "logits": logits,
        }
        for label, logits, of_integer, of_plain in rows
    ]
    return {
        **images[0],
        "images": images,
        "seconds": outcome.seconds,
        "steps": [{"name": name, "seconds": taken} for name, taken in outcome.steps.items()],
        "threads": palladion.info().get("threads", os.cpu_count()),
        "security": report["security"],
        "security_bits": report["security_bits"],
        "log_n": report["log_n"],
        "log_qp": report["log_qp"],
        "plaintext_modulus": report["plaintext_modulus"],
        "noise_margin_bits": outcome.noise_margin_bits,
        "ciphertext_bytes": outcome.ciphertext_bytes,
        "evaluation_key_bytes": outcome.evaluation_key_bytes,
        "peak_memory_bytes": peak_memory(),
    }


def show(result: dict[str, Any]) -> None:
    for index, image in enumerate(result["images"]):
        label = "" if image["label"] is None else f", label {image['label']}"
        click.echo(
            f"image {index}: encrypted network says {image['predicted']} (integer network "
            f"{image['integer_predicted']}, plain network {image['plain_predicted']}{label})"
        )
    click.echo()
    print_rows({step["name"]: f"{step['seconds']:.2f} s" for step in result["steps"]})
    click.echo()
    degree, modulus = 1 << result["log_n"], result["plaintext_modulus"]
    print_rows(
        {
            "inference": f"{result['seconds']:.2f} s on {result['threads']} threads",
            "security": result["security"]["text"],
            "parameters": f"N = {degree}, log2(QP) = {result['log_qp']:.0f}, t = {modulus}",
            "noise margin left": f"{result['noise_margin_bits']:.1f} bits",
            "ciphertexts": size(result["ciphertext_bytes"]),
            "evaluation keys": size(result["evaluation_key_bytes"]),
            "peak memory": size(result["peak_memory_bytes"]),
        }
    )
