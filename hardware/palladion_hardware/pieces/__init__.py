"""Pieces that units share: multipliers modulo q, butterflies, transpositions, permutations."""
