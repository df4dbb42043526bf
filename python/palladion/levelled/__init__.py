"""The levelled mode: networks of linear layers and polynomials, for thousands of inputs at once.

A run has no tables and no bootstrapping, so it is far faster than an exact one, and its keys are
small. Results have errors, as those of floating point have. ``docs/levelled.md`` has an example.
"""

from palladion.levelled.affine_stages import is_polynomial
from palladion.levelled.levelled_client import LevelledClient
from palladion.levelled.levelled_program import LevelledModel, LevelledPrecision, LevelledProgram
from palladion.levelled.queries import LevelledAnswer, LevelledQuery
from palladion.levelled.terms import LevelledTerms

__all__ = [
    "LevelledAnswer",
    "LevelledClient",
    "LevelledModel",
    "LevelledPrecision",
    "LevelledProgram",
    "LevelledQuery",
    "LevelledTerms",
    "is_polynomial",
]
