"""Accuracy of an integer network: in floating point, in integers, with noise, and encrypted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from palladion import _native
from palladion.data.digits import is_packaged, mnist_plain
from palladion.deployment import CompiledModel
from palladion.errors import DataError, NetworkError
from palladion.measure.inspected import Spread, inspect, inspect_spread
from palladion.nn.datasets.dataset import Dataset
from palladion.nn.datasets.labels import check_alike
from palladion.nn.ends.interface import Pixels
from palladion.nn.integers.network import IntNetwork, Ints
from palladion.support import memory
from palladion.support.records import Json
from palladion.support.text import times

Labels = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.float64]
FLOATS_AT_ONCE = 100

BOUND_DEVIATIONS = 6
BOUND_DRAWS = 400  # with 400 draws, a deviation is right within 4 %


class Steps(Protocol):
    """Receives the progress of work."""

    def step(self, name: str) -> AbstractContextManager[None]:
        """Report that ``name`` is the current work while the body runs."""

    def start_run(self) -> None:
        """Start counting anew."""

    def update(self, name: str, done: float, total: float) -> None:
        """Report that ``done`` of ``total`` units of a run of the core are finished."""

    def count(self, name: str, done: float, total: float) -> None:
        """Report that ``done`` of ``total`` units of other work are finished."""


def inputs_of(network: IntNetwork, given: Dataset) -> Ints:
    """The network's integers for the inputs of a data set."""
    if not given.pictures:
        try:
            return network.inputs(given.images)
        except NetworkError as error:
            raise DataError(f"{given.name}: {error}") from error
    shape = given.images.shape[1:]
    if network.input.shape not in (shape, (given.images[0].size, 1, 1)):
        raise DataError(
            f"{given.name}'s images have shape {times(shape)}, the network {network.name} takes "
            f"{times(network.input.shape)}"
        )
    return network.inputs_of_pixels(given.images)


def plain_correct(
    network: IntNetwork, model: Path | None, given: Dataset, steps: Steps
) -> int | None:
    """Right answers in floats, of ``model`` or the packaged network's own; else ``None``."""
    if model is None:
        if not is_packaged(network):
            return None
        return right(mnist_plain().predict(given.images), given.labels)
    from palladion.nn.importer import load  # needs ONNX

    graph = load(model)
    if graph.input.shape != network.input.shape:
        raise DataError(
            f"{model} takes {times(graph.input.shape)}, the network {network.name} "
            f"{times(network.input.shape)}: it was not made from this model"
        )
    pixels = network.boundary.interface.takes.pixels or Pixels()
    total, found = len(given.images), 0
    steps.start_run()
    for start in range(0, total, FLOATS_AT_ONCE):
        steps.count("floating point", start, total)
        part = slice(start, start + FLOATS_AT_ONCE)
        if given.pictures:
            values = pixels.values(given.images[part])
            real = graph.ends.takes.restored(values.reshape(len(values), -1))
        else:
            real = given.images[part]
        classes = graph.ends.classes(graph.outputs(real))
        if classes is None:
            raise DataError(f"{model} gives no classes that answers could be compared with")
        found += right(classes, given.labels[part])
    return found


def right(predicted: npt.NDArray[Any], labels: Labels) -> int:
    """The number of classes that equal the labels.

    Raises
    ------
    DataError
        If classes are words and labels numbers or vice versa, or if their counts differ.
    """
    check_alike(predicted, labels)
    return int(np.count_nonzero(predicted == labels))


def in_the_clear(
    network: IntNetwork,
    inputs: Ints,
    labels: Labels,
    noise: tuple[Sequence[float], int],
    steps: Steps,
) -> Json:
    """Exact and noise-simulated evaluation, with the changes that noise makes in each layer.

    ``noise`` is the deviation before each table, and the seed.
    """

    def counting(name: str) -> Callable[[int], None]:
        steps.start_run()
        return lambda done: steps.count(name, done, len(inputs))

    sigmas, seed = noise
    exact = network.evaluate(inputs, progress=counting("integer network"))
    known = network.boundary.interface.known(network.outputs(exact.logits[:1]))
    check_alike(exact.predicted, labels, known)
    noisy = network.evaluate(inputs, sigmas, seed, counting("with simulated noise"))
    layers = [
        {
            "name": layer.name,
            "bound": layer.bound,
            "noise_sigma": sigma,
            "largest_accumulator": found.largest_accumulator,
            "overflows": found.beyond_bound,
            "values": found.values,
            "changed": found.changed,
            "largest_change": found.largest_change,
        }
        for layer, found, sigma in zip(network.layers, noisy.layers, [*sigmas, 0.0], strict=True)
    ]
    return {
        "integer_correct": right(exact.predicted, labels),
        "noise_seed": seed,
        "noisy_correct": right(noisy.predicted, labels),
        "noisy_class_changes": int(np.count_nonzero(noisy.predicted != exact.predicted)),
        "layers": layers,
    }


def under_encryption(
    network: IntNetwork,
    program: CompiledModel,
    inputs: Ints,
    labels: Labels,
    steps: Steps,
    spread: Spread | None = None,
) -> Json:
    """Encrypted runs, compared with the integer network layer by layer, here or spread over
    processes."""
    facts, sigmas = program.facts, program.native.sigmas()
    if spread is None:
        program.check_run()
        with steps.step("make keys"), memory.reserved_keys(facts):
            keys = _native.keygen(program.terms)
        steps.start_run()
        ran = inspect(network, program, inputs, steps.update, keys=keys)
    else:
        steps.start_run()
        ran = inspect_spread(
            network, program, inputs, spread.executor, steps.count, threads=spread.threads
        )
    bounds = noise_bounds(network, inputs, sigmas, steps)
    return {
        **against_integers(network, inputs, labels, ran.logits, bounds),
        "seconds": ran.seconds,
        "noise_margin_bits": ran.margin_bits,
        "rounding_sigma": facts.rounding_sigma,
        "layers": [
            {**layer, "predicted_sigma": sigma}
            for layer, sigma in zip(ran.layers, [*sigmas, 0.0], strict=True)
        ],
        "noise": ran.noise,
    }


def against_integers(
    network: IntNetwork, inputs: Ints, labels: Labels, logits: Ints, bounds: Floats
) -> Json:
    """Classes of encrypted runs, compared with the integer network's."""
    exact = network.evaluate(inputs)
    classes = network.classes(logits)
    predicted = np.argmax(logits, axis=1) if classes is None else classes
    margins = leads(units(network, exact.logits))
    differs = predicted != exact.predicted
    return {
        "images": len(inputs),
        "correct": right(predicted, labels),
        "integer_correct": right(exact.predicted, labels),
        "as_integer": int(np.count_nonzero(~differs)),
        "beyond_bound": int(np.count_nonzero(margins > bounds)),
        "exceptions": int(np.count_nonzero(differs & (margins > bounds))),
        "different": [
            {
                "image": int(i),
                "label": labels[i].item(),
                "predicted": predicted[i].item(),
                "integer_predicted": exact.predicted[i].item(),
                "integer_top2_margin": round(float(margins[i])),
                "noise_bound": float(bounds[i]),
            }
            for i in np.flatnonzero(differs)
        ],
        "largest_logit_change": int(np.abs(logits - exact.logits).max()),
    }


def units(network: IntNetwork, logits: Ints) -> Floats:
    """The logits that the class depends on, in the finest unit of all channels. If all units are
    equal, these are the integers."""
    interface = network.boundary.interface
    gives, head = interface.gives, interface.decisive(network.outputs(logits))
    found: Floats = gives.real(logits).reshape(len(logits), -1) / min(map(abs, gives.scale))
    return found if head is None else found[:, head]


def leads(found: Floats) -> Floats:
    """The lead of the largest number of each row over the next. For one number, its distance to
    0."""
    if found.shape[1] == 1:
        return np.abs(found[:, 0])
    ordered = np.sort(found, axis=1)
    apart: Floats = ordered[:, -1] - ordered[:, -2]
    return apart


def noise_bounds(
    network: IntNetwork, inputs: Ints, sigmas: Sequence[float], steps: Steps
) -> Floats:
    """The largest amount by which noise may move the best logit against another, for each image.

    It is BOUND_DEVIATIONS standard deviations of their difference, the largest over all other
    classes, in the integer network with rounding noise of ``sigmas`` before its tables. A class
    with a larger margin changes less than once in 10^8 images.
    """
    best = units(network, network.evaluate(inputs).logits).argmax(axis=1)
    bounds = np.empty(len(inputs))
    steps.start_run()
    for index, image in enumerate(inputs):
        steps.count("noise bounds", index, len(inputs))
        copies = np.repeat(image[None], BOUND_DRAWS, axis=0)
        found = units(network, network.evaluate(copies, sigmas, seed=index).logits)
        against = found if found.shape[1] == 1 else found[:, [best[index]]] - found
        bounds[index] = BOUND_DEVIATIONS * against.std(axis=0).max()
    return bounds
