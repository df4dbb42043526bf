"""Pieces that units share: multipliers modulo q, butterflies, permutations, ChaCha20."""
