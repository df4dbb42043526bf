"""Time, energy and traffic of packings on Hyena's accelerator: an analytical model.

Hyena (Singh, Singh, Fan, Balasubramonian, Gudaparthi, S&P 2024) compares packings by a public
simulator, HEPack-Sim. For each layer that counts how often its pipelines run, and how many words
memories and registers pass. Time is runs times the slowest stage. This package has the same
formulas, one file for each packing, and corrections of the errors in them.

Nothing is encrypted and no result is computed: the model knows shapes alone. Read :mod:`shapes`,
:mod:`machine`, then one of :mod:`packings`, then :mod:`simulate`.
"""

from palladion.accelerators.packing_model.communication import LAN, Link, outputs_of
from palladion.accelerators.packing_model.corrections import CORRECTIONS, Correction, Model
from palladion.accelerators.packing_model.machine import PackingMachine
from palladion.accelerators.packing_model.packings import PACKINGS, packing_named
from palladion.accelerators.packing_model.shapes import (
    NETWORKS,
    Layers,
    Shape,
    layers_of_network,
    network_named,
)
from palladion.accelerators.packing_model.simulate import Run, cost_of, simulate

__all__ = [
    "CORRECTIONS",
    "LAN",
    "NETWORKS",
    "PACKINGS",
    "Correction",
    "Layers",
    "Link",
    "Model",
    "PackingMachine",
    "Run",
    "Shape",
    "cost_of",
    "layers_of_network",
    "network_named",
    "outputs_of",
    "packing_named",
    "simulate",
]
