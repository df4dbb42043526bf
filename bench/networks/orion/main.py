"""Orion: CKKS on Lattigo, activations as polynomials; see ../shared.py."""

import math
import sys
from functools import partial
from pathlib import Path

import orion
import orion.models
import orion.nn as on
import torch
from torch.utils.data import DataLoader, TensorDataset

sys.path.append(str(Path(__file__).resolve().parent.parent))
from shared import CLEAR_IMAGES, REPOSITORY, Run, images, layers, load, own_output

CALIBRATION_IMAGES = 4096
DEGREE = 15
# log2 of the largest QP with 128 bits of security, ternary secret, classical: table 1 of the
# homomorphic encryption standard (2018). The value for 2^16 is extrapolated, as in libraries.
LARGEST_LOG_QP = {13: 218, 14: 438, 15: 881, 16: 1772}


class Relu(on.Chebyshev):
    """The polynomial on the calibrated range, widened by the margin."""

    def __init__(self):
        super().__init__(DEGREE, torch.relu)


class Network(on.Module):
    def __init__(self, modules):
        super().__init__()
        self.layers = torch.nn.Sequential(*modules)

    def forward(self, x):
        return self.layers(x)


def small(levels, bits, first, special, margin=1.1):
    """A chain for 2^14, where packing a layer needs a quarter of the memory of 2^15."""
    return {
        "ckks_params": {
            "LogN": 14, "LogQ": [first] + [bits] * levels, "LogP": special, "LogScale": bits,
            "H": 8192, "RingType": "standard",
        },
        "orion": {"margin": margin, "debug": False, "io_mode": "none"},
    }  # fmt: skip


# Orion's own parameters for ResNet.
LARGE = {
    "ckks_params": {
        "LogN": 16, "LogQ": [55] + [40] * 10, "LogP": [61] * 3, "LogScale": 40,
        "H": 16384, "RingType": "standard",
    },
    "boot_params": {"LogP": [61] * 8},
    "orion": {"margin": 2, "debug": False, "io_mode": "none"},
}  # fmt: skip

CASES = {
    "mnist": (
        small(11, 27, 37, [34, 34, 34]),
        f"ReLU as a polynomial of degree {DEGREE}",
        Relu,
        REPOSITORY / "models" / "mnist_float.npz",
    ),
    "lenet5": (
        small(11, 27, 37, [34, 34, 34]),
        "x^2 for ReLU, average for max pooling, trained so",
        on.Quad,
        Path(__file__).with_name("lenet5_square.npz"),
    ),
}


def main():
    network, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    out = own_output()
    if network == "resnet20":
        torch.manual_seed(1)
        config, differs = LARGE, "untrained weights, random images; ReLU of degrees 15, 15, 27"
        net = orion.models.ResNet20()
        inputs = torch.rand(CLEAR_IMAGES // 10, 3, 32, 32)
        labels, calibration = torch.zeros(len(inputs)).long(), inputs[:1]
    else:
        config, differs, activation, weights = CASES[network]
        net = Network(layers(network, on, activation, partial(on.AvgPool2d, 2)))
        load(net.layers, weights)
        inputs, labels = (part[:CLEAR_IMAGES] for part in images(folder, "t10k"))
        calibration = one_by_one(images(folder, "train")[0][:CALIBRATION_IMAGES])
    net.eval()
    with torch.no_grad():
        clear = net(inputs).numpy()

    run = Run()
    scheme = run.setup("making the first keys", lambda: orion.init_scheme(config))
    level = run.setup("packing and making keys", lambda: compiled(net, calibration))
    net.he()
    run.infer(
        inputs[:count],
        lambda x: orion.encrypt(orion.encode(x, level)),
        net,
        lambda answer: answer.decrypt().decode(),
    )
    keys, key_bytes = evaluation_keys(scheme)
    log_qp = sum(config["ckks_params"]["LogQ"] + config["ckks_params"]["LogP"])
    log_n = config["ckks_params"]["LogN"]
    run.finish(
        out,
        clear,
        labels,
        differs=differs,
        security_bits=128 if log_qp <= LARGEST_LOG_QP[log_n] else 0,
        security_source="log QP within the homomorphic encryption standard's table",
        parameters=config | {"log_qp": log_qp, "keys": keys},
        key_bytes=key_bytes,
    )


def one_by_one(inputs):
    """Inputs for the ranges, in batches of the size that is encrypted later."""
    return DataLoader(TensorDataset(inputs, inputs), batch_size=1)


def compiled(net, calibration):
    """The level at which inputs are encrypted."""
    orion.fit(net, calibration)
    return orion.compile(net)


def evaluation_keys(scheme):
    """The number of keys and their bytes when written. All have the length of the one measured."""
    transforms = scheme.lt_evaluator.saved_rotation_keys
    # In addition to these: rotations by powers of two, and the relinearisation key.
    count = len(transforms) + int(math.log2(scheme.params.get_slots())) + 1
    serial, pointer = scheme.backend.GenerateAndSerializeRotationKey(next(iter(transforms)))
    length = len(serial)
    scheme.backend.FreeCArray(pointer)
    return count, count * length


main()
