"""``palladion verify``."""

from __future__ import annotations

from pathlib import Path

import click

from palladion import CompiledModel, IntNetwork
from palladion.cli.calibrate import ANY, calibrate
from palladion.cli.common import FILE, json_option, print_json, print_rows, threads_option
from palladion.cli.progress import Steps
from palladion.deployment import DEFAULT_QUERIES
from palladion.errors import MismatchError, UsageError
from palladion.manifest import Manifest, Source, beside, hash_of, versions
from palladion.support import files
from palladion.support.records import Json


@click.command()
@click.argument("program", type=FILE)
@click.option("--onnx", "model", type=FILE, required=True,
              help="The ONNX model, or the integer network, that it was compiled of.")  # fmt: skip
@click.option("--data", type=ANY, help="The calibration data, if it was given to compile.")
@click.option("--profile", type=FILE, help="The profile, if it was given to compile.")
@click.option("--manifest", type=FILE, help="The manifest; default: beside the program.")
@threads_option
@json_option
def verify(
    program: Path,
    model: Path,
    data: Path | None,
    profile: Path | None,
    manifest: Path | None,
    as_json: bool,
) -> None:
    """Make a program again, and compare it with this one.

    The model, the data and the options of its manifest are quantised and compiled. The command
    fails with status 4 if the model, the data or the program differs, and says which.

    It shows that the program was made of this model. It does not show that a server runs it.
    """
    known = Manifest.load(manifest or beside(program))
    options = dict(known.options)
    for name, given in (("data", data), ("profile", profile)):
        needed = known.data if name == "data" else options.get("profile")
        if bool(given) != bool(needed):
            words = "was given" if needed else "was not given"
            remedy = "give it here too" if needed else "leave it out"
            raise UsageError(f"--{name} {words} to compile, says the manifest: {remedy}")
    same = {"program": hash_of(files.read(program)) == known.program_sha256,
            "model": Source.of(model).sha256 == known.model.sha256}  # fmt: skip
    if data is not None and known.data is not None:
        same["data"] = Source.of(data).sha256 == known.data.sha256
    with Steps(quiet=as_json) as steps:
        if options["quantisation"] is None:
            network = IntNetwork.load(model)
        else:
            with steps.step("quantise"):
                network = requantised(model, data, options["quantisation"])
        same["network"] = hash_of(network.to_json().encode()) == known.network_sha256
        with steps.step("compile"):
            again = CompiledModel.of_network(
                network, options["batch"], words=options["words"], failure=options["failure"],
                hide_model=options["hidden_queries"] is not None,
                queries=options["hidden_queries"] or DEFAULT_QUERIES,
                profile=profile,
            )  # fmt: skip
    same["rebuilt"] = hash_of(again.to_bytes()) == known.program_sha256
    other = {
        name: f"{version} now, {known.versions.get(name, 'unknown')} then"
        for name, version in versions().items()
        if version != known.versions.get(name)
    }
    if as_json:
        print_json({"same": same, "versions": other, "manifest": known.to_json()})
    else:
        print_rows({**{name: "as in the manifest" if equal else "DIFFERS"
                       for name, equal in same.items()}, **other})  # fmt: skip
    wrong = [name for name, equal in same.items() if not equal]
    if wrong:
        raise MismatchError(f"not as in the manifest: {', '.join(wrong)}")


def requantised(model: Path, data: Path | None, options: Json) -> IntNetwork:
    """The integer network of a model, with options from a manifest."""
    lists = {name: tuple(value) for name, value in options.items() if isinstance(value, list)}
    _, quantised = calibrate(model, data, **{**options, **lists})
    return quantised.network
