"""Errors of this package. Each says what was found, what was expected, and the way out."""

from __future__ import annotations


class HardwareError(Exception):
    """Base class of the errors of this package."""


class ParameterError(HardwareError):
    """A unit cannot be built with these parameters, or an input does not fit it."""


class CircuitError(HardwareError):
    """A description joins signals that do not fit together."""


class ToolError(HardwareError):
    """A program of others (Verilator, Yosys) is missing or failed."""


class MismatchError(HardwareError):
    """A unit's words or cycles are not those of its judge."""
