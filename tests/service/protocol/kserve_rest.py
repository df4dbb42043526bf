"""KServe's client of the Open Inference Protocol: URL, token, file of a query, file for the
answer."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from pathlib import Path

import numpy as np
from kserve import InferenceRESTClient, InferInput, InferRequest, RESTConfig


async def main() -> None:
    """Ask for health, and run the query."""
    url, token, query, answer = sys.argv[1:]
    headers = {"Authorization": f"Bearer {token}"}
    client = InferenceRESTClient(RESTConfig(protocol="v2", timeout=60, retries=2))
    told = {
        "live": await client.is_server_live(url, headers=headers),
        "ready": await client.is_server_ready(url, headers=headers),
        "model_ready": await client.is_model_ready(url, "linear", headers=headers),
    }
    data = Path(query).read_bytes()
    tensor = InferInput("query", [1], "BYTES")
    tensor.set_data_from_numpy(np.array([data], dtype=np.object_), binary_data=True)
    # It reads binary tensors as UTF-8 (kserve 0.21): the answer comes in base64.
    asked = {"binary_data_output": False}
    request = InferRequest("linear", [tensor], request_id="7", parameters=asked)
    reply = await client.infer(url, request, model_name="linear", headers=headers)
    Path(answer).write_bytes(base64.b64decode(reply.outputs[0].data[0]))
    told["model"], told["id"] = reply.model_name, reply.id
    await client.close()
    print(json.dumps(told))


if __name__ == "__main__":
    asyncio.run(main())
