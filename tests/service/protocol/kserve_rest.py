"""KServe's client of the Open Inference Protocol: URL, token, file of a query, file for the
answer."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

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
    raw = len(data).to_bytes(4, "little") + data
    tensor.parameters = {"binary_data_size": len(raw)}
    tensor._raw_data = raw
    request = InferRequest("linear", [tensor], request_id="7")
    reply = await client.infer(url, request, model_name="linear", headers=headers)
    found = reply.outputs[0].as_numpy()
    Path(answer).write_bytes(found.reshape(-1)[0])
    told["model"], told["id"] = reply.model_name, reply.id
    await client.close()
    print(json.dumps(told))


if __name__ == "__main__":
    asyncio.run(main())
