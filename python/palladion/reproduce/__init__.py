"""Tables and figures of papers, computed again beside what the papers print.

A paper is a :class:`Paper` of items; an item is a function that gives a :class:`Reproduction`,
which the command prints and writes. ``docs/reproduction.md`` says what came out.
"""

from palladion.reproduce.athena import ATHENA
from palladion.reproduce.athena_tfhe import ATHENA_TFHE
from palladion.reproduce.f1 import F1
from palladion.reproduce.reproduction import Item, Paper, Reproduction

__all__ = ["PAPERS", "Item", "Paper", "Reproduction"]

PAPERS = {"athena": ATHENA, "athena-tfhe": ATHENA_TFHE, "f1": F1}
