"""Concrete ML: TFHE, one programmable bootstrap for each ReLU and maximum; see ../shared.py.

The floating-point network is quantised after training, with Concrete ML's own method.
"""

import sys
from pathlib import Path

import torch
from concrete.ml.torch.compile import compile_torch_model
from torch import nn

sys.path.append(str(Path(__file__).resolve().parent.parent))
from shared import CLEAR_IMAGES, REPOSITORY, Run, images, layers, load, own_output, stage

MODELS = REPOSITORY / "models"
WEIGHTS = {"mnist": MODELS / "mnist_float.npz", "lenet5": MODELS / "lenet5.onnx"}
# Bits of weights and activations, and of sums before a table: the cheapest for which the clear
# model is at most one point worse than the floats on the first 1000 test images.
BITS = {"mnist": (6, 5), "lenet5": (5, 5), "resnet20": (5, 5)}
CALIBRATION_IMAGES = 256


class Block(nn.Module):
    """Two convolutions and a shortcut."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.shortcut = nn.Conv2d(inputs, outputs, 1, stride=stride) if inputs != outputs else None

    def forward(self, x):
        shortcut = x if self.shortcut is None else self.shortcut(x)
        return torch.relu(self.second(torch.relu(self.first(x))) + shortcut)


def resnet20():
    """An untrained network: the costs of compiling and running do not depend on the weights."""
    blocks, channels = [], 16
    for width in (16, 32, 64):
        for index in range(3):
            blocks.append(Block(channels, width, 2 if index == 0 and width > 16 else 1))
            channels = width
    head = [nn.AvgPool2d(8), nn.Flatten(), nn.Linear(64, 10)]
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), *blocks, *head)


def main():
    network, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    bits, rounded = BITS[network]
    out = own_output()
    if network == "resnet20":
        torch.manual_seed(1)
        module = resnet20()
        inputs = torch.rand(CLEAR_IMAGES // 10, 3, 32, 32)
        labels = torch.zeros(len(inputs)).long()
        calibration, weights = inputs[:8], "untrained weights, random images; "
    else:
        module = nn.Sequential(*layers(network, nn, nn.ReLU, lambda: nn.MaxPool2d(2)))
        load(module, WEIGHTS[network])
        inputs, labels = (part[:CLEAR_IMAGES] for part in images(folder, "t10k"))
        calibration, weights = images(folder, "train")[0][:CALIBRATION_IMAGES], ""
    module.eval()

    run = Run()
    quantised = run.setup("compiling", lambda: compile_torch_model(
        module, calibration, n_bits=bits,
        rounding_threshold_bits={"n_bits": rounded, "method": "approximate"},
    ))  # fmt: skip
    circuit = quantised.fhe_circuit
    bootstraps = circuit.programmable_bootstrap_count
    run.setup(f"making keys for {bootstraps} bootstraps", circuit.keygen)
    run.infer(
        inputs.numpy()[:count],
        lambda x: circuit.encrypt(quantised.quantize_input(x)),
        circuit.run,
        lambda answer: quantised.dequantize_output(circuit.decrypt(answer)),
    )
    stage("counting the clear model")
    run.finish(
        out,
        quantised.forward(inputs.numpy(), fhe="disable"),
        labels,
        differs=f"{weights}{bits} bits, sums rounded to {rounded} bits before tables",
        security_bits=128,
        security_source="Concrete's optimiser",
        parameters={
            "bits": bits,
            "rounded_bits": rounded,
            "bootstraps": bootstraps,
            "widest_table_bits": circuit.graph.maximum_integer_bit_width(),
            "p_error": circuit.p_error,
            "global_p_error": circuit.global_p_error,
        },
        key_bytes=circuit.size_of_bootstrap_keys + circuit.size_of_keyswitch_keys,
    )


main()
