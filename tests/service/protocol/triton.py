"""NVIDIA's client of the Open Inference Protocol: URL, token, file of a query, file for the
answer."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException


def main() -> None:
    """Ask for health and metadata, and run the query."""
    url, token, query, answer = sys.argv[1:]
    headers = {"Authorization": f"Bearer {token}"}
    client = triton.InferenceServerClient(url.removeprefix("http://"))
    told = {
        "live": client.is_server_live(headers),
        "ready": client.is_server_ready(headers),
        "model_ready": client.is_model_ready("linear", "2", headers),
        "no_model_ready": client.is_model_ready("cubic", headers=headers),
        "server": client.get_server_metadata(headers),
        "model": client.get_model_metadata("linear", headers=headers),
    }
    tensor = triton.InferInput("query", [1], "BYTES")
    tensor.set_data_from_numpy(np.array([Path(query).read_bytes()], dtype=np.object_))
    for outputs in (None, [triton.InferRequestedOutput("answer", binary_data=True)]):
        reply = client.infer("linear", [tensor], outputs=outputs, request_id="7", headers=headers)
        (found,) = reply.as_numpy("answer")
        Path(answer).write_bytes(found)
    told["reply"] = reply.get_response()
    try:
        client.infer("cubic", [tensor], headers=headers)
    except InferenceServerException as error:
        told["error"], told["status"] = error.message(), error.status()
    print(json.dumps(told))


if __name__ == "__main__":
    main()
