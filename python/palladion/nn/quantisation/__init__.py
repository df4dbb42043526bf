"""Post-training quantisation: from a float graph to an integer network.

``quantise`` runs the phases in this order, and each phase is a folder:

- ``collect`` measures the calibration data: ranges of features, statistics of channels.
- ``plan`` cuts the graph into layers of one linear form and one function, still in real numbers.
- ``grids`` makes a layer exact if its values lie on grids of the model's own. ``rounding`` makes
  every other layer: it rounds weights, and chooses units, bounds and tables on the data.
- ``compare`` compares the integer network's answers with the float model's, and improves them.
- ``write`` converts the layers to layers of docs/int-network.md, and reports about them.
"""

from palladion.nn.quantisation.quantise import Quantised, quantise
from palladion.nn.quantisation.settings import Settings
from palladion.nn.quantisation.values import Group
from palladion.nn.quantisation.write.layer_report import LayerReport

__all__ = ["Group", "LayerReport", "Quantised", "Settings", "quantise"]
