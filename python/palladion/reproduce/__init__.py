"""Tables and figures of papers, computed again and shown beside the printed values.

A paper is a :class:`Paper` of items. An item is a function that returns a :class:`Reproduction`,
which the command prints and writes. ``docs/reproduction/`` has the results.
"""

from palladion.reproduce.athena import ATHENA
from palladion.reproduce.athena_tfhe import ATHENA_TFHE
from palladion.reproduce.cross import CROSS
from palladion.reproduce.f1 import F1
from palladion.reproduce.hyena import HYENA
from palladion.reproduce.reproduction import Item, Paper, Reproduction

__all__ = ["PAPERS", "Item", "Paper", "Reproduction"]

PAPERS = {
    "athena": ATHENA,
    "athena-tfhe": ATHENA_TFHE,
    "cross": CROSS,
    "f1": F1,
    "hyena": HYENA,
}
