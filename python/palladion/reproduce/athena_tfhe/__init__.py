"""ATHENA: Accelerating Torus FHE on Energy-Efficient Heterogeneous Architecture (Wu, Arafin)."""

from palladion.reproduce.athena_tfhe import (
    algorithm2,
    fig10,
    readings,
    sensitivity,
    table2,
    table4,
    table5,
)
from palladion.reproduce.reproduction import Item, Paper

ATHENA_TFHE = Paper(
    "ATHENA, TFHE on a Versal AI Engine array (Wu, Arafin)",
    {
        "table2": Item("Times of products on chains of processing elements.", table2.run),
        "table4": Item("Multipliers, compared with other designs.", table4.run),
        "table5": Item(
            "Time, power and energy of bootstrapping, beside others.",
            table5.run,
            ("measured_here",),
        ),
        "readings": Item("Table V's times by what they may contain.", readings.run),
        "sensitivity": Item("A whole bootstrapping by what is inferred.", sensitivity.run),
        "fig10": Item("Time against power of bootstrapping, as a plot.", fig10.run, plots=True),
        "algorithm2": Item("Errors of the FFT multiplier as the paper prints it.", algorithm2.run),
    },
)
