"""How objects of the core are pickled and copied, by ``pickle``, ``copy`` and ``joblib``.

Most travel as their bytes, with the terms or parameters that they were made for. Secret keys do
not: a pickle goes to queues, caches and disks without a word. Who wants that takes the bytes.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable
from typing import Any, Final, NoReturn

from palladion import _native
from palladion.errors import UsageError

Reduction = tuple[Callable[..., Any], tuple[Any, ...]]

ALONE: Final = ("HybridProgram", "Program", "Terms")
"""Classes whose bytes need nothing else."""

OF_TERMS: Final = ("Answer", "EvaluationKeys", "PublicKey", "Query")
"""Classes whose bytes are read with the terms of a program."""

OF_PARAMETERS: Final = (
    "CkksCiphertext",
    "ExactCiphertext",
    "SchemeKeys",
    "SchemePublic",
    "SchemeSwitch",
    "TfheServer",
)
"""Classes whose bytes are read with parameters."""

BATCHES: Final = ("TfheBits", "TfheIntegers", "TfheNumbers")
"""Batches of TFHE, whose bytes also say whether there is a single value."""

PARAMETERS: Final = ("SchemeParams", "TfheParams")
"""Classes of parameters. Their bytes were made by this package, so insecure ones are allowed."""

SECRETS: Final = {
    "Secret": "Secret.save(path) writes it, for its owner alone, and Secret.load(path) reads it",
    "SecretKey": "Client.save(path) writes it, for its owner alone, and Client.load(terms, path) "
    "reads it",
    "SchemeSecret": "send its to_bytes() where it may go; SecretKey.from_bytes(params, data) reads "
    "them",
    "TfheClient": "send its to_bytes() where it may go; ClientKey.from_bytes(params, data) reads "
    "them",
}
"""Classes of secret keys, and how a key gets to another process."""

BOUND: Final = {
    "Circuit": "pickled with its parameters, as the circuit of palladion.circuit that has it",
    "CircuitBuilder": "a circuit that still grows: pickle the circuit itself, or use save and load",
    "MessageCircuit": "pickled with its parameters, as the circuit of palladion.circuit that has "
    "it",
    "MessageBuilder": "a circuit that still grows: pickle the circuit itself, or use save and load",
    "BfvTable": "made again of its entries: bfv.Table(params, entries)",
    "CkksBootstrapper": "made again of its parameters: ckks.Bootstrapper(params)",
    "CkksMatrix": "made again of its rows: ckks.Matrix(params, rows)",
    "CircuitTrace": "made again by the circuit: circuit.lower()",
    "HybridClient": "a connection to a server: connect in the other process",
    "Inspector": "made with a secret key in the process that inspects",
    "Simulation": "made again of its trace and machine",
    "Streams": "made again of their file: palladion.simulation.Streams.load",
    "Trace": "verified text: palladion.Trace has the text, and is pickled",
    "Waves": "made again of its program",
    "WavesOutside": "made again of its program",
    "Workload": "made again of its trace",
}
"""Classes that stay in their process, and the way out."""


def restore(kind: str, *given: Any) -> Any:
    """The object of the core that :func:`reduction` gave the bytes of."""
    if kind not in {*ALONE, *OF_TERMS, *OF_PARAMETERS, *BATCHES, *PARAMETERS}:
        raise UsageError(f"a pickle of {kind}, which palladion does not write")
    found = getattr(_native, kind).from_bytes(*given)
    return found[0] if kind in BATCHES else found


def reduction(value: Any) -> Reduction:
    """How an object of the core is pickled."""
    kind = type(value).__name__
    if kind in ALONE:
        return restore, (kind, value.to_bytes())
    if kind in OF_TERMS:
        return restore, (kind, value.terms(), value.to_bytes())
    if kind in BATCHES:
        return restore, (kind, value.params_of(), value.to_bytes(False))
    if kind in PARAMETERS:
        return restore, (kind, value.to_bytes(), True)
    return restore, (kind, value.params_of(), value.to_bytes())


def of_network(network: _native.IntNetwork) -> Reduction:
    """How a network of the core is pickled."""
    return network_of, (network.to_json(),)


def network_of(text: str) -> _native.IntNetwork:
    """The network that :func:`of_network` gave the text of."""
    return _native.IntNetwork.from_json(text)


def refuse_secret(value: Any) -> NoReturn:
    """Refuse to pickle a secret key.

    Raises
    ------
    UsageError
        The message has the way out.
    """
    raise UsageError("a secret key is not pickled, since a pickle goes to queues, caches and "
                     f"disks without a word: {SECRETS[type(value).__name__]}")  # fmt: skip


def refuse_bound(value: Any) -> NoReturn:
    """Refuse to pickle an object that stays in its process.

    Raises
    ------
    UsageError
        The message has the way out.
    """
    name = type(value).__name__
    raise UsageError(f"a {name} is not pickled: it is {BOUND[name]}")


def register() -> None:
    """Tell ``pickle`` and ``copy`` of the classes of the core."""
    for kind in (*ALONE, *OF_TERMS, *OF_PARAMETERS, *BATCHES, *PARAMETERS):
        copyreg.pickle(getattr(_native, kind), reduction)
    for kind in SECRETS:
        copyreg.pickle(getattr(_native, kind), refuse_secret)
    for kind in BOUND:
        copyreg.pickle(getattr(_native, kind), refuse_bound)
    copyreg.pickle(_native.IntNetwork, of_network)
