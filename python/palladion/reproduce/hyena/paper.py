"""Numbers that the paper prints, and numbers of the notebook that drew its figures.

The paper's figures 3, 7, 8 and 9 print few numbers. The notebook of the public simulator,
``charts.ipynb`` of HEPack-Sim, has stored outputs of the cells that drew them.
"""

from __future__ import annotations

from typing import Final

PACKINGS: Final = ("lola", "channel", "c2pc", "a+w", "hyena")
"""The packings of figures 7 and 8."""
CNNS: Final = ("resnet50", "mobilenetv2", "gnmt")
"""The benchmarks over which the paper takes geometric means."""

FIGURE_7: Final = {
    ("resnet50", "hyena"): (3.10827, 1.66352, 0.11421, 0.55650, 0.03285),
    ("mobilenetv2", "hyena"): (1.65471, 0.32206, 0.02748, 0.23193, 0.00686),
    ("gnmt", "hyena"): (2.41172, 8.40376, 1.43131, 1.78258, 0.35652),
    ("resnet20", "hyena"): (0.00562, 0.01040, 0.00030, 0.00170, 0.00014),
    ("resnet50", "f1"): (3.97858, 12.92107, None, 0.71232, 0.21024),
    ("mobilenetv2", "f1"): (2.11802, 3.00013, None, 0.29687, 0.04390),
    ("gnmt", "f1"): (3.08701, 116.04853, None, 2.28170, 2.28173),
    ("resnet20", "f1"): (0.00719, 0.07100, None, 0.00217, 0.00092),
}
"""Seconds by network and machine, in the order of :data:`PACKINGS`. Cell 13 of the notebook."""
SERVER_MS: Final = {"resnet50": 32.8, "mobilenetv2": 8.8, "gnmt": 356.5}
"""Section 7.2: server-side milliseconds with Hyena."""

FIGURE_8: Final = {
    "resnet50": (39.42815, 49.40599, 1.40619, 2.74409, 0.24273),
    "mobilenetv2": (20.57738, 9.16049, 0.23173, 1.16070, 0.09123),
    "gnmt": (50.37578, 194.71578, 9.67435, 8.57113, 0.92144),
    "resnet20": (0.07608, 0.31030, 0.00738, 0.01322, 0.00603),
}
"""Joules on Hyena's machine, in the order of :data:`PACKINGS`. Cell 18."""

BATCHES: Final = (1, 8, 64, 512)
FIGURE_9: Final = {
    "hyena": ((0.03285, 0.26280, 2.10240, 16.81922), (0.24273, 1.94187, 15.53495, 124.27960)),
    "hyena+": ((0.03285, 0.26650, 2.00195, 16.01563), (0.24273, 1.08493, 8.22684, 65.81472)),
    "batchwise": ((17.54919,) * 4, (608.87972,) * 4),
    "batchwise+": ((0.14199, 0.29940, 2.21453, 17.54919), (8.47623, 13.90296, 79.89052, 608.87972)),
}
"""Seconds and joules by batch. Cell 45."""

CLAIMS: Final = {
    "Ch / Hyena, time": 38.0,
    "Ch / Hyena, energy": 162.0,
    "A+W / Hyena, time": 14.0,
    "A+W / Hyena, energy": 11.0,
    "LoLa / A+W, time": 3.7,
    "LoLa / A+W, energy": 11.0,
    "C2PC / Hyena, time": 1.9,
    "C2PC / Hyena, energy": 5.3,
}
"""Ratios of geometric means over :data:`CNNS` in section 7.2 and the abstract."""

NO_FC: Final = "FC1000"
"""Figure 3 is of ResNet-50 without this layer."""
FIGURE_3_GB: Final = {"lola": 20.0}
"""Section 4.2: gigabytes of LoLa."""
PRINTED_GB: Final = 2**32
"""Words that the notebook divides by to get gigabytes: 2^30 times 4."""

ARK_MS: Final = {"bootstrapping": 93.75, "other computation": 31.25}
CHEETAH_MS: Final = {"server (HE)": 7.3, "communication (MPC)": 9.5, "computation (MPC)": 1.7}
"""Figure 1 as the notebook has it, cell 38. The caption prints 27 ms, and a ratio of 6.75."""
CAPTION_MS: Final = 27.0
MPC_MS: Final = 11.2
"""Table 5 and section 3: the MPC part of ResNet-20."""
HE_MS: Final = 0.2

TABLE_1: Final = (
    ("MiniONN", "hybrid", 81.61, 544.0, None, None),
    ("Faster CryptoNets", "FHE", 76.70, 6 * 3600.0, None, None),
    ("LoLa", "FHE", 74.10, 730.0, None, None),
    ("DELPHI", "hybrid", 82.5, 40.0, 66.0, 98.0),
    ("Lee et al.", "FHE", 92.43, 2.9 * 3600, None, None),
    ("AESPA", "hybrid", 94.96, None, 77.40, 0.29),
)
"""Work, setup, CIFAR-10 percent and seconds, CIFAR-100 percent and seconds."""

TABLE_3: Final = {
    "lola": ((2, 3, 4), (7, 18, 26), 167),
    "channel": ((1, 3, 4), (3, 18, 26), 162),
    "c2pc": ((1, 0, 0), (3, 0, 0), 117),
    "a+w": ((2, 4, 4), (7, 25, 26), 173),
    "hyena": ((2, 2, 1), (7, 12, 6), 163),
}
"""VMults, automorphisms, NTTs; their square millimetres; the printed total."""
REGISTERS_MM2: Final = 136

TABLE_4: Final = {
    "MAC unit": (0.494, 7.326),
    "NTT": (0.968, 6.743),
    "Rotate (Benes)": (2.062, 12.65),
    "IF registers": (0.008, 3.1635),
    "W registers": (0.004, 1.5817),
    "PSUM registers": (0.552, 25.308),
    "IF L2": (3.801, 31.466),
    "W L2": (2.793, 15.751),
    "KSH L2": (6.066, 59.023),
}
"""Watts and square millimetres."""
TOTAL: Final = (16.75, 163.02)

TABLE_5: Final = (
    ("Lee et al.", 2.9 * 3600e3, None, None, None),
    ("F1+", 2690.0, 636.0, None, 256.0),
    ("CraterLake", 249.4, 472.3, 317.0, 256.0),
    ("BTS", 1910.0, 373.6, 133.8, 512.0),
    ("ARK", 125.0, 418.3, 281.3, 512.0),
)
"""Work, milliseconds, mm2, watts, megabytes on the chip."""
