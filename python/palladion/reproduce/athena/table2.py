"""Table 2: the useful share of a convolution's result polynomials.

A result polynomial has N coefficients, of which a layout uses some. Both of the paper's layouts
place whole input channels, including the zeros of the padding, side by side. They differ in the
order of channels (section 3.2.1). Products of the polynomials of one result are added up before.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np

from palladion.deployment import CompiledModel
from palladion.measure.accuracy import Steps
from palladion.nn.integers.network import Conv, Input, IntNetwork, Layer, Lut, Term
from palladion.reproduce.athena.paper import LOG_N
from palladion.reproduce.reproduction import Column, Reproduction

N: Final = 1 << LOG_N


@dataclass(frozen=True)
class Convolution:
    """A square convolution of ``size`` x ``size`` images with zeros around them."""

    size: int
    inputs: int
    outputs: int
    kernel: int
    stride: int
    padding: int

    def __str__(self) -> str:
        return (
            f"({self.size}^2, {self.inputs}, {self.outputs}, {self.kernel}, {self.stride}, "
            f"{self.padding})"
        )

    @property
    def side(self) -> int:
        """Rows of the result."""
        return (self.size + 2 * self.padding - self.kernel) // self.stride + 1

    @property
    def values(self) -> int:
        """Integers of the result."""
        return self.outputs * self.side**2

    @property
    def channel(self) -> int:
        """Number of coefficients of an input channel with its zeros."""
        return (self.size + 2 * self.padding) ** 2


PRINTED: Final = {
    Convolution(32, 3, 16, 3, 1, 1): (25, 50),
    Convolution(32, 16, 16, 3, 1, 1): (3.13, 50),
    Convolution(32, 16, 32, 1, 2, 0): (1.56, 25),
    Convolution(16, 32, 32, 3, 1, 1): (2.27, 25),
    Convolution(16, 32, 64, 1, 2, 0): (0.78, 6.25),
    Convolution(8, 64, 64, 3, 1, 1): (0.96, 12.5),
}
"""Table 2: percent with Cheetah's layout, and with Athena's."""


def cheetah(given: Convolution) -> float:
    """Input channels first: a polynomial has all of them, for as many output channels as fit.

    A result polynomial then holds that many output channels (Huang et al., USENIX Security 2022,
    section 3). In percent.
    """
    together = max(N // (given.channel * given.inputs), 1)
    return share(given, -(-given.outputs // together))


def athena(given: Convolution) -> float:
    """Output channels first: as many as fit, with the input channels that still fit. In percent."""
    together = N // given.channel
    return share(given, -(-given.outputs // together))


def share(given: Convolution, polynomials: int) -> float:
    """Percentage of the coefficients of ``polynomials`` polynomials that are part of the result."""
    return 100 * given.values / (polynomials * N)


def compiled(given: Convolution) -> tuple[float, float]:
    """Our compiler's layout: percentage of result polynomials, and of slots of tables."""
    facts = CompiledModel.of_network(network_of(given)).facts
    steps = Counter(step.operation for step in facts.steps if step.layer == "conv")
    return share(given, steps["to_samples"]), share(given, steps["pack"])


def network_of(given: Convolution) -> IntNetwork:
    """The convolution with its table, and the smallest layer after it: a network ends without a
    table."""
    shape = (given.outputs, given.inputs, given.kernel, given.kernel)
    sliding = Conv(np.ones(shape, np.int64), (given.stride,) * 2, (given.padding,) * 4)
    reader = Conv(np.ones((1, given.outputs, given.side, given.side), np.int64))
    table = Lut.from_values(np.clip(np.arange(-BOUND, BOUND + 1), 0, 1))
    zeros = [np.zeros(count, np.int64) for count in (given.outputs, 1)]
    return IntNetwork(
        "convolution",
        Input((given.inputs, given.size, given.size), 0, 1, 1.0),
        (
            Layer("conv", (Term(0, sliding),), zeros[0], BOUND, table, 1.0),
            Layer("last", (Term(1, reader),), zeros[1], BOUND, None, 1.0),
        ),
    )


BOUND: Final = 1000
"""An arbitrary table: the layout does not depend on it."""


def run(steps: Steps) -> Reproduction:
    """Both layouts by their definitions, and the layout of our compiler."""
    rows = []
    steps.start_run()
    for done, (given, (printed_cheetah, printed_athena)) in enumerate(PRINTED.items()):
        steps.count("compile", done, len(PRINTED))
        results, slots = compiled(given)
        ours = cheetah(given), athena(given)
        rows.append(
            (
                *(str(given), printed_cheetah, ours[0], ours[0] / printed_cheetah),
                *(printed_athena, ours[1], ours[1] / printed_athena, results, slots),
            )
        )
    return Reproduction(
        "Table 2: percent of valid data in result polynomials",
        COLUMNS,
        rows,
        NOTES,
    )


COLUMNS: Final = (
    Column("convolution", "HW,Cin,Cout,Wk,s,p"),
    Column("cheetah_paper", "Cheetah"),
    Column("cheetah_formula", "formula C", ".2f"),
    Column("cheetah_ratio", "ratio C", ".2f"),
    Column("athena_paper", "Athena"),
    Column("athena_formula", "formula A", ".2f"),
    Column("athena_ratio", "ratio A", ".2f"),
    Column("compiled_results", "compiled", ".2f"),
    Column("compiled_slots", "packed", ".2f"),
)
NOTES: Final = (
    "Cheetah, Athena: the paper's figures; formula C and A: the same by the layouts' definitions; "
    "ratio: formula over paper.",
    "compiled: result polynomials of the program our compiler makes of the convolution; packed: "
    "slots that hold different values in front of the table.",
    "(16^2, 32, 64, 1, 2, 0): 64 x 8 x 8 values of N = 32768 are 12.5 %. The paper's 6.25 % is "
    "that of 32 output channels, with which Cheetah's share is 0.78 %, too.",
)
