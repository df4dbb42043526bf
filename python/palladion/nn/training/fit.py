"""The optimiser: Adam with a falling rate, on cross-entropy and a penalty on accumulators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
import optax

from palladion.errors import DataError, UsageError
from palladion.nn.integers.linear_maps import Ints
from palladion.nn.integers.network import ROUNDING_SIGMA, IntNetwork
from palladion.nn.training import surrogate
from palladion.nn.training.augment import augment
from palladion.nn.training.model import Model, Params
from palladion.nn.training.precision import single_precision

PENALTY: Final = 100.0
"""Loss per image of an accumulator that exceeds the margin by its whole bound."""

TEMPERATURE: Final = 4.0
"""Logits are divided by this before they are compared with those of another network (Hinton,
Vinyals, Dean, "Distilling the knowledge in a neural network", 2015, section 2)."""

Progress = Callable[[int, int, float], None]
"""Called with the steps done, all steps, and the mean loss of the last hundred."""


@dataclass(frozen=True)
class Settings:
    """The settings of training that a user chooses.

    ``rate`` is about the relative change of the largest weight in one step at the start. It falls
    to 0 as a cosine. ``sigma`` is the deviation of the noise of one sample of an encrypted run
    (``rounding_sigma``). Tables after sums of samples get more noise.

    Raises
    ------
    UsageError
        If a number is out of range.
    """

    epochs: int = 5
    rate: float = 5e-4
    batch: int = 64
    sigma: float = ROUNDING_SIGMA
    shift: int = 0
    flip: bool = False
    seed: int = 0
    imitation: float = 0.0
    """Share of the loss that compares with the answers of another network, 0 to 1."""

    def __post_init__(self) -> None:
        for name, least in (("epochs", 1), ("batch", 1), ("shift", 0), ("seed", 0), ("sigma", 0)):
            if not getattr(self, name) >= least:
                raise UsageError(f"{name} {getattr(self, name)}, expected at least {least}")
        if not 0 <= self.imitation <= 1:
            raise UsageError(f"imitation {self.imitation:g}, expected 0 to 1")
        if not 0 < self.rate < 1:
            raise UsageError(f"rate {self.rate:g}, expected above 0 and below 1")


@single_precision()
def train(
    model: Model,
    inputs: Ints,
    labels: Ints,
    settings: Settings | None = None,
    blank: Ints | None = None,
    progress: Progress | None = None,
    imitated: Model | None = None,
) -> IntNetwork:
    """Train a network on rows of its input's integers and their classes.

    ``blank``, zeros by default, is the integer of each channel that fills the sides of shifted
    images. The same seed gives the same network on one machine.

    ``imitated`` is a network whose answers without noise are part of the loss, by
    ``settings.imitation``. It takes the same integers: the same model with wider weights and larger
    tables, for example.

    Raises
    ------
    DataError
        If there are fewer images than a batch has, or if labels are not classes of the network.
    UsageError
        If the network to imitate is missing, or takes other integers.
    """
    settings = settings or Settings()
    if settings.imitation:
        check_imitated(model, imitated)
    shape, classes = model.network.input.shape, len(model.network.layers[-1].bias)
    check(inputs, labels, classes, settings)
    images = inputs.reshape(-1, *shape).astype(np.int16)
    around = jnp.asarray(np.zeros(shape[0]) if blank is None else blank, jnp.float32)
    key = jax.random.key(settings.seed)
    total = settings.epochs * (len(images) // settings.batch)
    optimiser = optax.adam(optax.cosine_decay_schedule(settings.rate, total))
    params, state = model.start, optimiser.init(model.start)
    step = jax.jit(stepper(model, optimiser, around, settings, imitated))
    recent: list[Any] = []
    for done, chosen in enumerate(batches(len(images), settings), start=1):
        key_of_step = jax.random.fold_in(key, done)
        params, state, loss = step(params, state, images[chosen], labels[chosen], key_of_step)
        recent = [*recent[-99:], loss]
        if progress:
            progress(done, total, float(np.mean(recent)))
    return model.trained(params)


def check(inputs: Ints, labels: Ints, classes: int, settings: Settings) -> None:
    """Refuse data that cannot be trained on."""
    if len(inputs) != len(labels) or len(inputs) < settings.batch:
        raise DataError(f"{len(inputs)} images and {len(labels)} labels to train on, expected a "
                        f"label each, and at least a batch of {settings.batch}")  # fmt: skip
    if labels.min() < 0 or labels.max() >= classes:
        raise DataError(f"labels {labels.min()} to {labels.max()}, the network has the classes "
                        f"0 to {classes - 1}")  # fmt: skip


def check_imitated(model: Model, imitated: Model | None) -> None:
    """Refuse a network that cannot be imitated."""
    if imitated is None:
        raise UsageError("no network to imitate, expected one that takes the same integers")
    own, other = (of.network for of in (model, imitated))
    if own.input != other.input or own.boundary.interface.takes != other.boundary.interface.takes:
        raise UsageError(f"the network to imitate takes {other.input}, expected {own.input}")


def batches(count: int, settings: Settings) -> Iterator[Ints]:
    """The images of each step. Each image occurs once per epoch, except the last few left over."""
    rng = np.random.default_rng(settings.seed)
    for _ in range(settings.epochs):
        order = rng.permutation(count)
        for start in range(0, count - settings.batch + 1, settings.batch):
            yield order[start : start + settings.batch]


def stepper(
    model: Model, optimiser: Any, blank: jax.Array, settings: Settings, imitated: Model | None
) -> Any:
    """One step of the optimiser as a function to compile."""
    noise = noise_of(model, settings.sigma)

    def loss(params: Params, images: jax.Array, labels: jax.Array, key: jax.Array) -> jax.Array:
        found = model.forward(params, images, noise, key)
        logits = logits_of(model, found.accumulators[-1])
        entropy: jax.Array = optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
        if settings.imitation and imitated is not None:
            other = imitated.forward(imitated.start, images, noise_of(imitated, 0.0), key)
            distance = divergence(logits, logits_of(imitated, other.accumulators[-1]))
            entropy = (1 - settings.imitation) * entropy + settings.imitation * distance
        return entropy + PENALTY * found.penalty

    def step(params: Params, state: Any, images: Any, labels: Any, key: Any) -> Any:
        first, second = jax.random.split(key)
        changed = augment(
            images.astype(jnp.float32), blank, first, shift=settings.shift, flip=settings.flip
        )
        value, slopes = jax.value_and_grad(loss)(params, changed, labels, second)
        updates, state = optimiser.update(slopes, state, params)
        moved = optax.apply_updates(params, updates)
        return jax.tree.map(lambda p: jnp.clip(p, -1, 1), moved), state, value

    return step


def noise_of(model: Model, sigma: float) -> list[jax.Array | None]:
    """For each table, the quantiles of its noise, where a sample has the deviation ``sigma``. None
    if that is 0."""
    sigmas = model.network.sigmas(sigma)
    quantiles = {sigma: jnp.asarray(surrogate.noise(sigma)) for sigma in sigmas if sigma}
    return [quantiles.get(sigma) for sigma in sigmas]


def logits_of(model: Model, accumulators: jax.Array) -> jax.Array:
    """The real numbers that the last layer's accumulators stand for."""
    scale = jnp.asarray(model.network.boundary.interface.gives.scale)  # of all channels, or of each
    return accumulators[:, :, 0, 0] * scale


def divergence(logits: jax.Array, imitated: jax.Array) -> jax.Array:
    """Mean divergence of the probabilities from those of another network, both at
    :data:`TEMPERATURE`, times its square, so that slopes do not depend on it."""
    own = jax.nn.log_softmax(logits / TEMPERATURE)
    other = jax.nn.softmax(jax.lax.stop_gradient(imitated) / TEMPERATURE)
    divergences: jax.Array = optax.losses.kl_divergence(own, other)
    return divergences.mean() * TEMPERATURE**2
