"""Athena: Accelerating Quantized CNNs under FHE (Yang et al., MICRO 2025)."""

from typing import Final

from palladion.reproduce.athena import (
    fig1,
    fig4,
    fig8,
    fig9,
    fig12,
    fig13,
    headline,
    savings,
    table1,
    table2,
    table3,
    table4,
    table5,
    table6,
    table7,
    table8,
)
from palladion.reproduce.reproduction import Item, Paper

RUNS: Final = ("athena_benchmarks", "precisions", "models")
"""Options of items that simulate the paper's networks."""

ATHENA = Paper(
    "Athena (Yang et al., MICRO 2025)",
    {
        "table1": Item(
            "Parameters, sizes of ciphertexts and keys.", table1.run, ("models", "benchmark")
        ),
        "table2": Item("Share of valid data in result polynomials.", table2.run),
        "table3": Item("Products and rotations of each step.", table3.run, ("models", "benchmark")),
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
        "table6": Item("Time on the accelerator.", table6.run, (*RUNS, "softmax"), plots=True),
        "table7": Item("Energy-delay product.", table7.run, RUNS),
        "table8": Item("Memories.", table8.run, ("models", "benchmark")),
        "table9": Item("Area and power.", table8.run_table_9, ("models", "benchmark")),
        "savings": Item("What our compiler saves on the accelerator.", savings.run, RUNS),
        "headline": Item("The paper's ratios, from its own tables.", headline.run),
        "fig1": Item(
            "Accuracy of expansions of ReLU and the sigmoid.",
            fig1.run,
            ("onnx", "data", "images"),
            plots=True,
        ),
        "fig4": Item(
            "Largest accumulators against t/2, and activations that noise changes.",
            fig4.run,
            ("networks", "data", "images", "encrypted"),
            plots=True,
        ),
        "fig8": Item(
            "Our program on other accelerators.", fig8.run, ("athena_benchmarks", "models")
        ),
        "fig9": Item("Time by part of the loop.", fig9.run, (*RUNS, "softmax"), plots=True),
        "fig10": Item("Energy by component.", fig9.run_figure_10, RUNS, plots=True),
        "fig11": Item("Energy-delay-area product.", table7.run_figure_11, RUNS, plots=True),
        "fig12": Item(
            "Accuracy and time by precision.",
            fig12.run,
            ("networks", "onnx", "data_required", "benchmark", "images", "encrypted", "on_machine"),
            plots=True,
        ),
        "fig13": Item(
            "Sensitivity to the lanes of each unit.",
            fig13.run,
            ("athena_benchmarks", "models"),
            plots=True,
        ),
    },
)
