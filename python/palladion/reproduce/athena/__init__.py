"""Athena: Accelerating Quantized CNNs under FHE (Yang et al., MICRO 2025)."""

from palladion.reproduce.athena import fig4, fig12, table2, table4, table5
from palladion.reproduce.reproduction import Item, Paper

ATHENA = Paper(
    "Athena (Yang et al., MICRO 2025)",
    {
        "table2": Item("Share of valid data in result polynomials.", table2.run),
        "table4": Item(
            "Noise of each step of the loop.",
            table4.run,
            ("network", "data"),
            plots=True,
        ),
        "table5": Item(
            "Accuracy in floats, in integers, with noise, and encrypted.",
            table5.run,
            ("data_required", "models", "onnx_folder", "images", "encrypted"),
        ),
        "fig4": Item(
            "Largest accumulators against t/2, and activations that noise changes.",
            fig4.run,
            ("networks", "data", "images", "encrypted"),
            plots=True,
        ),
        "fig12": Item(
            "Accuracy and time by precision.",
            fig12.run,
            ("networks", "onnx", "data_required", "benchmark", "images", "encrypted"),
            plots=True,
        ),
    },
)
