"""The tables of ``palladion evaluate``."""

from __future__ import annotations

import click

from palladion.cli.common import print_rows
from palladion.cli.table import print_table
from palladion.support.records import Json


def show(result: Json) -> None:
    """Print the counts in the clear, then the counts under encryption."""
    total = result["images"]
    click.echo(f"{result['network']} in the clear, {total} test images of {result['dataset']}")
    if result["note"] is not None:
        click.echo(f"note: {result['note']}")
    rows = {
        "plain network": result["plain_correct"],
        "integer network": result["integer_correct"],
        f"with noise of {result['noise_sigma']:.2f}": result["noisy_correct"],
    }
    print_rows({name: share(n, total) for name, n in rows.items() if n is not None})
    click.echo()
    layers = [
        {
            "layer": layer["name"],
            "bound": layer["bound"],
            "largest": layer["largest_accumulator"],
            "beyond": layer["overflows"],
            "noise": f"{layer['noise_sigma']:.1f}" if layer["noise_sigma"] else None,
            "noise changes": f"{layer['changed'] / layer['values']:.3%}",
            "at most by": layer["largest_change"],
        }
        for layer in result["layers"]
    ]
    print_table(layers)
    if "encrypted" in result:
        show_encrypted(result["encrypted"])


def share(correct: int, images: int) -> str:
    return f"{correct} of {images} right, {correct / images:.2%}"


def show_encrypted(found: Json) -> None:
    count = found["images"]
    click.echo(f"\nencrypted, {count} images, {found['seconds'] / count:.2f} s per image")
    print_rows(
        {
            "encrypted network": share(found["correct"], count),
            "integer network": share(found["integer_correct"], count),
            "same class in both": f"{found['as_integer']} of {count}",
            "margin beyond noise": f"{found['beyond_bound']} of {count}, "
            f"{found['exceptions']} of them with another class",
            "noise margin left": f"{found['noise_margin_bits']:.1f} bits",
        }
    )
    for image in found["different"]:
        click.echo(
            f"  image {image['image']}: {image['predicted']}, integer network "
            f"{image['integer_predicted']}, label {image['label']}; margin "
            f"{image['integer_top2_margin']}, noise bound {image['noise_bound']:.0f}"
        )
    click.echo(
        "\nnoise of accumulators, its deviation and the predicted one;\n"
        "slots that are not the table's value; activations changed, and by how much"
    )
    print_table([of_layer(layer) for layer in found["layers"]])
    click.echo("\nnoise of ciphertexts in bits: of each operation, where least margin is left")
    print_table([of_step(name, step) for name, step in tightest(found["noise"]).items()])


def of_layer(layer: Json) -> Json:
    """Noise and changed activations of one layer."""
    noisy = layer["accumulators"]
    any_, one, two = (portion(layer, sizes) for sizes in (None, (1,), (2,)))
    return {
        "layer": layer["name"],
        "mean": f"{layer['noise_mean']:.2f}" if noisy else None,
        "sigma": f"{layer['noise_sigma']:.2f}" if noisy else None,
        "predicted": f"{layer['predicted_sigma']:.2f}" if noisy else None,
        "max": layer["noise_largest"] if noisy else None,
        "wrong": layer["wrong_slots"],
        "any": f"{any_:.1%}",
        "by 1": f"{one:.1%}",
        "by 2": f"{two:.1%}",
        "more": f"{any_ - one - two:.1%}",
    }


def portion(layer: Json, sizes: tuple[int, ...] | None) -> float:
    """The share of a layer's activations that changed by one of ``sizes``, or at all if None."""
    counts = layer["changes"].items()
    chosen = sum(count for change, count in counts if sizes is None or abs(change) in sizes)
    return float(chosen / layer["values"])


def tightest(noise: list[Json]) -> dict[str, Json]:
    """For each operation, the step with the least margin."""
    found: dict[str, Json] = {}
    for step in sorted(noise, key=lambda step: float(step["margin_bits"])):
        found.setdefault(step["name"].rpartition(": ")[2], step)
    return found


def of_step(operation: str, step: Json) -> Json:
    """The predicted and the measured noise of a step."""
    return {
        "operation": operation,
        "layer": step["name"].split(" ", 1)[1].rpartition(": ")[0],
        "predicted": f"{step['predicted_bits']:.2f}",
        "measured": f"{step['measured_bits']:.2f}",
        "margin": f"{step['margin_bits']:.1f}",
    }
