"""Palladion: neural networks on data that they cannot see.

The client encrypts, the server computes blind, the client decrypts::

    import palladion

    network = palladion.mnist_network()
    program = palladion.compile(network.to_json(), batch=1)
    secret, keys = palladion.keygen(program)
    query = secret.encrypt(network.inputs_of_pixels(images).tolist())
    answer, report = program.run(keys, query)
    logits, margin = secret.decrypt(answer, query)

The schemes themselves are :mod:`palladion.ckks`, :mod:`palladion.bfv`, :mod:`palladion.bgv` and
:mod:`palladion.tfhe`.
"""

from __future__ import annotations

from palladion import bfv, bgv, ckks, tfhe
from palladion._native import (
    Answer,
    EvaluationKeys,
    Program,
    Query,
    SecretKey,
    __version__,
    compile,
    compile_with_choices,
    info,
    keygen,
    machine_factor,
    set_threads,
)
from palladion.errors import (
    BudgetError,
    DataError,
    FormatError,
    ImageError,
    InputWarning,
    InternalError,
    LevelError,
    MissingKeyError,
    NetworkError,
    NoiseError,
    PalladionError,
    SecurityError,
    StoppedError,
    UsageError,
)
from palladion.nn.network import IntNetwork
from palladion.nn.plain import PlainNetwork
from palladion.packaged import Sample, mnist_network, mnist_plain, mnist_sample

__all__ = [
    "Answer",
    "BudgetError",
    "DataError",
    "EvaluationKeys",
    "FormatError",
    "ImageError",
    "InputWarning",
    "IntNetwork",
    "InternalError",
    "LevelError",
    "MissingKeyError",
    "NetworkError",
    "NoiseError",
    "PalladionError",
    "PlainNetwork",
    "Program",
    "Query",
    "Sample",
    "SecretKey",
    "SecurityError",
    "StoppedError",
    "UsageError",
    "__version__",
    "bfv",
    "bgv",
    "ckks",
    "compile",
    "compile_with_choices",
    "info",
    "keygen",
    "machine_factor",
    "mnist_network",
    "mnist_plain",
    "mnist_sample",
    "set_threads",
    "tfhe",
]
