"""Requests that succeed: keys, jobs, answers, versions, and the Open Inference Protocol."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import struct
import threading
from collections.abc import Callable
from pathlib import Path

import httpx
import numpy as np
import palladion
import pytest
from palladion.client import Client
from palladion.deployment import CompiledModel
from palladion.remote.receipt import Receipt

from tests.service.conftest import Linear, Running


def test_three_lines_give_the_models_outputs(
    service: Running, small: Linear, tmp_path: Path
) -> None:
    with service.connect(tmp_path) as client:
        found = client.predict(small.x[:5])  # three jobs: the batch is 2
        again = client.predict(small.x[5:6])
    expected = small.model.predict(small.x[:6])
    assert found.integers is not None
    assert expected.integers is not None
    np.testing.assert_array_equal(found.integers, expected.integers[:5])
    np.testing.assert_array_equal(again.integers, expected.integers[5:])
    # The secret stays at home, and the keys have gone.
    assert [path.suffix for path in tmp_path.iterdir()] == [".secret"]
    assert (next(tmp_path.iterdir()).stat().st_mode & 0o77) == 0


def test_keys_are_uploaded_once_for_all_versions(
    service: Running, small: Linear, tmp_path: Path
) -> None:
    with service.connect(tmp_path) as client:
        client.predict(small.x[:1], version="1")
        before = client.keys()
        client.predict(small.x[:1], version="2")
        assert client.keys() == before
    with service.connect(tmp_path) as client:  # a new process
        client.predict(small.x[:1])
        assert client.keys() == before


def test_the_service_chooses_the_version_of_the_settings(service: Running, tmp_path: Path) -> None:
    with service.connect(tmp_path) as client:
        assert client.models() == {"linear": ["1", "2"]}
        assert client.model().version == "1"
        assert client.model(version="2").version == "2"
    assert any("broken.program" in line for line in service.log)


def test_an_answer_is_the_librarys(service: Running, small: Linear, tmp_path: Path) -> None:
    """Encrypted and run by hand, with the bytes that the service gets."""
    program = CompiledModel.load(small.program)
    with service.connect(tmp_path) as client:
        model = client.model()
        model.upload_keys()
        query = model.client.encrypt(small.x[:2])
        with service.http() as http:
            job = post(http, query.to_bytes(), wait=30)
            assert job["state"] == "done"
            answer = http.get(f"/v2/jobs/{job['id']}/answer")
        keys = model.client.keys()
        ours = model.client.decrypt(program.run(keys, query), query)
        theirs = model.client.decrypt(answer.content, query)
    np.testing.assert_array_equal(ours.integers, theirs.integers)
    assert answer.headers["palladion-program-id"] == program.terms.program_id == job["program_id"]
    assert answer.headers["palladion-query-id"] == query.hash().hex() == job["query_id"]
    assert job["key_id"] == model.client.key_id


def post(
    http: httpx.Client, query: bytes, wait: float = 0, name: str | None = None
) -> dict[str, object]:
    """Submit a query as curl does."""
    sent = {"content-type": "application/octet-stream"}
    if name is not None:
        sent["idempotency-key"] = name
    reply = http.post("/v2/models/linear/jobs", params={"wait": wait}, content=query, headers=sent)
    assert reply.is_success, reply.text
    return dict(reply.json())


def test_the_same_request_twice_is_one_job(service: Running, small: Linear, tmp_path: Path) -> None:
    with service.connect(tmp_path) as client, service.http() as http:
        model = client.model()
        model.upload_keys()
        first, other = (model.client.encrypt(small.x[:1]).to_bytes() for _ in range(2))
        job = post(http, first, name="abc")
        assert post(http, first, name="abc")["id"] == job["id"]
        headers = {"idempotency-key": "abc"}
        reply = http.post("/v2/models/linear/jobs", content=other, headers=headers)
        assert reply.status_code == 409
        assert "was used for another query" in reply.json()["detail"]
        assert post(http, first)["id"] != job["id"]


def test_events_tell_a_job_until_its_end(service: Running, small: Linear, tmp_path: Path) -> None:
    with service.connect(tmp_path) as client, service.http() as http:
        model = client.model()
        model.upload_keys()
        job = post(http, model.client.encrypt(small.x[:1]).to_bytes())
        with http.stream("GET", f"/v2/jobs/{job['id']}/events") as reply:
            lines = [line for line in reply.iter_lines() if line.startswith(("event:", "data:"))]
        assert lines[0] == "event: job"
        states = [json.loads(line[5:])["state"] for line in lines if line.startswith("data:")]
        assert states[-1] == "done"
        assert set(states) <= {"queued", "running", "done"}
        assert client.jobs()[0]["id"] == job["id"]


def test_the_open_inference_protocol(service: Running, small: Linear, tmp_path: Path) -> None:
    with service.connect(tmp_path) as client, service.http() as http:
        assert http.get("/v2").json()["name"] == "palladion"
        assert http.get("/v2/health/live").json() == {"live": True}
        facts = http.get("/v2/models/linear").json()
        assert facts["inputs"] == [{"name": "query", "datatype": "BYTES", "shape": [1]}]
        assert http.get("/v2/models/linear/versions/2/ready").json() == {"ready": True}
        model = client.model()
        model.upload_keys()
        query = model.client.encrypt(small.x[:1])
        tensor = struct.pack("<I", len(query.to_bytes())) + query.to_bytes()
        header = json.dumps({"inputs": [{
            "name": "query", "datatype": "BYTES", "shape": [1],
            "parameters": {"binary_data_size": len(tensor)},
        }]}).encode()  # fmt: skip
        length = {"inference-header-content-length": str(len(header))}
        reply = http.post("/v2/models/linear/infer", content=header + tensor, headers=length)
        assert reply.status_code == 200, reply.text
        at = int(reply.headers["inference-header-content-length"])
        (output,) = json.loads(reply.content[:at])["outputs"]
        assert output["parameters"]["binary_data_size"] == len(reply.content) - at
        binary = model.client.decrypt(reply.content[at + 4 :], query)

        text = {"inputs": [{"name": "query", "datatype": "BYTES", "shape": [1],
                            "data": [base64.b64encode(query.to_bytes()).decode()]}]}  # fmt: skip
        reply = http.post("/v2/models/linear/infer", json=text)
        (output,) = reply.json()["outputs"]
        plain = model.client.decrypt(base64.b64decode(output["data"][0]), query)
    expected = small.model.predict(small.x[:1]).integers
    np.testing.assert_array_equal(binary.integers, expected)
    np.testing.assert_array_equal(plain.integers, expected)


def test_parts_come_in_any_order_and_twice(service: Running, small: Linear, tmp_path: Path) -> None:
    client = Client.generate(CompiledModel.load(small.program).terms)
    client.write_keys(tmp_path / "keys")
    data = (tmp_path / "keys").read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    with service.http() as http:
        new = {"digest": digest, "bytes": len(data)}
        opened = http.post("/v2/uploads", json=new).json()
        at = f"/v2/uploads/{opened['upload']}"
        count, length = opened["parts"], opened["part_bytes"]
        assert count == -(-len(data) // 1_000_000)
        assert opened["missing"] == [*range(count)]
        for number in [count - 1, *range(count - 1), 0]:
            if number == 0:  # a client that begins anew finds the same upload
                again = http.post("/v2/uploads", json=new).json()
                assert again["upload"] == opened["upload"]
            part = data[number * length : (number + 1) * length]
            put(http, f"{at}/parts/{number}", part)
        stored = http.post(f"{at}/complete")
        assert stored.status_code == 201, stored.text
        assert stored.json()["key_id"] == client.key_id
        assert stored.json()["bytes"] == len(data)
        assert http.post("/v2/uploads", json=new).json()["complete"]
        assert http.head(f"/v2/keys/{digest}").status_code == 200
        assert http.delete(f"/v2/keys/{digest}").status_code == 204
        assert http.head(f"/v2/keys/{digest}").status_code == 404


def put(http: httpx.Client, path: str, part: bytes) -> None:
    """Send a part."""
    digest = base64.b64encode(hashlib.sha256(part).digest()).decode()
    reply = http.put(path, content=part, headers={"content-digest": f"sha-256=:{digest}:"})
    assert reply.status_code == 204, reply.text


def test_a_receipt_says_which_program_ran(service: Running, small: Linear, tmp_path: Path) -> None:
    with service.connect(tmp_path) as client, service.http() as http:
        key = http.get("/v2").json()["receipt_key"]
        job = client.model(version="2").submit(small.x[:1])
        receipt = job.receipt(key)
        assert receipt.facts["program_id"] == client.model(version="2").client.terms.program_id
        assert receipt.facts["answer_digest"] == hashlib.sha256(job.answer()).hexdigest()
        assert receipt.facts["version"] == "2"
        data = http.get(f"/v2/jobs/{job.id}/receipt").json()
    with pytest.raises(palladion.DataError, match="expected AAAA"):
        Receipt.checked(data, "AAAA")
    changed = data["statement"].replace('"version": "2"', '"version": "1"')
    assert changed != data["statement"]
    with pytest.raises(palladion.DataError, match="signature of the receipt is wrong"):
        Receipt.checked({**data, "statement": changed})
    with pytest.raises(palladion.DataError, match="no receipt"):
        Receipt.checked({})
    assert (service.folder / "receipt.key").stat().st_mode & 0o77 == 0


def test_the_client_of_asyncio(service: Running, small: Linear, tmp_path: Path) -> None:
    async def ask() -> list[palladion.Prediction]:
        async with await palladion.connect_async(
            service.url, service.token, home=tmp_path
        ) as client:
            assert await client.models() == {"linear": ["1", "2"]}
            first = await client.predict(small.x[:1])
            both = [client.predict(small.x[at : at + 1]) for at in (1, 2)]
            return [first, *await asyncio.gather(*both)]

    for at, found in enumerate(asyncio.run(ask())):
        expected = small.model.predict(small.x[at : at + 1])
        np.testing.assert_array_equal(found.integers, expected.integers)


def test_the_page_of_figures(service: Running) -> None:
    with service.http() as http:
        text = http.get("/metrics").text
    assert 'palladion_jobs{state="done"}' in text
    assert "palladion_store_free_bytes" in text
    assert "default" not in text  # the name of the tenant


def test_without_the_extra_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(palladion.UsageError, match=r"palladion\[remote\]"):
        palladion.connect("http://localhost", "token")


def test_a_model_changes_while_the_service_runs(
    service: Running, small: Linear, tmp_path: Path
) -> None:
    """A version appears, serves, and goes."""
    new = service.models / "linear" / "10.program"
    with service.connect(tmp_path) as client:
        new.write_bytes(small.program.read_bytes())
        wait_until(lambda: "10" in client.models()["linear"])
        assert client.models() == {"linear": ["1", "2", "10"]}
        found = client.predict(small.x[:1], version="10")
        new.unlink()
        wait_until(lambda: "10" not in client.models()["linear"])
        with pytest.raises(palladion.ServiceError, match="there is no version '10'"):
            client.model(version="10")
        np.testing.assert_array_equal(
            found.integers, client.predict(small.x[:1], version="1").integers
        )


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    for _ in range(300):
        if holds():
            return
        threading.Event().wait(0.1)
    raise AssertionError("it did not happen within 30 seconds")
