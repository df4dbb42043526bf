"""Operators that ONNX's reference implementation lacks."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun

from palladion.nn.floats.expression import ROUNDINGS, SAME, quant_range


class Quant(OpRun):
    """Quantise and dequantise."""

    op_domain = "qonnx.custom_op.general"

    def _run(self, x: Any, scale: Any, zero: Any, bits: Any, **attributes: Any) -> Any:
        mode = str(attributes.get("rounding_mode") or "ROUND").upper()
        rounding = ROUNDINGS[SAME.get(mode, mode)]
        lo, hi = quant_range(float(np.ravel(bits)[0]), bool(attributes.get("signed", 1)),
                             bool(attributes.get("narrow", 0)))  # fmt: skip
        whole = x / scale + zero
        if (lo, hi) == (-1, 0):  # one signed bit is a sign
            whole = np.where(whole >= 0, 1, -1)
        else:
            whole = np.clip(rounding(whole), lo, hi)
        return (((whole - zero) * scale).astype(x.dtype),)


class BipolarQuant(OpRun):
    """The sign, times a scale."""

    op_domain = "qonnx.custom_op.general"

    def _run(self, x: Any, scale: Any, **_attributes: Any) -> Any:
        return (np.where(x >= 0, scale, -scale).astype(x.dtype),)


class DequantizeLinear(OpRun):
    """``(q - zero) * scale``, with one scale and zero for all or one per entry of an axis."""

    op_domain = ""

    def _run(self, x: Any, scale: Any, zero: Any = None, axis: Any = None, **_: Any) -> Any:
        sides = [1] * x.ndim
        if np.size(scale) > 1:
            sides[1 if axis is None else axis] = -1
        whole = x.astype(np.float32)
        if zero is not None:
            whole = whole - np.reshape(zero, sides if np.size(zero) > 1 else ()).astype(np.float32)
        return (whole * np.reshape(scale, sides if np.size(scale) > 1 else ()),)


OPERATORS = (Quant, BipolarQuant)
FORMER = (DequantizeLinear,)
"""ONNX's own operators before opset 19. The reference implementation has the later ones."""
