"""Reading files of ONNX models, with messages about other kinds of files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import onnx
from google.protobuf.message import DecodeError
from onnx import TensorProto

from palladion.errors import DataError, NetworkError, UsageError
from palladion.support import files

FAULTS: Final = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError,
                 RuntimeError, ArithmeticError, NotImplementedError, MemoryError)  # fmt: skip
"""Exceptions that libraries raise for a damaged model."""

WAYS_OUT: Final = {
    files.STARTS[b"{"]: "an integer network is quantised already, give it to `palladion compile`",
    files.STARTS[b"PK"]: "torch.onnx.export, or Model.from_torch, makes one of a torch module",
    files.STARTS[b"\x89HDF"]: "tf2onnx makes one of a Keras model",
    files.STARTS[b"\x80"]: "skl2onnx, or Model.from_sklearn, makes one of a fitted estimator",
    files.STARTS[b"version https://git-lfs"]: "`git lfs pull` fetches the file itself",
    files.OURS[b"PROG"][0]: "a program is compiled already, give it to `palladion keygen`",
}
"""For files of other kinds: their origin, and the way out, as the message says it."""


def as_proto(model: bytes | onnx.ModelProto) -> onnx.ModelProto:
    """A model from its bytes. A ``ModelProto`` is returned unchanged.

    Raises
    ------
    NetworkError
        If the bytes are no ONNX model.
    UsageError
        If it is something else.
    """
    if isinstance(model, bytes | bytearray):
        return parse(bytes(model), "the model")
    if isinstance(model, onnx.ModelProto):
        return model
    makers = {made.__module__.partition(".")[0] for made in type(model).__mro__}
    other = next((f": Model.from_{name} takes it" for name in ("torch", "sklearn")
                  if name in makers), "")  # fmt: skip
    raise UsageError(f"a model of type {type(model).__name__}, expected the path of an ONNX file, "
                     f"its bytes, or a ModelProto{other}")  # fmt: skip


def read(path: str | os.PathLike[str]) -> onnx.ModelProto:
    """The model in a file, including weights in files beside it.

    Raises
    ------
    NetworkError
        If the file is not an ONNX model. The message has its kind and the remedy.
    """
    path = Path(path)
    if not path.exists():
        raise NetworkError(f"{path} is missing, expected an ONNX model")
    if path.is_dir():
        raise NetworkError(f"cannot read {path}: it is a folder, expected the ONNX file itself")
    try:
        data = files.read(path)
    except DataError as error:
        raise NetworkError(str(error)) from error
    model = parse(data, str(path))
    for tensor in model.graph.initializer:
        if tensor.data_location != TensorProto.EXTERNAL:
            continue
        name = {entry.key: entry.value for entry in tensor.external_data}.get("location", "")
        if not (path.parent / name).is_file():
            raise NetworkError(f"{path}: its weights are in the file {name}, which is missing: it "
                               f"must lie beside the model, in {path.parent.absolute()}; or save "
                               "the model in one file")  # fmt: skip
    try:
        onnx.load_external_data_for_model(model, str(path.parent))
    except (*FAULTS, OSError, onnx.checker.ValidationError) as error:
        raise NetworkError(f"{path}: its weights cannot be read: {first_line(error)}") from error
    return model


def parse(data: bytes, name: str) -> onnx.ModelProto:
    """The model in the bytes of a file called ``name``. Raises as :func:`read`."""
    try:
        model = onnx.load_model_from_string(data)
    except (DecodeError, *FAULTS) as error:
        cause: Exception | None = error
    else:
        cause = None
        if model.ir_version:
            return model
    found = files.kind(data)
    if found is not None:
        way_out = WAYS_OUT.get(found, "export the model again")
        raise NetworkError(f"{name} is {found}, expected an ONNX model: {way_out}") from cause
    raise NetworkError(f"{name} is no ONNX model, or only a part of one ({len(data)} bytes): "
                       "export or download it again") from cause  # fmt: skip


def first_line(error: BaseException) -> str:
    """The message of another library's error, in one line."""
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0] if text else ''}"
