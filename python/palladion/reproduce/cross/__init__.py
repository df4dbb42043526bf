"""CROSS: Leveraging ASIC AI Chips for Homomorphic Encryption (Tong et al., arXiv, TPUv4)."""

from palladion.reproduce.cross import fig4, fig10b, table5, table6, table7, table8
from palladion.reproduce.reproduction import Item, Paper

CROSS = Paper(
    "CROSS, homomorphic encryption on TPUs (Tong et al.)",
    {
        "table5": Item(
            "Times of CKKS operations.",
            table5.run,
            ("cross_sets", "measured", "through_xla", "runs"),
            plots=True,
        ),
        "table6": Item(
            "Logistic regression, LoLa-MNIST and LeNet.",
            table6.run,
            ("examples", "measured", "runs"),
        ),
        "table7": Item(
            "Matrix products modulo a prime by 8-bit products.",
            table7.run,
            ("measured", "runs"),
            plots=True,
        ),
        "table8": Item("Area of modular reduction in a TPU's vector unit.", table8.run),
        "fig4": Item(
            "What operations of CKKS and BFV spend their time on.",
            fig4.run,
            ("measured", "runs"),
            plots=True,
        ),
        "fig10b": Item(
            "Transforms a second by the rows of a batch.",
            fig10b.run,
            ("measured", "runs"),
            plots=True,
        ),
    },
)
