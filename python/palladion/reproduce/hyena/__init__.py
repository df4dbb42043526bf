"""Hyena: balancing packing, reuse and rotations (Singh et al., S&P 2024)."""

from palladion.reproduce.hyena import (
    fig1,
    fig3,
    fig6,
    fig7,
    fig8,
    fig9,
    table1,
    table2,
    table3,
    table4,
    table5,
)
from palladion.reproduce.reproduction import Item, Paper

HYENA = Paper(
    "Hyena, packings and an accelerator for hybrid inference (Singh et al., S&P 2024)",
    {
        "table1": Item("Accuracies of private inference.", table1.run),
        "table2": Item("Operations and data movement by the table's formulas.", table2.run),
        "table3": Item("Units and areas for each packing.", table3.run),
        "table4": Item("Power and area of the accelerator.", table4.run),
        "table5": Item("Private inference of ResNet-20.", table5.run, ("measured", "models")),
        "fig1": Item(
            "Two setups, and the communication of the hybrid one.",
            fig1.run,
            ("measured", "models"),
            plots=True,
        ),
        "fig3": Item("Rotations and data footprint of packings.", fig3.run, plots=True),
        "fig6": Item("The accelerator's numbers, and words that it cannot have.", fig6.run),
        "fig7": Item("Times of packings on both machines.", fig7.run, plots=True),
        "fig8": Item("Energy of packings by component.", fig8.run, plots=True),
        "fig9": Item("Batches: time and energy.", fig9.run, plots=True),
    },
)
