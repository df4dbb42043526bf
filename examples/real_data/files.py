"""Files of weights, and MNIST's images."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
MODELS = Path(__file__).resolve().parent.parent.parent / "models"


def weights(name: str) -> dict[str, Array]:
    """The arrays of a safetensors file of `models`, whose words are bfloat16."""
    data = (MODELS / name).read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    found = {}
    for key, entry in json.loads(data[8:start]).items():
        first, end = entry["data_offsets"]
        words = np.frombuffer(data[start + first : start + end], "<u2").astype(np.uint32)
        values = (words << np.uint32(16)).view(np.float32)
        found[key] = values.reshape(entry["shape"]).astype(np.float64)
    return found
