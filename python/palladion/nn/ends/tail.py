"""The tail of a model: the part after its last linear map, which the client computes.

Examples are a softmax, the name of a class, and another shape of an output. None of these needs a
server. The tail is a small ONNX model. Its input is the real numbers that the network gives, and
its outputs are the model's outputs. ONNX's reference implementation evaluates the tail after
decryption. Where ONNX is not installed, :mod:`palladion.nn.ends.end_functions` does.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from palladion.errors import NetworkError, UsageError
from palladion.nn.ends.end_functions import evaluate, lacking
from palladion.nn.ends.small_onnx import TYPES, SmallModel, read_model
from palladion.support.extras import missing

if TYPE_CHECKING:  # slow imports, and few models have a tail
    import onnx
    from onnx.reference import ReferenceEvaluator

Array = npt.NDArray[Any]

INPUT: Final = "palladion.logits"
"""Name of the tail's input."""

HEADS: Final = "palladion.heads"
"""Name of the tensor of all heads of a model. Constants that take it apart begin with it."""

MAX_BYTES: Final = 1 << 20

FUNCTIONS: Final = {
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BipolarQuant", "Cast", "CastLike",
    "Ceil", "Celu", "Clip", "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid",
    "HardSwish", "Hardmax", "IsInf", "IsNaN", "LayerNormalization", "LeakyRelu", "Log",
    "LogSoftmax", "Mish", "Neg", "Not", "PRelu", "Quant", "QuantizeLinear", "DequantizeLinear",
    "Reciprocal", "Relu", "Round",
    "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Softmax", "Softplus", "Softsign", "Sqrt",
    "Swish", "Tan", "Tanh", "ThresholdedRelu",
}  # fmt: skip
"""Functions of each number, or of the numbers along an axis."""

ARITHMETIC: Final = {
    "Add", "And", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Mean",
    "Min", "Mod", "Mul", "Or", "Pow", "Sub", "Sum", "Where", "Xor",
}  # fmt: skip
"""Functions of several numbers at the same place."""

MOVES: Final = {
    "Concat", "Dropout", "Expand", "Flatten", "Gather", "GatherElements", "Identity", "Reshape",
    "Shape", "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze",
}  # fmt: skip

REDUCTIONS: Final = {
    "ArgMax", "ArgMin", "LpNormalization", "ReduceL1", "ReduceL2", "ReduceLogSum",
    "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum",
    "ReduceSumSquare", "TopK",
}  # fmt: skip

LEARNING: Final = {"ArrayFeatureExtractor", "Binarizer", "LabelEncoder", "Normalizer"}
"""Operators of the domain ai.onnx.ml."""

ALLOWED: Final = {
    *FUNCTIONS, *ARITHMETIC, *MOVES, *REDUCTIONS, *LEARNING, "Constant", "ConstantOfShape",
}  # fmt: skip
"""The operators that a tail may contain: no loops, and none with huge outputs for small inputs."""


@dataclass(frozen=True)
class Tail:
    """The functions of a model's last real numbers. Without a model, the numbers themselves.

    ``batched`` is true if several inputs may be evaluated at once. Otherwise they go one by one.
    """

    model: bytes = b""
    batched: bool = True

    WHAT: ClassVar[str] = "the end of the model"
    WHERE: ClassVar[str] = "from its last linear map on"
    INPUT: ClassVar[str] = INPUT
    ALLOWED: ClassVar[frozenset[str]] = frozenset(ALLOWED)

    def run(self, real: Array) -> dict[str, Array]:
        """The model's outputs by name, for real numbers of shape (N, ...).

        Raises
        ------
        NetworkError
            If the functions cannot be computed.
        """
        kind = self.input_type
        parts = [real] if self.batched else [real[i : i + 1] for i in range(len(real))]
        found: dict[str, list[Array]] = {}
        try:
            with np.errstate(all="ignore"):
                for part in parts:
                    given = {self.INPUT: part.astype(kind)}
                    for name, value in zip(self.names, self._compute(given), strict=True):
                        found.setdefault(name, []).append(np.asarray(value))
        except UsageError:
            raise
        except Exception as error:  # any error of ONNX's reference implementation
            raise NetworkError(f"{self.WHAT}, {self.WHERE}, cannot be computed: "
                               f"{type(error).__name__}: {error}") from error  # fmt: skip
        return {name: np.concatenate(values) for name, values in found.items()}

    def _compute(self, given: dict[str, Array]) -> list[Any]:
        """The outputs by ONNX's reference implementation, or without it if ONNX is not installed.

        Raises
        ------
        UsageError
            If an operator needs ONNX, and it is not installed.
        """
        try:
            return list(self._evaluator.run(None, given))
        except ModuleNotFoundError as error:
            if names := lacking(self.small):
                use = f"{self.WHAT}, {self.WHERE}, with {', '.join(sorted(names))}"
                raise missing(error, use, "onnx") from error
        return evaluate(self.small, given[self.INPUT])

    def __getstate__(self) -> dict[str, Any]:
        """The state to pickle and copy. It has the model's bytes, but not ONNX's evaluator."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}

    @cached_property
    def proto(self) -> onnx.ModelProto:
        """The model, checked, for ONNX."""
        import onnx

        self.small  # noqa: B018 # which checks it
        return onnx.load_from_string(self.model)

    @cached_property
    def small(self) -> SmallModel:
        """The model, checked.

        Raises
        ------
        NetworkError
            If it is not a model, or contains an operator that no tail may have.
        """
        if len(self.model) > MAX_BYTES:
            raise NetworkError(f"{self.WHAT} has {len(self.model)} bytes, expected at "
                               f"most {MAX_BYTES}")  # fmt: skip
        try:
            model = read_model(self.model)
        except ValueError as error:
            raise NetworkError(f"{self.WHAT} is no ONNX model: {error}") from error
        strange, inputs = {node.op_type for node in model.nodes} - self.ALLOWED, [*model.inputs]
        if (
            strange
            or inputs != [self.INPUT]
            or model.has_functions
            or model.input_type not in TYPES
        ):
            raise NetworkError(f"{self.WHAT} has operators {sorted(strange)} and inputs "
                               f"{inputs}, expected functions of {self.INPUT}")  # fmt: skip
        sizes = {name for node in model.nodes if node.op_type == "Shape"
                 for name in node.output}  # fmt: skip
        for node in model.nodes:
            if node.op_type == "Expand" and node.input[1] not in sizes:
                raise NetworkError(f"{self.WHAT} has an Expand to {node.input[1]}, expected the "
                                   "shape of another tensor")  # fmt: skip
        return model

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the model's outputs."""
        return self.small.outputs

    @property
    def input_type(self) -> np.dtype[Any]:
        """The model's type for its real numbers."""
        kind: np.dtype[Any] = np.dtype(TYPES[self.small.input_type])
        return kind

    def is_probability(self, output: str) -> bool:
        """True if an output is the output of a Sigmoid, possibly in another shape."""
        if not self.model:
            return False
        makers = {name: node for node in self.small.nodes for name in node.output}
        name = output
        while name in makers and makers[name].op_type in MOVES:
            name = makers[name].input[0]
        return name in makers and makers[name].op_type in {"Sigmoid", "HardSigmoid"}

    def head_of(self, output: str) -> npt.NDArray[np.int64] | None:
        """Which of the tail's numbers an output depends on, if the model has several heads."""
        if not self.model:
            return None
        makers = {name: node for node in self.small.nodes for name in node.output}
        name: str | None = output
        while name is not None and name in makers:
            given = makers[name].input
            for constant, places in self.small.constants.items():
                if constant.startswith(HEADS) and given == (INPUT, constant):
                    return np.asarray(places, dtype=np.int64)
            name = next((part for part in given if part in makers), None)
        return None

    @cached_property
    def _evaluator(self) -> ReferenceEvaluator:
        from onnx.reference import ReferenceEvaluator

        from palladion.nn.ends.tail_operators import FORMER, OPERATORS

        own = [
            entry.version for entry in self.proto.opset_import if entry.domain in ("", "ai.onnx")
        ]
        former = FORMER if max(own, default=1) < 19 else ()
        return ReferenceEvaluator(self.proto, new_ops=[*OPERATORS, *former])
