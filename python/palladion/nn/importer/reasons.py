"""Unsupported operators: why they are not supported, and what to use instead."""

from __future__ import annotations

from typing import Final

ATTENTION: Final = (
    "multiplies matrices that both depend on the input, as attention does: products of encrypted "
    "matrices are out of reach"
)
RECURRENCE: Final = (
    "feeds its output back step after step: recurrence is out of reach, since each step would need "
    "tables and products of its own; use one-dimensional convolutions over time (Conv)"
)
NORMALISATION: Final = (
    "divides by a deviation that is computed from each input, and the quotient of two encrypted "
    "values is out of reach; use BatchNormalization, whose statistics are constants"
)
TRAINING: Final = "belongs to training, a network for inference has none; export it in eval mode"
ORDER: Final = (
    "chooses elements by their values, which an encrypted network can do only after its last "
    "layer: it is supported at the end of a model, where the client computes it"
)
SEQUENCE: Final = "works on lists of tensors, supported are tensors of fixed shapes"
STRINGS: Final = "works on text, supported are numbers"
CONTROL: Final = (
    "runs other graphs depending on values, supported are graphs without conditions and loops; "
    "simplify the model with its input shape fixed (onnxsim), which removes conditions on shapes"
)
BITS: Final = "works on the bits of integers, which tables of real functions cannot"
KERNEL: Final = (
    "needs the distance of each input to support vectors and a product of them; supported are "
    "linear models, multilayer perceptrons and trees"
)
SAMPLING: Final = "takes elements at places that depend on values, supported are constant places"
RANDOM: Final = "gives random numbers, a network for inference is a function of its input"
INTEGERS: Final = (
    "computes with integers and scales of its own; export the model in QDQ form, with "
    "QuantizeLinear and DequantizeLinear around operators on floats"
)
SIGNAL: Final = "is a transform of signals; compute features before encryption"

REASONS: Final[dict[str, str]] = {
    **dict.fromkeys(("Attention", "FlexAttention", "LinearAttention", "RotaryEmbedding",
                     "MultiHeadAttention", "TensorScatter"), ATTENTION),
    **dict.fromkeys(("LSTM", "GRU", "RNN", "CausalConvWithState"), RECURRENCE),
    **dict.fromkeys(("LayerNormalization", "InstanceNormalization", "GroupNormalization", "LRN",
                     "LpNormalization", "MeanVarianceNormalization", "RMSNormalization",
                     "SimplifiedLayerNormalization", "SkipLayerNormalization", "Normalizer"),
                    NORMALISATION),
    **dict.fromkeys(("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", "Adam", "Adagrad",
                     "Momentum", "Gradient"), TRAINING),
    **dict.fromkeys(("ArgMax", "ArgMin", "TopK", "Hardmax", "NonZero", "NonMaxSuppression",
                     "Unique"), ORDER),
    **dict.fromkeys(("SequenceConstruct", "SequenceEmpty", "SequenceInsert", "SequenceErase",
                     "SequenceAt", "SequenceLength", "SequenceMap", "SplitToSequence",
                     "ConcatFromSequence", "Optional", "OptionalGetElement", "OptionalHasElement",
                     "ZipMap", "DictVectorizer"), SEQUENCE),
    **dict.fromkeys(("StringNormalizer", "StringConcat", "StringSplit", "RegexFullMatch",
                     "TfIdfVectorizer", "LabelEncoder", "CategoryMapper"), STRINGS),
    **dict.fromkeys(("If", "Loop", "Scan"), CONTROL),
    **dict.fromkeys(("BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot"), BITS),
    **dict.fromkeys(("SVMClassifier", "SVMRegressor"), KERNEL),
    **dict.fromkeys(("GridSample", "RoiAlign", "MaxRoiPool", "DeformConv", "ScatterElements",
                     "ScatterND", "Scatter", "MaxUnpool", "AffineGrid"), SAMPLING),
    **dict.fromkeys(("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
                     "Bernoulli", "Multinomial"), RANDOM),
    **dict.fromkeys(("QLinearConv", "QLinearMatMul", "ConvInteger", "MatMulInteger",
                     "DynamicQuantizeLinear"), INTEGERS),
    **dict.fromkeys(("DFT", "STFT", "MelWeightMatrix", "HannWindow", "HammingWindow",
                     "BlackmanWindow"), SIGNAL),
    "ReduceProd": "multiplies many values that depend on the input, supported is Mul of two",
    "CumProd": "multiplies many values that depend on the input, supported is Mul of two",
    "Det": "multiplies many values that depend on the input, supported is Mul of two",
    "Einsum": "is not read; write it as MatMul with a constant, Mul and ReduceSum",
    "IsNaN": "asks for NaN, which no input of a network may have",
    "IsInf": "asks for infinite numbers, which no input of a network may have",
    "ConstantOfShape": "gives a shape that depends on the input, supported are fixed shapes",
    "OneHot": "makes a vector of each integer; make it before encryption",
    "EyeLike": "gives a shape that depends on the input, supported are fixed shapes",
}  # fmt: skip
"""Reasons by operator."""

PAGE: Final = "docs/operators.md lists what is"


def reason(kind: str) -> str:
    """The reason why an operator without a handler is refused."""
    return REASONS.get(kind, f"is not supported; {PAGE}")
