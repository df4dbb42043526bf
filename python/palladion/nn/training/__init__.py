"""Quantisation-aware training: a post-training quantised network, trained further in its integers.

Concept: shapes, units, scales, bounds and tables stay as the quantiser chose them; weights and
biases are trained. ``model`` is the integer network as a differentiable function, ``surrogate`` the
derivatives of what has none, ``fit`` the optimiser, ``augment`` what happens to images before.

Needs JAX and Optax: ``pip install 'palladion[train]'``. Nothing else of this package imports it.
"""

from palladion.nn.training.fit import Settings, train
from palladion.nn.training.model import Model

__all__ = ["Model", "Settings", "train"]
