"""Quantisation-aware training: a quantised network is trained further in its integers.

Concept: shapes, units, scales, bounds and tables stay as the quantiser chose them. Weights and
biases are trained. ``model`` is the integer network as a differentiable function, ``surrogate`` the
derivatives of functions that have none, ``fit`` the optimiser, ``augment`` the changes of images.
``squares`` trains a float graph with squares in the place of ReLUs, before it is quantised.

Needs JAX and Optax: ``pip install 'palladion[train]'``. No other part of this package imports it.
"""

from palladion.nn.training.fit import Settings, train
from palladion.nn.training.model import Model
from palladion.nn.training.squares import with_squares

__all__ = ["Model", "Settings", "train", "with_squares"]
