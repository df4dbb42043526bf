"""Palladion: neural networks on data that they cannot see.

The client encrypts, the server computes on ciphertexts, the client decrypts::

    import palladion

    model = palladion.Model.from_onnx("model.onnx", calibrate=x_train)
    program = model.compile(batch=8)
    client = program.client()
    keys = client.keys()
    y = client.decrypt(program.run(keys, client.encrypt(x_test[:8])))
    y.classes, y.outputs

One floor below are integer networks (:class:`IntNetwork`), programs (:func:`compile_network`,
:class:`Program`) and keys (:func:`keygen`), which take and return integers. The schemes themselves
are :mod:`palladion.ckks`, :mod:`palladion.bfv`, :mod:`palladion.bgv` and :mod:`palladion.tfhe`.
:mod:`palladion.circuit` describes a computation of any of them once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from palladion._native import (
    Answer,
    EvaluationKeys,
    Program,
    Query,
    SecretKey,
    Terms,
    Trace,
    __version__,
    compile_with_choices,
    info,
    keygen,
    machine_factors,
    set_threads,
)
from palladion._native import compile as compile_network
from palladion.copies import register
from palladion.errors import (
    BudgetError,
    DataError,
    FormatError,
    ImageError,
    InputWarning,
    InternalError,
    KeyMismatch,
    LevelError,
    MissingKeyError,
    NetworkError,
    NoiseError,
    OverflowWarning,
    PalladionError,
    SecurityError,
    StoppedError,
    UsageError,
)

if TYPE_CHECKING:
    from palladion import bfv, bgv, circuit, ckks, tfhe
    from palladion.deployment import Client, CompiledModel
    from palladion.model import Model
    from palladion.nn.network import IntNetwork
    from palladion.nn.plain import PlainNetwork
    from palladion.nn.prediction import Prediction
    from palladion.packaged import Sample, mnist_network, mnist_plain, mnist_sample

__all__ = [
    "Answer",
    "BudgetError",
    "Client",
    "CompiledModel",
    "DataError",
    "EvaluationKeys",
    "FormatError",
    "ImageError",
    "InputWarning",
    "IntNetwork",
    "InternalError",
    "KeyMismatch",
    "LevelError",
    "MissingKeyError",
    "Model",
    "NetworkError",
    "NoiseError",
    "OverflowWarning",
    "PalladionError",
    "PlainNetwork",
    "Prediction",
    "Program",
    "Query",
    "Sample",
    "SecretKey",
    "SecurityError",
    "StoppedError",
    "Terms",
    "Trace",
    "UsageError",
    "__version__",
    "bfv",
    "bgv",
    "circuit",
    "ckks",
    "compile_network",
    "compile_with_choices",
    "info",
    "keygen",
    "machine_factors",
    "mnist_network",
    "mnist_plain",
    "mnist_sample",
    "set_threads",
    "tfhe",
]

register()

LATER: Final = {
    "Client": "deployment",
    "CompiledModel": "deployment",
    "IntNetwork": "nn.network",
    "Model": "model",
    "PlainNetwork": "nn.plain",
    "Prediction": "nn.prediction",
    "Sample": "packaged",
    "mnist_network": "packaged",
    "mnist_plain": "packaged",
    "mnist_sample": "packaged",
}
"""Names whose modules are imported at first use: importing numpy takes longer than a command."""

MODULES: Final = {"bfv", "bgv", "circuit", "ckks", "tfhe"}


if not TYPE_CHECKING:  # a checker would accept any name

    def __getattr__(name: str) -> Any:
        if name in MODULES:
            return import_module(f"palladion.{name}")
        if name not in LATER:
            raise AttributeError(f"module 'palladion' has no attribute {name!r}")
        found = getattr(import_module(f"palladion.{LATER[name]}"), name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
