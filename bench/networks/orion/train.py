"""Trains LeNet-5 with squares and average pooling, which Orion evaluates with few levels.

    bench/.venv-orion/bin/python bench/networks/orion/train.py MNIST

Squares need batch normalisation in training. It is folded into the weights that are written.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

sys.path.append(str(Path(__file__).resolve().parent.parent))
from shared import images, layers

OUTPUT = Path(__file__).with_name("lenet5_square.npz")
EPOCHS = 8


class Square(nn.Module):
    def forward(self, x):
        return x * x


def main():
    torch.manual_seed(1)
    (inputs, labels), (test, expected) = (images(sys.argv[1], part) for part in ("train", "t10k"))
    modules = []
    for module in layers("lenet5", nn, Square, lambda: nn.AvgPool2d(2)):
        modules.append(module)
        if isinstance(module, nn.Conv2d):
            modules.append(nn.BatchNorm2d(module.out_channels))
        elif isinstance(module, nn.Linear) and module.out_features != 10:
            modules.append(nn.BatchNorm1d(module.out_features))
    network = nn.Sequential(*modules)
    steps = EPOCHS * (len(inputs) // 128)
    optimiser = torch.optim.AdamW(network.parameters(), lr=3e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(inputs))[: len(inputs) // 128 * 128].split(128):
            loss = nn.functional.cross_entropy(network(inputs[batch]), labels[batch])
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
            schedule.step()
    network.eval()
    with torch.no_grad():
        print(f"{(network(test).argmax(1) == expected).float().mean():.2%} of the test images")
        np.savez(OUTPUT, **folded(modules))


def folded(modules):
    """Weights and biases in order, each combined with the normalisation that follows it."""
    arrays = {}
    for index, module in enumerate(modules):
        if not isinstance(module, (nn.Conv2d, nn.Linear)):
            continue
        weight, bias = module.weight, module.bias
        following = modules[index + 1] if index + 1 < len(modules) else None
        if isinstance(following, (nn.BatchNorm1d, nn.BatchNorm2d)):
            scale = following.weight / torch.sqrt(following.running_var + following.eps)
            weight = weight * scale.reshape(-1, *[1] * (weight.dim() - 1))
            bias = (bias - following.running_mean) * scale + following.bias
        arrays |= {f"layer{index}": weight.numpy(), f"layer{index}_bias": bias.numpy()}
    return arrays


main()
