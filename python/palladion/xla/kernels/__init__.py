"""Kernels: operations on rows of words that XLA compiles.

A row is the ``N`` residues of one limb, words of 32 bits modulo a prime between 2^16 and 2^32.
Kernels take rows ``u32[B, N]`` and for each row the index of its prime, and are exact. Each concept
has a file: ``kernel`` defines kernels, ``words`` and ``roots`` are the arithmetic beneath,
``modular``, ``bat``, ``permute``, ``round`` and ``digit`` are kernels, and ``butterflies``,
``constant_geometry`` and ``mat`` are transforms. ``choice`` knows every variant of every kernel and
which one a device takes."""
