"""One input of ResNet-20 in the two-party mode, measured on this machine."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np

from palladion.errors import PalladionError, UsageError
from palladion.hybrid.connection import HybridClient
from palladion.hybrid.program import HybridModel
from palladion.hybrid.sessions import SessionReport
from palladion.measure.accuracy import Steps
from palladion.nn.integers.network import IntNetwork, Ints

FILE: Final = "resnet20_w7a7.json"
SEED: Final = 1
TO_MS: Final = 1000.0


@dataclass(frozen=True)
class Measurement:
    """Milliseconds and bytes of one input."""

    session: SessionReport

    @property
    def linear_ms(self) -> float:
        """Linear layers, online, as the client waits for them."""
        return TO_MS * sum(layer.linear.seconds for layer in self.session.layers)

    @property
    def activation_ms(self) -> float:
        """Tables, online, with their messages."""
        return TO_MS * sum(layer.activation.seconds for layer in self.session.layers)

    @property
    def offline_ms(self) -> float:
        """All before the input is known."""
        return TO_MS * self.session.offline.seconds

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence on the measurement, with the traffic."""
        parts = (self.session.offline, self.session.online)
        offline, online = ((part.sent + part.received) / 1e6 for part in parts)
        return (
            "measured: all 20 layers of ResNet-20 w7a7 at 128 bits, one input, a process for each "
            "party on this machine, with no network between them. The offline part needs no input. "
            f"Both directions: {offline:.1f} MB offline, {online:.1f} MB online.",
        )


def measure(models: Path, steps: Steps) -> Measurement:
    """Run one input.

    Raises
    ------
    UsageError
        If the network is missing.
    PalladionError
        If an answer differs from the integer network's.
    """
    path = models / FILE
    if not path.is_file():
        raise UsageError(f"--models {models}: no {FILE} in it, which is measured")
    network = IntNetwork.load(path)
    # Small values exceed no bound of the network. Times do not depend on values.
    inputs = np.random.default_rng(SEED).integers(0, 4, (1, network.input.values))
    with TemporaryDirectory() as folder:
        with steps.step("compile for two parties"):
            file = Path(folder) / "resnet20.hybrid"
            HybridModel.of_network(network).save(file)
        with steps.step("two parties"):
            session = asked(file, network, inputs)
    return Measurement(session)


def asked(program: Path, network: IntNetwork, inputs: Ints) -> SessionReport:
    """The session of a client here with a server in another process."""
    trust = program.with_suffix(".hash")
    command = [sys.executable, "-m", "palladion.cli", "serve-hybrid", str(program), "--any-client"]
    command += ["--listen", "127.0.0.1:0", "--hash-file", str(trust), "--sessions", "1", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            if not line:
                raise PalladionError("the server of the two parties ended: see its words above")
            address = json.loads(line)["address"]
            answer = HybridClient.connect(address, trust.read_text().strip()).query_integers(inputs)
        finally:
            server.terminate()
    check(network, inputs, answer.prediction.integers)
    return answer.report


def check(network: IntNetwork, inputs: Ints, logits: Ints | None) -> None:
    """Compare with the integer network.

    Raises
    ------
    PalladionError
        If they differ.
    """
    expected = network.evaluate(inputs).logits
    if logits is None or not np.array_equal(logits, expected):
        raise PalladionError(f"the answer {logits} is not the integer network's {expected}")
