"""HELR with bootstrapping: any even number of iterations, in words of 32 bits.

A step bootstraps the weights ``w`` and the point ``v`` of the gradient, as one ciphertext ``(v + i
w) / 2`` of all slots, and does two iterations. Its result is what the next step takes, so one
circuit serves all steps, and one plan of it. What differs between steps is encrypted: the samples,
and the momentum, because plaintexts are constants of a plan.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from files import Array
from helr import BATCH, DEPTH, FEATURES, GAIN, SCALE, Training, momenta
from numpy.typing import ArrayLike
from palladion import ckks
from palladion.circuit import Circuit, dot

PAIR = 2
"""Iterations of a step."""
BOUND = 2
"""``w`` and ``v`` are below it. The coefficients of their message are then below 1, as a
bootstrapping needs."""


def parameters(log_n: int = 16, *, insecure: bool = False) -> ckks.Params:
    """128-bit secure at N = 2^16, in words of 32 bits.

    Levels from the bottom: 60 bits, 9 of 32 for two iterations and the packing, 4 of 32 for slots
    to coefficients, 8 of 58 for the reduction, 4 of 56 for coefficients to slots.
    """
    levels: list[int | Sequence[int]] = [[30, 30], *[SCALE] * (PAIR * DEPTH + 1)]
    levels += [*[SCALE] * 4, *[[29, 29]] * 8, *[[28, 28]] * 4]
    special = [SCALE] * 14
    return ckks.Params(log_n, levels, special, 2.0**SCALE, digit_limbs=14, insecure=insecure)


class Bootstrapped:
    """A step of the training, and what is given to it.

    A batch has ``size`` samples.
    """

    def __init__(
        self, samples: Array, iterations: int, params: ckks.Params, size: int = BATCH
    ) -> None:
        self.circuit = c = Circuit(params, name="helr-step")
        self.training = Training(samples, momenta(iterations), c.slots, size)
        self.steps = iterations // PAIR
        turn = c.input("turn", encrypted=False)
        both = c.input("state", level=0).bootstrap()
        other = both.conjugate()
        v = (both + other) * (BOUND * GAIN // 2)
        # A product with an integer before the one that is rescaled: it has no share in its noise.
        w = (both - other) * -(BOUND**2 * GAIN**2 // 2) * turn
        for half in range(PAIR):
            level = v.level
            assert level is not None, "the state is encrypted"
            names = [f"batch.{half}.{i}" for i in range(self.training.parts)]
            batch = [c.input(name, level=level) for name in names]
            momentum = c.input(f"momentum.{half}", level=level - DEPTH + 1)
            ahead = c.input(f"ahead.{half}", level=level - DEPTH + 1)
            w, v = self.training.step(batch, w, v, momentum, ahead)
        c.output("state", dot([v, w], [1 / (BOUND * GAIN), turn]).drop(0))

    @property
    def plain_inputs(self) -> dict[str, complex]:
        """The plaintext by which ``w`` becomes the imaginary part of a state."""
        return {"turn": 1j / (BOUND * GAIN)}

    def inputs(self, step: int) -> dict[str, Array]:
        """Samples and momenta of a step."""
        found: dict[str, Array] = {}
        for half in range(PAIR):
            t = PAIR * step + half
            momentum = self.training.momenta[t]
            found[f"momentum.{half}"] = np.full(self.circuit.slots, momentum)
            found[f"ahead.{half}"] = (1 - momentum) * self.training.mask
            for i, slots in enumerate(self.training.packed(t)):
                found[f"batch.{half}.{i}"] = slots
        return found

    def plain(self) -> list[tuple[Array, Array]]:
        """``w`` and ``v`` after each step, in doubles.

        Raises
        ------
        ValueError
            If one of them is beyond what a step bootstraps.
        """
        found = list(self.training.plain())[PAIR - 1 :: PAIR]
        largest = max(float(np.abs(part).max()) for pair in found for part in pair)
        if largest >= BOUND:
            text = f"weights reach {largest:.2f}, expected below {BOUND}: take fewer iterations"
            raise ValueError(text)
        return found

    def state(self, w: Array, v: Array) -> Array:
        """The slots of the state with these weights, each beside all samples."""
        found = np.zeros(FEATURES, complex)
        found[: len(w)] = (v + 1j * w) / BOUND
        return np.repeat(found, self.training.beside)

    def weights_in(self, state: Array) -> tuple[Array, Array]:
        """``w`` and ``v`` in a state."""
        w, v = (self.training.weights_in(part * BOUND * GAIN) for part in (state.imag, state.real))
        return w, v

    def error(self) -> float:
        """Predicted error that a step adds to a slot of ``w`` or ``v``: the root mean square.

        It is that of the last step, whose weights are the largest.
        """
        state = self.state(*self.plain()[-1])
        given: dict[str, ArrayLike] = {**self.inputs(self.steps - 1), **self.plain_inputs}
        given["state"] = state
        errors = self.circuit.predict(given)["state"].errors
        return float(BOUND * (np.mean(errors**2) / 2) ** 0.5)

    def deviation(self, error: float, rng: np.random.Generator, runs: int = 8) -> float:
        """The largest difference of a weight in some trainings with such errors after each step.

        They are in doubles. A weight has the same error beside all samples. Of the encrypted ones
        only a part is the same, that of the gradient, and the mean over the samples has less of
        the rest.
        """
        exact = self.plain()[-1][0]
        return max(float(np.abs(self.with_errors(error, rng) - exact).max()) for _ in range(runs))

    def with_errors(self, error: float, rng: np.random.Generator) -> Array:
        """``w`` after a training in doubles with errors after each step."""
        w: Array
        v: Array
        w, v = np.zeros((2, self.training.samples.shape[1]))
        for t in range(PAIR * self.steps):
            w, v = self.training.after(t, w, v)
            if t % PAIR == PAIR - 1:
                w, v = (part + error * rng.standard_normal(len(w)) for part in (w, v))
        return w
