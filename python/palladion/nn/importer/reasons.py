"""Unsupported operators: the reasons, and the operators to use instead."""

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
    "divides by a deviation that is computed from each input, which is out of reach in this form; "
    "supported are LayerNormalization, InstanceNormalization, RMSNormalization and "
    "LpNormalization over known axes, at a cost of several layers; BatchNormalization, whose "
    "statistics are constants, costs nothing"
)
TRAINING: Final = "belongs to training, a network for inference has none; export it in eval mode"
ORDER: Final = (
    "chooses elements by their values, which an encrypted network can do only after its last "
    "layer: it is supported at the end of a model, where the client computes it"
)
SEQUENCE: Final = "works on lists of tensors, supported are tensors of fixed shapes"
STRINGS: Final = "works on text, supported are numbers"
CATEGORIES: Final = (
    "looks each number up in a list, which an encrypted network cannot do with what it has "
    "computed; the client does it before encryption (on the input itself, before any weights) or "
    "at the end of a model"
)
CONTROL: Final = (
    "runs another graph, as values of the input or the number of inputs decide; supported are "
    "graphs without loops, whose conditions are constants or follow from the shape of one input"
)
BITS: Final = "works on the bits of integers, which tables of real functions cannot"
KERNEL: Final = (
    "needs the distance of each input to support vectors and a product of them; supported are "
    "linear models (for a linear kernel LinearSVC, LinearSVR), multilayer perceptrons and trees"
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
                     "TfIdfVectorizer", "CategoryMapper"), STRINGS),
    **dict.fromkeys(("LabelEncoder", "OneHotEncoder", "OneHot"), CATEGORIES),
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
    "IsNaN": "asks for NaN, which no value behind the first weights may be",
    "IsInf": "asks for infinite numbers, which no value behind the first weights may be",
    "ConstantOfShape": "gives a shape that depends on the input, supported are fixed shapes",
    "EyeLike": "gives a shape that depends on the input, supported are fixed shapes",
}  # fmt: skip
"""Reasons by operator."""

PAGE: Final = "docs/operators.md lists what is"


def reason(kind: str) -> str:
    """The reason why an operator without a handler is refused."""
    return REASONS.get(kind, f"is not supported; {PAGE}")
