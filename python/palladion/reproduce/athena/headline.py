"""The paper's claims of ratios, computed again from the figures that its own tables print."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from palladion.measure.accuracy import Steps
from palladion.reproduce.athena.paper import (
    AREA_MM2,
    BENCHMARKS,
    EDP,
    NETWORKS,
    OTHERS,
    REGISTERS_MB,
    SCRATCHPAD_MB,
    SOLUTIONS,
    WATTS,
    Accelerator,
)
from palladion.reproduce.reproduction import Cell, Column, Reproduction

Ratios = Mapping[str, float]
PRECISIONS: Final = ("w7a7", "w6a7")


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper: a quotient from ``low`` to ``high``, with ``places`` decimals.

    ``low`` is ``None`` for "up to", ``high`` for "at least". ``ratios`` gives the quotients by
    their names for a precision; ``precisions`` are those that the sentence may mean, or one ``-``.
    """

    section: str
    text: str
    low: float | None
    high: float | None
    places: int
    ratios: Callable[[str], Ratios]
    precisions: tuple[str, ...] = PRECISIONS

    @property
    def printed(self) -> str:
        """The claimed range as text."""
        low, high = (f"{value:.{self.places}f}" if value is not None else ""
                     for value in (self.low, self.high))  # fmt: skip
        if self.low == self.high:
            return low
        if not low:
            return f"up to {high}"
        return f"{low} to {high}" if high else f"at least {low}"

    def holds(self, found: Ratios) -> bool:
        """Whether the quotients lie in the claimed range, and reach the ends that are printed.

        An end agrees if it is the quotient rounded or cut off at the printed decimals.
        """
        unit = 10.0**-self.places

        def agrees(value: float, printed: float) -> bool:
            return -unit / 2 <= value - printed < unit

        least, most = min(found.values()), max(found.values())
        if self.high is None and self.low is not None:
            return least >= self.low - unit / 2
        low = self.low is None or agrees(least, self.low)
        return low and (self.high is None or agrees(most, self.high))


def speedups(other: Accelerator, precision: str, networks: tuple[str, ...] = NETWORKS) -> Ratios:
    """Table 6: another accelerator's time over Athena's."""
    return {
        name: other.milliseconds[name] / BENCHMARKS[name].milliseconds[precision]
        for name in networks
    }


def over_fastest(precision: str) -> Ratios:
    """Table 6: the fastest other accelerator's time over Athena's."""
    return {
        name: min(other.milliseconds[name] for other in OTHERS.values())
        / BENCHMARKS[name].milliseconds[precision]
        for name in NETWORKS
    }


def edp_ratios(other: Accelerator, precision: str) -> Ratios:
    """Table 7: another accelerator's energy-delay product over Athena's."""
    return {name: other.edp[name] / EDP[precision][name] for name in NETWORKS}


def edap_ratios(other: Accelerator, precision: str) -> Ratios:
    """The same times the quotient of the areas of table 9."""
    return {
        name: ratio * other.mm2 / AREA_MM2 for name, ratio in edp_ratios(other, precision).items()
    }


def without_mnist(ratios: Ratios) -> Ratios:
    """The networks that section 5.3.2 names."""
    return {name: ratio for name, ratio in ratios.items() if name != "MNIST"}


def constant(**ratios: float) -> Callable[[str], Ratios]:
    """Quotients that no precision changes."""
    return lambda _precision: ratios


def losses(precision: str) -> Ratios:
    """Table 5: points that encryption changes the accuracy by."""
    return {
        name: each.accuracy[precision].encrypted - each.accuracy[precision].integer
        for name, each in BENCHMARKS.items()
    }


def quantised(precision: str) -> Ratios:
    """Table 5: points that quantisation takes."""
    return {
        name: abs(each.floating - each.accuracy[precision].integer)
        for name, each in BENCHMARKS.items()
    }


SHARP, ARK, BTS, CRATERLAKE = (OTHERS[name] for name in ("SHARP", "ARK", "BTS", "CraterLake"))
ONCE: Final = ("-",)
CKKS: Final = [each for each in SOLUTIONS if each.method.startswith("CKKS")]
OWN: Final = next(each for each in SOLUTIONS if each.method == "Athena")


CLAIMS: Final = (
    Claim("abstract", "speed-up over the fastest", 1.5, 2.3, 1, over_fastest),
    Claim("1", "EDP over SHARP's", 2.4, 6.2, 1, lambda p: edp_ratios(SHARP, p)),
    Claim("abstract", "EDAP over SHARP's", 3.8, 9.9, 1, lambda p: edap_ratios(SHARP, p)),
    Claim("5.2.2", "speed-up over CraterLake", 3.8, 6.8, 1, lambda p: speedups(CRATERLAKE, p),
          ("w7a7",)),
    Claim("5.2.2", "speed-up over BTS, LeNet", 40, 40, 0,
          lambda p: speedups(BTS, p, ("LeNet",)), ("w7a7",)),
    Claim("5.2.2", "speed-up over BTS, ResNet-20", 29, 29, 0,
          lambda p: speedups(BTS, p, ("ResNet-20",)), ("w7a7",)),
    Claim("5.2.2", "speed-up over ARK", None, 2.66, 2, lambda p: speedups(ARK, p), ("w7a7",)),
    Claim("5.2.2", "speed-up over SHARP", None, 2.1, 1, lambda p: speedups(SHARP, p), ("w7a7",)),
    Claim("5.3.2", "EDP over SHARP's, without MNIST", 3.8, None, 1,
          lambda p: without_mnist(edp_ratios(SHARP, p))),
    Claim("5.3.2", "EDP over BTS's, without MNIST", 8000, None, 0,
          lambda p: without_mnist(edp_ratios(BTS, p))),
    Claim("(5.3.2)", "EDAP over BTS's, without MNIST", 8000, None, 0,
          lambda p: without_mnist(edap_ratios(BTS, p))),
    Claim("5.5", "area of SHARP", 1.53, 1.53, 2, constant(SHARP=SHARP.mm2 / AREA_MM2), ONCE),
    Claim("5.5", "area of ARK", 3.59, 3.59, 2, constant(ARK=ARK.mm2 / AREA_MM2), ONCE),
    Claim("5.5", "power of ARK", 1.89, 1.89, 2,
          constant(ARK=(ARK.watts or 0) / WATTS), ONCE),
    Claim("1", "scratchpad of SHARP", 4, 4, 0,
          constant(SHARP=SHARP.scratchpad_mb / SCRATCHPAD_MB), ONCE),
    Claim("(1)", "the same with register files", 4, 4, 0,
          constant(SHARP=(SHARP.scratchpad_mb + SHARP.registers_mb)
                   / (SCRATCHPAD_MB + REGISTERS_MB)), ONCE),
    Claim("2.2.1", "sizes under CKKS", 3, 6, 0,
          lambda _: {f"{kind}, {each.log_q} bits": size for each in CKKS for kind, size in
                     (("ciphertexts", each.ciphertext / OWN.ciphertext),
                      ("keys", each.keys / OWN.keys))}, ONCE),
    Claim("abstract", "points that encryption adds", -0.24, 0.01, 2,
          lambda _: {f"{n} {p}": loss for p in PRECISIONS for n, loss in losses(p).items()}, ONCE),
    Claim("5.2.1", "points that quantisation moves", 0.01, 0.07, 2, quantised),
)  # fmt: skip
"""Claims in the order of the table. Sections in brackets: another reading, not a sentence."""


def run(steps: Steps) -> Reproduction:
    """Each claim for each precision: the least and the largest quotient, and whether it holds."""
    steps.start_run()
    rows = [row(claim, precision) for claim in CLAIMS for precision in claim.precisions]
    return Reproduction(
        "Headline ratios, from the paper's own tables", COLUMNS, rows, (*summary(), *NOTES)
    )


def row(claim: Claim, precision: str) -> tuple[Cell, ...]:
    """A claim beside the quotients."""
    found = claim.ratios(precision)
    least, most = (choose(found, key=found.__getitem__) for choose in (min, max))
    return (
        *(claim.section, claim.text, claim.printed, precision),
        *(round(found[least], claim.places + 1), least, round(found[most], claim.places + 1), most),
        *("yes" if claim.holds(found) else "no", "printed"),
    )


def summary() -> tuple[str, ...]:
    """How many claims hold, and at which precision."""
    verdicts = {
        claim: [claim.holds(claim.ratios(precision)) for precision in claim.precisions]
        for claim in CLAIMS
    }
    whole = sum(all(each) for each in verdicts.values())
    never = [claim.text for claim, each in verdicts.items() if not any(each)]
    some = [claim.text for claim, each in verdicts.items() if any(each) and not all(each)]
    return (
        f"Of {len(CLAIMS)} claims and readings {whole} hold at every precision that they may mean. "
        f"At one precision alone: {'; '.join(some)}. At none: {'; '.join(never)}.",
    )


COLUMNS: Final = (
    Column("section", "section"),
    Column("claim", "quotient"),
    Column("printed", "claimed"),
    Column("precision", "bits"),
    Column("least", "least"),
    Column("least_of", "of"),
    Column("most", "most"),
    Column("most_of", "of which"),
    Column("holds", "holds"),
    Column("source", "source"),
)
NOTES: Final = (
    "Source: arithmetic on cells of tables 1 and 5 to 9. A claim holds if the least and the "
    "largest are the printed ends, rounded or cut off at the printed decimals; `up to` looks at "
    "the largest, `at least` at the least. Nothing here is ours.",
    "MNIST w7a7 is 11 / 9.2 = 1.20 times as fast as SHARP, where the abstract has 1.5 at least. "
    "The ends 1.5 and 2.3 are those of w6a7, and so are 2.4 and 6.2.",
    "EDAP: 3.8 and 9.9 would be 2.4 and 6.2 times 1.6, but the areas of table 9 give 1.54. Figure "
    "8 has the same two numbers for something else. Over BTS 8,000 are met with the area alone.",
)
