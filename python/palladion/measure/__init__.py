"""Measurements: the core's speed on this machine, and the accuracy of a network."""

from __future__ import annotations

from palladion.measure.speed import NAMES, Measurement, measure

__all__ = ["NAMES", "Measurement", "measure"]
