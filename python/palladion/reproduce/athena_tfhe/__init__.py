"""ATHENA: Accelerating Torus FHE on Energy-Efficient Heterogeneous Architecture (Wu, Arafin)."""

from palladion.reproduce.athena_tfhe import algorithm2, fig10, table2, table4, table5
from palladion.reproduce.reproduction import Item, Paper

ATHENA_TFHE = Paper(
    "ATHENA, TFHE on a Versal AI Engine array (Wu, Arafin)",
    {
        "table2": Item("Time of products on chains of processing elements.", table2.run),
        "table4": Item("Multipliers beside those of others.", table4.run),
        "table5": Item("Time, power and energy of bootstrapping, beside others.", table5.run),
        "fig10": Item("Time against power of bootstrapping.", fig10.run, plots=True),
        "algorithm2": Item("How wrong the FFT multiplier is as printed.", algorithm2.run),
    },
)
