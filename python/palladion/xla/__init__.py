"""Programs on GPUs, TPUs and CPUs, through JAX.

Importing this package switches JAX to 64-bit words, for the whole process: kernels need them. It
needs the extra ``xla``::

    pip install palladion[xla]
"""

from __future__ import annotations

from palladion.errors import UsageError

try:
    import jax
except ImportError as error:
    raise UsageError(
        "JAX is not installed, expected it for the target xla: pip install 'palladion[xla]'"
    ) from error

jax.config.update("jax_enable_x64", True)

from palladion.xla.device import chosen_device  # noqa: E402
from palladion.xla.executor import Executor  # noqa: E402
from palladion.xla.plan import Plan  # noqa: E402
from palladion.xla.run import Run  # noqa: E402

__all__ = ["Executor", "Plan", "Run", "chosen_device"]
