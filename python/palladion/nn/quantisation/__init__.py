"""Post-training quantisation: from a float graph to an integer network.

Concept: ``plan`` cuts the graph into linear groups with one function each; ``quantise`` goes
through the groups in order on calibration data and chooses units, integers, bounds and tables;
``document`` makes the layers of docs/int-network.md of them.
"""

from palladion.nn.quantisation.quantise import Quantised, quantise
from palladion.nn.quantisation.report import LayerReport
from palladion.nn.quantisation.settings import Settings
from palladion.nn.quantisation.values import Group

__all__ = ["Group", "LayerReport", "Quantised", "Settings", "quantise"]
