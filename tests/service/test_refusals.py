"""Requests that cannot succeed: each with its status, the cause and the way out."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from pathlib import Path

import httpx
import numpy as np
import palladion
import pytest
from palladion import Secret
from palladion.client import Client
from palladion.errors import KINDS
from palladion.remote.session import ServiceError
from palladion.support.records import Json

from tests.service.conftest import Linear, Running

WORDS = {kind.name for kind in KINDS}


def refused(reply: httpx.Response, status: int, *words: str) -> Json:
    """The problem of a refusal, which has some words."""
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    problem = reply.json()
    assert problem["status"] == status
    assert problem["kind"] in WORDS
    assert problem["error"] == problem["detail"]
    for word in words:
        assert word in problem["detail"], problem["detail"]
    return dict(problem)


ROUTES = [
    ("GET", "/v2/models"),
    ("GET", "/v2/models/linear"),
    ("GET", "/v2/models/linear/client"),
    ("GET", "/v2/models/linear/session"),
    ("GET", "/v2/models/linear/keys/0"),
    ("POST", "/v2/models/linear/jobs"),
    ("POST", "/v2/models/linear/infer"),
    ("POST", "/v2/uploads"),
    ("GET", "/v2/uploads/0"),
    ("PUT", "/v2/uploads/0/parts/0"),
    ("POST", "/v2/uploads/0/complete"),
    ("DELETE", "/v2/uploads/0"),
    ("GET", "/v2/keys"),
    ("GET", "/v2/keys/0"),
    ("DELETE", "/v2/keys/0"),
    ("GET", "/v2/jobs"),
    ("GET", "/v2/jobs/0"),
    ("GET", "/v2/jobs/0/events"),
    ("GET", "/v2/jobs/0/answer"),
    ("GET", "/v2/jobs/0/receipt"),
    ("DELETE", "/v2/jobs/0"),
]
"""Every route that is for tenants."""


def test_the_list_of_routes_is_complete(service: Running) -> None:
    with service.http() as http:
        paths = http.get("/openapi.json").json()["paths"]
    free = {"/v2", "/v2/health/live", "/v2/health/ready"}
    described = {(method.upper(), path.replace("/versions/{version}", ""))
                 for path, methods in paths.items() if path not in free
                 for method in methods if method != "head"}  # fmt: skip
    names = {"linear": "{model}", "parts/0": "parts/{number}", "uploads/0": "uploads/{upload}",
             "jobs/0": "jobs/{job}"}  # fmt: skip
    listed = set()
    for method, path in ROUTES:
        route = path.replace("/models/linear/keys/0", "/models/{model}/keys/{key_id}")
        route = route.replace("/v2/keys/0", "/v2/keys/{digest}")
        for name, parameter in names.items():
            route = route.replace(name, parameter)
        listed.add((method, route.replace("/ready", "")))
    assert {(m, p) for m, p in described if not p.endswith("/ready")} == listed


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_token_is_needed(service: Running, method: str, path: str) -> None:
    for headers in ({}, {"authorization": "Bearer palladion_wrong"}, {"authorization": "Basic a"}):
        reply = httpx.request(method, service.url + path, headers=headers)
        refused(reply, 401, "token")
        assert reply.headers["www-authenticate"] == "Bearer"


def test_a_revoked_token_is_refused(service: Running) -> None:
    line = ["tenants", "--data", str(service.folder)]
    import subprocess
    import sys

    token = service.tenant("revoked")
    with service.http(token) as http:
        assert http.get("/v2/models").is_success
        command = [sys.executable, "-m", "palladion.cli", *line, "revoke", "revoked"]
        subprocess.run(command, check=True, capture_output=True)
        refused(http.get("/v2/models"), 401, "not valid", "palladion tenants token")


def test_models_and_versions_that_are_not_there(service: Running) -> None:
    with service.http() as http:
        refused(http.get("/v2/models/nothing"), 404, "'nothing'", "the models are: linear")
        refused(http.get("/v2/models/linear/versions/9"), 404, "the versions are: 1, 2")
        refused(http.get("/v2/models/..%2f..%2fetc%2fpasswd/client"), 404)
        refused(http.get("/v2/nothing"), 404)
        refused(http.patch("/v2/keys"), 405)


def test_a_query_without_keys(service: Running, small: Linear, tmp_path: Path) -> None:
    with service.connect(tmp_path) as client, service.http() as http:
        query = client.model().client.encrypt(small.x[:1]).to_bytes()
        reply = http.post("/v2/models/linear/jobs", content=query)
        problem = refused(
            reply, 422, "no evaluation keys", "upload them", client.secret.key_id[:12]
        )
        assert not problem["retry"]


def test_bodies_that_are_no_query(service: Running, small: Linear, tmp_path: Path) -> None:
    with service.connect(tmp_path) as client, service.http() as http:
        model = client.model()
        model.upload_keys()
        query = model.client.encrypt(small.x[:1]).to_bytes()
        at = "/v2/models/linear/jobs"
        refused(http.post(at, content=b""), 400, "an empty file", "encrypted images")
        refused(http.post(at, content=b"{}"), 400, "JSON")
        refused(http.post(at, content=query[:-1]), 400)
        refused(http.post(at, content=query + b"0"), 400)
        damaged = bytearray(query)
        damaged[len(query) // 2] ^= 1
        refused(http.post(at, content=bytes(damaged)), 400)
        secret = Secret.generate().to_bytes()
        refused(http.post(at, content=secret), 400, "a secret key", "encrypted images")
        gzip = {"content-encoding": "gzip"}
        refused(http.post(at, content=query, headers=gzip), 400, "compressed")
        long = {"idempotency-key": "a" * 201}
        refused(http.post(at, content=query, headers=long), 422, "Idempotency-Key")
        refused(http.post(at, content=query, params={"wait": -1}), 422, "wait")


def test_a_query_of_another_program(service: Running, small: Linear, tmp_path: Path) -> None:
    network = palladion.mnist_network()
    terms = palladion.CompiledModel.of_network(network).terms
    query = Client.generate(terms).encrypt_integers(np.zeros((1, 784), dtype=np.int64)).to_bytes()
    with service.http() as http:
        reply = http.post("/v2/models/linear/jobs", content=query)
        refused(reply, 409, "linear version 1", "client's file")


def test_uploads_that_are_wrong(service: Running, small: Linear, tmp_path: Path) -> None:
    data = bytes(1_500_000)
    digest = hashlib.sha256(data).hexdigest()
    with service.http() as http:
        new = {"digest": digest, "bytes": len(data)}
        refused(http.post("/v2/uploads", json={**new, "digest": "x"}), 400, "64 hexadecimal")
        refused(http.post("/v2/uploads", json={**new, "bytes": 0}), 422, "a file of 0 bytes")
        refused(http.post("/v2/uploads", json={"bytes": 1}), 422, "digest")
        refused(http.post("/v2/uploads", content=b"{" + b" " * 70_000), 413)
        huge = {**new, "digest": "0" * 64, "bytes": 7_000_000_000}
        refused(http.post("/v2/uploads", json=huge), 429, "4.00 GB", "delete keys")
        opened = http.post("/v2/uploads", json=new).json()
        at = f"/v2/uploads/{opened['upload']}"
        refused(http.post("/v2/uploads", json={**new, "bytes": 1}), 409, "was begun with 1500000")
        header = {"content-digest": content_digest(data[:1_000_000])}
        refused(http.put(f"{at}/parts/0", content=data[:1_000_000]), 400, "Content-Digest")
        refused(
            http.put(f"{at}/parts/0", content=data[:9], headers=header), 400, "expected 1000000"
        )
        refused(http.put(f"{at}/parts/2", content=b"", headers=header), 404, "expected 0 to 1")
        other = b"1" + data[1:1_000_000]
        refused(http.put(f"{at}/parts/0", content=other, headers=header), 400, "send it again")
        refused(http.put(f"{at}/parts/0", content=data, headers=header), 413)
        refused(http.post(f"{at}/complete"), 409, "2 of 2 parts are missing")
        for number, part in enumerate((data[:1_000_000], data[1_000_000:])):
            http.put(f"{at}/parts/{number}", content=part,
                     headers={"content-digest": content_digest(part)})  # fmt: skip
        refused(http.post(f"{at}/complete"), 400, "evaluation keys")
        refused(http.get(at), 404, "no upload")


def content_digest(part: bytes) -> str:
    """The header of a part."""
    return f"sha-256=:{base64.b64encode(hashlib.sha256(part).digest()).decode()}:"


def test_tenants_see_nothing_of_each_other(service: Running, small: Linear, tmp_path: Path) -> None:
    other = service.tenant("other")
    with service.connect(tmp_path) as client, service.http(other) as http:
        model = client.model()
        model.upload_keys()
        job = model.submit(small.x[:1])
        job.wait()
        held = client.keys()
        (key,) = (file for file in held if file["key_id"] == client.secret.key_id)
        upload = client._session.json("POST", "/v2/uploads", json={"digest": "1" * 64, "bytes": 9})
        for method, path in (
            ("GET", f"/v2/jobs/{job.id}"),
            ("GET", f"/v2/jobs/{job.id}?wait=1"),
            ("GET", f"/v2/jobs/{job.id}/answer"),
            ("GET", f"/v2/jobs/{job.id}/events"),
            ("GET", f"/v2/jobs/{job.id}/receipt"),
            ("DELETE", f"/v2/jobs/{job.id}"),
            ("GET", f"/v2/keys/{key['digest']}"),
            ("DELETE", f"/v2/keys/{key['digest']}"),
            ("GET", f"/v2/uploads/{upload['upload']}"),
            ("POST", f"/v2/uploads/{upload['upload']}/complete"),
            ("DELETE", f"/v2/uploads/{upload['upload']}"),
        ):
            refused(http.request(method, path), 404)
        assert http.get("/v2/keys").json() == {"keys": []}
        assert http.get("/v2/jobs").json() == {"jobs": []}
        # Not even whether the same file or the same secret is known.
        opened = http.post("/v2/uploads", json={"digest": key["digest"], "bytes": key["bytes"]})
        assert opened.status_code == 201
        cover = http.get(f"/v2/models/linear/keys/{key['key_id']}").json()
        assert cover["held"] == []
        query = model.client.encrypt(small.x[:1]).to_bytes()
        refused(http.post("/v2/models/linear/jobs", content=query), 422, "no evaluation keys")


def test_limits_of_a_tenant(service: Running, small: Linear, tmp_path: Path) -> None:
    token = service.tenant("little", "--limit", "requests_per_minute=20", "--limit",
                           "key_bytes=1000")  # fmt: skip
    with service.connect(tmp_path, token, patience=0) as client:
        with pytest.raises(ServiceError, match="little: delete keys") as ended:
            client.predict(small.x[:1])
        assert ended.value.status == 429
        assert ended.value.kind.name == "resources"
        with service.http(token) as http:
            replies = [http.get("/v2/models") for _ in range(25)]
    refused(replies[-1], 429, "20 requests in a minute")
    assert 1 <= int(replies[-1].headers["retry-after"]) <= 61


def test_a_tenant_over_a_limit_is_refused_before_its_query_is_read(service: Running) -> None:
    token = service.tenant("spent", "--limit", "core_seconds_per_day=0.000001")
    with service.http(token) as http:
        for route in ("jobs", "infer"):
            no_query = http.post(f"/v2/models/linear/{route}", content=bytes(8_000_000))
            refused(no_query, 429, "spent has used", "core-seconds in a day")
            assert "retry-after" in no_query.headers
            assert http.get("/v2/models").status_code == 200  # the connection can be used further


def test_inference_requests_that_are_wrong(service: Running) -> None:
    at = "/v2/models/linear/infer"
    tensor = {"name": "query", "datatype": "BYTES", "shape": [1], "data": ["AAAA"]}
    with service.http() as http:
        refused(http.post(at, content=b"no"), 400, "no JSON")
        long = {"idempotency-key": "a" * 201}
        refused(http.post(at, json={"inputs": [tensor]}, headers=long), 422, "Idempotency-Key")
        refused(http.post(at, json={"inputs": []}), 400, "0 inputs")
        refused(http.post(at, json={}), 400, "inputs")
        refused(http.post(at, json={"inputs": [{**tensor, "datatype": "FP32"}]}), 400, "FP32")
        refused(http.post(at, json={"inputs": [{**tensor, "data": ["?"]}]}), 400, "base64")
        refused(http.post(at, json={"inputs": [{**tensor, "data": [[1.0]]}]}), 400, "base64")
        refused(http.post(at, json={"inputs": [tensor]}), 400, "encrypted images")
        header = json.dumps({"inputs": [{**tensor, "parameters": {"binary_data_size": 9}}]})
        for body, length, words in (
            (header, "0", "expected 1 to"),
            (header, "x", "expected 1 to"),
            (header, "99999999", "expected 1 to"),
            (header + "123456789", str(len(header)), "not one element of BYTES"),
            (header + "1234", str(len(header)), "4 bytes follow"),
        ):
            stated = {"inference-header-content-length": length}
            refused(http.post(at, content=body.encode(), headers=stated), 400, words)
        deep = b"[" * 60_000
        refused(http.post(at, content=deep), 400, "no JSON")


def test_a_job_that_has_ended_is_not_cancelled(
    service: Running, small: Linear, tmp_path: Path
) -> None:
    with service.connect(tmp_path) as client:
        job = client.model().submit(small.x[:1])
        job.wait()
        job.cancel()
        assert job.state["state"] == "done"


def test_headers_of_the_page(service: Running) -> None:
    reply = httpx.get(f"{service.url}/v2")
    assert "script-src 'self' 'wasm-unsafe-eval'" in reply.headers["content-security-policy"]
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert "server" not in reply.headers


def test_no_secret_reaches_the_service(service: Running, small: Linear, tmp_path: Path) -> None:
    """With a control: the same search finds the identity of the secret, which is sent."""
    with service.connect(tmp_path) as client:
        client.predict(small.x[:1])
        secret = client.secret.to_bytes()
        seed = secret[-64:-32]
    control = client.secret.key_id.encode()
    places = [*service.folder.rglob("*")]
    stored = [path.read_bytes() for path in places if path.is_file()]
    seen = "\n".join(service.log).encode()
    assert any(control in data for data in stored)
    for part in (seed, seed.hex().encode(), base64.b64encode(seed), secret[40:72]):
        assert not any(part in data for data in stored)
        assert part not in seen
    assert struct.pack("<I", 1) not in seen


def test_the_log_is_json_without_tokens(service: Running) -> None:
    with service.http() as http:
        http.get("/v2/models")
    assert service.events()
    assert not any(service.token in json.dumps(event) for event in service.events())
