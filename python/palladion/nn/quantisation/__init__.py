"""Post-training quantisation: from a float graph to an integer network.

Concept: ``plan`` cuts the graph into linear groups with one function each. ``quantise`` processes
the groups in order on calibration data, and chooses units, integers, bounds and tables.
``document`` converts them to the layers of docs/int-network.md.
"""

from palladion.nn.quantisation.quantise import Quantised, quantise
from palladion.nn.quantisation.settings import Settings
from palladion.nn.quantisation.values import Group
from palladion.nn.quantisation.write.report import LayerReport

__all__ = ["Group", "LayerReport", "Quantised", "Settings", "quantise"]
