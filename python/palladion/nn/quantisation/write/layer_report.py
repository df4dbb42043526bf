"""Reports the effect of quantisation on each layer, and warns the user."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from math import erfc, sqrt
from typing import TYPE_CHECKING, Final

import numpy as np

from palladion.errors import NetworkError
from palladion.nn.floats.exact_sums import add_up
from palladion.nn.floats.graph import Array, Shape
from palladion.nn.quantisation.settings import Settings
from palladion.support.records import Json

if TYPE_CHECKING:
    from palladion.nn.quantisation.plan.planner import Planned
    from palladion.nn.quantisation.values import IntegerLayer

LARGE_ERROR: Final = 0.1
"""A layer whose error is a larger share of its range gets a warning."""

DEVIATIONS: Final = 8
"""A bound of fewer deviations of the rounding noise leaves too little room for values."""

RARE_CHANGE: Final = 0.01
"""Share of outputs that noise may change without a warning, in a layer with a small bound."""


@dataclass(frozen=True)
class LayerReport:
    """One layer, on the calibration data."""

    name: str
    shape: Shape
    bound: int
    largest: int
    """The largest accumulator."""
    weight_bits: float
    """Bits of the integer weights with their sign, after any coarsening."""
    coarsened: float
    """Factor by which the weights are coarser than their width in the settings, to keep the limit.
    At least 1."""
    beyond: float
    """Share of accumulators beyond the bound."""
    error: float
    """Noise to signal: squared error of the layer's real values, relative to the float
    network's."""
    deviation: float = 0.0
    """Root mean squared error, as a fraction of the layer's range in the float network."""
    weights_error: float = 0.0
    """Relative error of the sums that comes from rounding the weights."""
    weights_error_free: float = 0.0
    """The same error with a step for each channel and without a limit: the cost of these
    options."""
    lost: int = 0
    """Channels that are constant here but not in the float network."""
    sigma: float = 0.0
    """Deviation of the rounding noise of an encrypted run on the layer's accumulators."""
    changed: float = 0.0
    """Share of outputs that the rounding noise of an encrypted run changes, mostly by one step."""
    noise: float = 0.0
    """Root mean squared change by that noise, as a fraction of the range of the outputs."""
    differing: float | None = None
    """For a model with its own grids: the share of outputs that differ from the model's."""
    distance: float | None = None
    """For such a model, if all sums are exact: the least distance of a sum to a table step."""
    why: str | None = None
    """For such a model: the reason why the layer is not exact."""

    def to_dict(self) -> Json:
        """As plain data."""
        return {**asdict(self), "shape": list(self.shape)}


def report_layer(planned: Planned, layer: IntegerLayer, sigma: float) -> LayerReport:
    """Compare a layer with the float network. ``sigma`` is the deviation of a run's noise in it."""
    value = layer.value
    if layer.table is None:
        scale, shift = (
            np.array(p)[:, None, None] for p in (layer.output_scale, layer.output_shift)
        )
        outputs = value.integers * scale + shift
    else:
        outputs = value.real
    squares = np.square(outputs - value.reference, dtype=np.float64)
    signal = float(np.mean(np.square(value.reference, dtype=np.float64))) or 1.0
    low, high = (end(value.reference, axis=(0, 2, 3)) for end in (np.min, np.max))
    moves = value.integers.max(axis=(0, 2, 3)) > value.integers.min(axis=(0, 2, 3))
    span = float(high.max() - low.min())
    changed, noise = measure_noise(layer, sigma)
    differing = None
    if value.own_grid:
        differing = float(np.mean(value.integers != value.reference_integers()))
    elif layer.table is None and layer.distance is not None:
        differing = float(np.mean(squares > np.square(1e-6 * span)))
    return LayerReport(
        name=planned.name,
        shape=planned.form.shape,
        bound=layer.bound,
        largest=int(np.abs(layer.accumulators).max()),
        weight_bits=layer.group.bits,
        coarsened=layer.group.unit.coarsened,
        beyond=float(np.mean(np.abs(layer.accumulators) > layer.bound)),
        error=float(np.mean(squares)) / signal,
        deviation=float(np.sqrt(np.mean(squares))) / (span or 1.0),
        weights_error=layer.costs[0],
        weights_error_free=layer.costs[1],
        lost=int(((high - low > LARGE_ERROR * span) & ~moves).sum()),
        sigma=sigma,
        changed=changed,
        noise=noise,
        differing=differing,
        distance=layer.distance,
        why=layer.why,
    )


def measure_noise(layer: IntegerLayer, sigma: float) -> tuple[float, float]:
    """The share of a table's outputs that a Gaussian of deviation ``sigma`` changes, and the size.

    The size is the root mean squared change divided by the range of outputs. Each change counts as
    one to the next value of the table.
    """
    edges = np.empty(0) if layer.table is None else np.flatnonzero(np.diff(layer.table))
    if layer.table is None or not len(edges):
        return 0.0, 0.0
    bound = layer.bound
    index = np.searchsorted(
        edges, np.arange(2 * bound + 1)
    )  # index of the run of equal outputs, for each accumulator
    ends = np.concatenate(([-np.inf], edges + 0.5, [np.inf]))
    jumps = np.concatenate(([0.0], np.diff(layer.table)[edges].astype(np.float64), [0.0]))
    places = np.arange(2 * bound + 1)
    down, up = (
        find_tail_probability(gaps / sigma)
        for gaps in (places - ends[index], ends[index + 1] - places)
    )
    clipped = np.clip(layer.accumulators, -bound, bound).astype(np.int64) + bound
    weight = np.bincount(clipped.ravel(), minlength=2 * bound + 1) / clipped.size
    square = add_up((down * jumps[index] ** 2 + up * jumps[index + 1] ** 2) * weight, axis=0)
    span = float(layer.table.max() - layer.table.min())
    return float(add_up((down + up) * weight, axis=0)), float(np.sqrt(square)) / span


TAIL_STEPS: Final = 128
"""Steps of the table of Gaussian tails in one deviation."""


def find_tail_probability(distance: Array) -> Array:
    """Probability that a Gaussian exceeds a distance, in deviations."""
    tail = tabulate_gaussian_tail()
    probabilities: Array = tail[np.minimum(distance * TAIL_STEPS, len(tail) - 1).astype(np.int64)]
    return probabilities


@cache
def tabulate_gaussian_tail() -> Array:
    """Probabilities that a Gaussian exceeds 0, 1, .. steps. The last entry is 0, for never."""
    return np.array([*(0.5 * erfc(k / TAIL_STEPS / sqrt(2)) for k in range(12 * TAIL_STEPS)), 0.0])


def warn_of_softmax(layers: Sequence[Planned], reports: Sequence[LayerReport]) -> Iterator[str]:
    """Yields a warning for each encrypted softmax with an inexact inverse, and its error."""
    for place, planned in enumerate(layers):
        if planned.softmax != "inverse" or reports[place].deviation <= LARGE_ERROR:
            continue
        product = next(
            (
                own
                for own, of in zip(reports, layers, strict=True)
                if of.product and place + 1 in of.product
            ),
            reports[-1],
        )
        yield (
            f"softmax {product.name}: its inverse is a table of few steps, and its probabilities "
            f"are off by {product.deviation:.1%} of their range (root mean square). Finer weights "
            "do not help. At the end of a model the client computes a softmax exactly: leave out "
            "--keep-softmax"
        )


def warn_of_layer(report: LayerReport, *, last: bool, softmax: bool = False) -> Iterator[str]:
    """Yields warnings about a layer, each with a remedy.

    For layers inside a softmax, :func:`warn_of_softmax` judges the error instead.
    """
    layer = f"layer {report.name}"
    if report.deviation > LARGE_ERROR and not softmax:
        why = ""
        if report.weights_error > 1.5 * report.weights_error_free:
            why = (f"; rounding of weights alone makes {report.weights_error:.1%} of its sums' "
                   f"size, {report.weights_error_free:.1%} with steps for each channel and without "
                   "the limit: try --per-channel, fewer bits, a larger --limit, or more "
                   "--table-entries")  # fmt: skip
        yield f"{layer}: its error is {report.deviation:.1%} of its range{why}"
    if report.lost:
        yield (f"{layer}: {report.lost} channels are constant, which they are not in the float "
               "network: they are much smaller than others beside them")  # fmt: skip
    if not last and report.bound < DEVIATIONS * report.sigma and report.changed > RARE_CHANGE:
        yield (
            f"{layer}: its bound of {report.bound} is less than {DEVIATIONS} deviations of the "
            f"rounding noise ({report.sigma:.2f}): give weights more bits, or --resolution more"
        )
    elif report.noise > LARGE_ERROR:
        yield (
            f"{layer}: the rounding noise of a run changes {report.changed:.1%} of its outputs, by "
            f"{report.noise:.1%} of their range: sums lie too near to the steps of its table. "
            "Fewer bits before it, or channels of more alike scales, leave more room"
        )
    if report.beyond:
        yield (f"{layer}: {report.beyond:.2%} of its accumulators on the data lie beyond the bound "
               f"of {report.bound}: more --headroom, or fewer bits")  # fmt: skip
    if report.differing and report.why is not None:
        share = f"{report.differing:.2%} of its outputs differ from the model's"
        yield f"{layer}: {share}: {report.why}"


def refuse_warned(warned: Sequence[str], *, strict: bool) -> None:
    """Refuse a network with warnings, if the settings are strict.

    Raises
    ------
    NetworkError
        The message has all warnings.
    """
    if strict and warned:
        raise NetworkError("; ".join(warned))


def make_limit_error(name: str, wanted: float, settings: Settings) -> NetworkError:
    """The error for a layer that exceeds the limit in a strict run, or with exact weights.

    ``wanted`` is the bound that its accumulators need.
    """
    return NetworkError(
        f"layer {name}: with weights of {settings.weights} bits its bound would be {wanted:.0f}, "
        f"the limit is {settings.limit}. Ways out: (1) fewer bits of weights, --weights; (2) fewer "
        "bits of activations, --activations; (3) another calibration, --per-channel or --method, "
        "accumulators limited in training, as `palladion train` does, or the layer split in two"
    )


def make_bound_error(name: str, needed: int, settings: Settings) -> NetworkError:
    """The error of a layer whose sums need calibration data to be bounded."""
    return NetworkError(
        f"layer {name}: its sums of integers need a bound of {needed} for every input, the limit "
        f"is {settings.limit}. Ways out: (1) calibration data, --data, so that bounds are those of "
        "what occurs; (2) fewer bits of weights or activations, or fewer inputs of this layer"
    )
