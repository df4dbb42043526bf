"""Operators of QONNX for ONNX's reference implementation, which lacks them."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun

from palladion.nn.expression import ROUNDINGS, SAME, quant_range


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


OPERATORS = (Quant, BipolarQuant)
