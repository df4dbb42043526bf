"""ONNX models as float graphs.

Concept: each ONNX tensor is a constant, or a value of the graph with labels that give the place of
each of its elements (:class:`~palladion.nn.importer.context.Value`). Reshapes and transposes move
labels and compute nothing. Operators are handlers in tables, one file per family.
"""

from palladion.support.extras import missing

try:
    from palladion.nn.importer.read import from_model, load
except ModuleNotFoundError as error:
    raise missing(error, "an ONNX model", "onnx") from error

__all__ = ["from_model", "load"]
