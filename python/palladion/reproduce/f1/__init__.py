"""F1: A Fast and Programmable Accelerator for FHE (Samardzic, Feldmann et al., MICRO 2021)."""

from palladion.reproduce.f1 import fig5a, fig5b, fig5c, speedup, table
from palladion.reproduce.reproduction import Item, Paper

OPTIONS = ("f1_benchmarks", "digit_limbs")

F1 = Paper(
    "F1, an accelerator for whole FHE programs (Samardzic et al., MICRO 2021)",
    {
        "fig5a": Item("Times of seven benchmarks.", fig5a.run, OPTIONS, plots=True),
        "fig5b": Item("Traffic by kind.", fig5b.run, OPTIONS, plots=True),
        "fig5c": Item("Power by component.", fig5c.run, OPTIONS, plots=True),
        "speedup": Item(
            "Speed-up over a CPU: printed, and simulated over measured.",
            speedup.run,
            (*OPTIONS, "measured", "runs"),
            plots=True,
        ),
        "table": Item("Area and power of the chip, by component.", table.run),
    },
)
