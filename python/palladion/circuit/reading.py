"""Reading a circuit."""

from __future__ import annotations

from pathlib import Path
from typing import overload

from palladion import _native, tfhe
from palladion.circuit.tfhe_written import TfheWritten
from palladion.circuit.written import Params, Written
from palladion.errors import FormatError
from palladion.support.files import read


@overload
def load(path: str | Path, params: Params) -> Written: ...
@overload
def load(path: str | Path, params: tfhe.Params) -> TfheWritten: ...
def load(path: str | Path, params: Params | tfhe.Params) -> Written | TfheWritten:
    """Read a circuit that :meth:`Written.save` or :meth:`TfheWritten.save` wrote.

    Raises
    ------
    DataError
        If the file cannot be read; ``FormatError`` if it holds no circuit or a damaged one.
    UsageError
        If the circuit was made for other parameters, or for TFHE, for another layout.
    """
    try:
        text = read(Path(path)).decode()
    except UnicodeDecodeError:
        raise FormatError(f"{path}: bytes that are no text, expected a circuit") from None
    if isinstance(params, tfhe.Params):
        return TfheWritten(params, _native.MessageCircuit.from_json(params.native, text))
    return Written(params, _native.Circuit.from_json(params.native, text))
