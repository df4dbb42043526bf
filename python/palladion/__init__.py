"""Palladion: neural networks on data that they cannot see.

The client encrypts, the server computes on ciphertexts, the client decrypts::

    import palladion

    model = palladion.Model.from_onnx("model.onnx", calibrate=x_train)
    program = model.compile(batch=8)
    client = program.client()
    keys = client.keys()
    y = client.decrypt(program.run(keys, client.encrypt(x_test[:8])))
    y.classes, y.outputs

``docs/python.md`` shows the whole on one page. One floor below are integer networks
(:class:`IntNetwork`), of which :meth:`CompiledModel.of_network` makes programs. The schemes
themselves are :mod:`palladion.ckks`, :mod:`palladion.bfv`, :mod:`palladion.bgv` and
:mod:`palladion.tfhe`. :mod:`palladion.circuit` describes a computation of any of them once, and
:func:`simulate` runs it on an accelerator.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from palladion._native import (
    EvaluationKeys,
    PublicKey,
    Query,
    Terms,
    __version__,
    info,
    key_memory,
    machine_factors,
    set_key_memory,
    set_threads,
)
from palladion.errors import (
    BudgetError,
    DataError,
    ExpiredError,
    FormatError,
    ImageError,
    InputWarning,
    InternalError,
    KeyMismatch,
    LevelError,
    LinkError,
    MismatchError,
    MissingKeyError,
    NetworkError,
    NoiseError,
    OverflowWarning,
    PalladionError,
    SealError,
    SecurityError,
    StoppedError,
    UsageError,
)
from palladion.support.build import COMMIT
from palladion.support.copies import register

if TYPE_CHECKING:
    from palladion import bfv, bgv, circuit, ckks, tfhe
    from palladion.client import Client
    from palladion.data.digits import Sample, mnist_network, mnist_plain, mnist_sample
    from palladion.deployment import CompiledModel
    from palladion.encryption import Encryptor
    from palladion.facts import ClientFacts, Costs, Facts
    from palladion.hybrid import HybridClient, HybridModel, Link
    from palladion.key_files import KeyFile
    from palladion.machines import Machine
    from palladion.model import Model
    from palladion.nn.ends.prediction import Prediction
    from palladion.nn.floats.plain import PlainNetwork
    from palladion.nn.integers.network import IntNetwork
    from palladion.remote.asynchronous import connect_async
    from palladion.remote.service import Service, connect
    from palladion.remote.session import ServiceError
    from palladion.runs import Answer, RunReport
    from palladion.search import SearchIndex
    from palladion.secret import Secret
    from palladion.simulation import Simulation, simulate
    from palladion.targets import Target
    from palladion.traces import Trace

__all__ = [
    "Answer",
    "BudgetError",
    "Client",
    "ClientFacts",
    "CompiledModel",
    "Costs",
    "DataError",
    "Encryptor",
    "EvaluationKeys",
    "ExpiredError",
    "Facts",
    "FormatError",
    "HybridClient",
    "HybridModel",
    "ImageError",
    "InputWarning",
    "IntNetwork",
    "InternalError",
    "KeyFile",
    "KeyMismatch",
    "LevelError",
    "Link",
    "LinkError",
    "Machine",
    "MismatchError",
    "MissingKeyError",
    "Model",
    "NetworkError",
    "NoiseError",
    "OverflowWarning",
    "PalladionError",
    "PlainNetwork",
    "Prediction",
    "PublicKey",
    "Query",
    "RunReport",
    "Sample",
    "SealError",
    "SearchIndex",
    "Secret",
    "SecurityError",
    "Service",
    "ServiceError",
    "Simulation",
    "StoppedError",
    "Target",
    "Terms",
    "Trace",
    "UsageError",
    "__commit__",
    "__version__",
    "bfv",
    "bgv",
    "circuit",
    "ckks",
    "connect",
    "connect_async",
    "info",
    "key_memory",
    "machine_factors",
    "mnist_network",
    "mnist_plain",
    "mnist_sample",
    "set_key_memory",
    "set_threads",
    "simulate",
    "tfhe",
]

register()

__commit__: Final = COMMIT

LATER: Final = {
    "Answer": "runs",
    "Client": "client",
    "ClientFacts": "facts",
    "CompiledModel": "deployment",
    "Costs": "facts",
    "Encryptor": "encryption",
    "Facts": "facts",
    "HybridClient": "hybrid",
    "HybridModel": "hybrid",
    "IntNetwork": "nn.integers.network",
    "KeyFile": "key_files",
    "Link": "hybrid",
    "Machine": "machines",
    "Model": "model",
    "PlainNetwork": "nn.floats.plain",
    "Prediction": "nn.ends.prediction",
    "RunReport": "runs",
    "Sample": "data.digits",
    "SearchIndex": "search",
    "Secret": "secret",
    "Service": "remote.service",
    "ServiceError": "remote.session",
    "Simulation": "simulation",
    "Target": "targets",
    "Trace": "traces",
    "connect": "remote.service",
    "connect_async": "remote.asynchronous",
    "mnist_network": "data.digits",
    "mnist_plain": "data.digits",
    "mnist_sample": "data.digits",
    "simulate": "simulation",
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
