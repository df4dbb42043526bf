"""The paper's parameter sets, run encrypted on this CPU."""

from __future__ import annotations

import statistics
import time
from typing import Final

from palladion import tfhe
from palladion.reproduce.athena_tfhe.published import NAMED

BITS: Final = {"I": 110, "II": 115}
"""The estimated security of the sets, which are both insecure."""
RUNS: Final = 15


def gate_ms(name: str) -> float:
    """Milliseconds of processor time of one gate, with its key switch: the median of some runs.

    The gate is one of two bits on one thread. It is checked to be right.
    """
    client = tfhe.keygen(tfhe.Params.named(NAMED[name], insecure=True))
    server = client.server_key()
    yes = client.encrypt_bits([True]).with_keys(server)
    no = client.encrypt_bits([False])
    taken = []
    for _ in range(RUNS):
        begun = time.process_time()
        found = yes & no
        taken.append(time.process_time() - begun)
        assert not client.decrypt(found)[0], "a gate is right"
    return 1000 * statistics.median(taken)
