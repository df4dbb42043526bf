"""Operators of QONNX for ONNX's reference implementation, which lacks them."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun

from palladion.nn.expression import ROUNDINGS, quant_range


class Quant(OpRun):
    """Quantise and dequantise."""

    op_domain = "qonnx.custom_op.general"

    def _run(self, x: Any, scale: Any, zero: Any, bits: Any, **attributes: Any) -> Any:
        rounding = ROUNDINGS[str(attributes.get("rounding_mode") or "ROUND").upper()]
        lo, hi = quant_range(float(np.ravel(bits)[0]), bool(attributes.get("signed", 1)),
                             bool(attributes.get("narrow", 0)))  # fmt: skip
        return (((np.clip(rounding(x / scale) + zero, lo, hi) - zero) * scale).astype(x.dtype),)


class BipolarQuant(OpRun):
    """The sign, times a scale."""

    op_domain = "qonnx.custom_op.general"

    def _run(self, x: Any, scale: Any, **_attributes: Any) -> Any:
        return (np.where(x >= 0, scale, -scale).astype(x.dtype),)


OPERATORS = (Quant, BipolarQuant)
