"""The Open Inference Protocol over gRPC, asked by NVIDIA's client and by bare messages."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import palladion
import pytest
from palladion import UsageError
from palladion._native import Query
from palladion.client import Client
from palladion.errors import KINDS, PalladionError
from palladion.remote.service import RemoteModel
from palladion.service import problems
from palladion.service.settings import Limits, Settings
from palladion.service.tenants import Tenant

from tests.conftest import Say
from tests.service.conftest import Linear, Running
from tests.service.test_service import wait_until

grpc = pytest.importorskip("grpc", reason="grpcio is not installed: pip install 'palladion[grpc]'")
triton = pytest.importorskip("tritonclient.grpc", reason="pip install 'palladion[grpc]'")

from palladion.service.front import rpc_calls  # noqa: E402
from palladion.service.front.rpcs import Rpcs  # noqa: E402
from tritonclient.utils import InferenceServerException  # noqa: E402

messages = triton.service_pb2
LARGEST = 1_000_000
"""The largest query of the service of these tests."""

MISSING = ["ModelConfig", "ModelStatistics", "RepositoryIndex", "RepositoryModelLoad",
           "SystemSharedMemoryStatus", "TraceSetting", "LogSettings"]  # fmt: skip


def address_of(service: Running) -> str:
    """Where a service listens for gRPC, as its log says."""
    (address,) = (event["address"] for event in service.events()
                  if event["message"] == "listening for gRPC")  # fmt: skip
    return str(address)


def start(folder: Path, small: Linear, **settings: Any) -> Running:
    """A service of a small model over HTTP and gRPC."""
    models = folder / "models" / "linear"
    models.mkdir(parents=True)
    for version in "12":
        (models / f"{version}.program").write_bytes(small.program.read_bytes())
    chosen = {"models": json.dumps({"linear": {"version": "1"}}), "grpc_port": 0,
              "largest_query_bytes": LARGEST, **settings}  # fmt: skip
    running = Running(folder / "data", folder / "models", chosen)
    running.start()
    return running


@pytest.fixture(scope="module")
def service(small: Linear, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service over HTTP and gRPC."""
    running = start(tmp_path_factory.mktemp("grpc"), small)
    yield running
    assert running.stop() == 0


@dataclass(frozen=True)
class Caller:
    """A client of HTTP whose keys the service has, and a channel of gRPC."""

    model: RemoteModel
    stub: Any
    token: str
    secret: bytes
    """The file of the secret, which stays at the client."""

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """Metadata with the token."""
        return (("authorization", f"Bearer {self.token}"),)

    def infer(self, request: Any, *more: tuple[str, str], timeout: float = 60.0) -> Any:
        """The response to a request."""
        return self.stub.ModelInfer(request, metadata=self.metadata + more, timeout=timeout)

    def refused(
        self, code: str, *words: str, call: str = "ModelInfer", request: Any = None, more: Any = ()
    ) -> Any:
        """The error of a call, which has a code and words."""
        with pytest.raises(grpc.RpcError) as ended:
            getattr(self.stub, call)(request, metadata=self.metadata + more, timeout=60)
        check(ended.value, code, *words)
        return ended.value


def check(error: Any, code: str, *words: str) -> None:
    """An error has a code and words."""
    assert error.code().name == code, error.details()
    for word in words:
        assert word in error.details(), error.details()


@pytest.fixture(scope="module")
def caller(service: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """A client of the service."""
    options = [("grpc.max_send_message_length", -1)]
    with (
        service.connect(tmp_path_factory.mktemp("home")) as client,
        grpc.insecure_channel(address_of(service), options=options) as channel,
    ):
        model = client.model()
        model.upload_keys()
        stub = triton.service_pb2_grpc.GRPCInferenceServiceStub(channel)
        yield Caller(model, stub, service.token, client.secret.to_bytes())


def raw(query: bytes, **fields: Any) -> Any:
    """A request with a query in raw bytes."""
    tensor = struct.pack("<I", len(query)) + query
    inputs = [{"name": "query", "datatype": "BYTES", "shape": [1]}]
    chosen = {"model_name": "linear", "inputs": inputs, "raw_input_contents": [tensor], **fields}
    return messages.ModelInferRequest(**chosen)


def in_contents(*queries: bytes) -> Any:
    """A request with queries in the contents of its tensor."""
    request = raw(b"", raw_input_contents=[])
    request.inputs[0].contents.bytes_contents.extend(queries)
    return request


def is_the_models(answer: bytes, model: RemoteModel, query: Query, small: Linear) -> None:
    """An answer decrypts to the integers of the model."""
    expected = small.model.predict(small.x[:1])
    np.testing.assert_array_equal(model.client.decrypt(answer, query).integers, expected.integers)


def test_the_client_of_others(service: Running, caller: Caller, small: Linear) -> None:
    headers = dict(caller.metadata)
    query = caller.model.client.encrypt(small.x[:1])
    with triton.InferenceServerClient(address_of(service)) as client:
        assert client.is_server_live()
        assert client.is_server_ready()
        assert client.is_model_ready("linear", "2", headers)
        server = client.get_server_metadata()
        assert (server.name, server.version) == ("palladion", palladion.__version__)
        with service.http() as http:
            told = http.get("/v2").json()
            metadata = http.get("/v2/models/linear").json()
        assert [*server.extensions] == told["extensions"]
        model = client.get_model_metadata("linear", headers=headers, as_json=True)
        for name in ("name", "versions", "platform"):
            assert model[name] == metadata[name]
        for name in ("inputs", "outputs"):
            tensors = [{**tensor, "shape": [*map(int, tensor["shape"])]} for tensor in model[name]]
            assert tensors == metadata[name]
        tensor = triton.InferInput("query", [1], "BYTES")
        tensor.set_data_from_numpy(np.array([query.to_bytes()], dtype=np.object_))
        reply = client.infer("linear", [tensor], request_id="7", headers=headers)
        (answer,) = reply.as_numpy("answer")
        is_the_models(answer, caller.model, query, small)
        response = reply.get_response()
        assert (response.model_name, response.model_version, response.id) == ("linear", "1", "7")
        names = {name: value.string_param for name, value in response.parameters.items()}
        assert names["program_id"] == metadata["parameters"]["program_id"]
        assert names["query_id"] == hashlib.sha256(query.to_bytes()).hexdigest()
        assert response.parameters["seconds"].double_param > 0
        with pytest.raises(InferenceServerException, match="there is no model 'cubic'") as ended:
            client.is_model_ready("cubic", headers=headers)
        assert ended.value.status() == "StatusCode.NOT_FOUND"


def test_the_example_of_the_page(
    service: Running,
    small: Linear,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PALLADION_HOME", str(tmp_path))
    page = (Path(__file__).parents[2] / "docs" / "service.md").read_text(encoding="utf-8")
    (example,) = (
        block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "triton" in block
    )
    for said, here in (
        ("http://127.0.0.1:8000", service.url),
        ("127.0.0.1:8001", address_of(service)),
        ("mymodel", "linear"),
    ):
        assert said in example
        example = example.replace(said, here)
    exec(example, {"token": service.token, "x": small.x[:1]})
    assert capsys.readouterr().out == f"{small.model.predict(small.x[:1]).outputs}\n"


def test_an_answer_comes_as_its_query_came(caller: Caller, small: Linear) -> None:
    query = caller.model.client.encrypt(small.x[:1])
    response = caller.infer(in_contents(query.to_bytes()))
    assert not response.raw_output_contents
    (answer,) = response.outputs[0].contents.bytes_contents
    is_the_models(answer, caller.model, query, small)
    response = caller.infer(raw(query.to_bytes()))
    assert not response.outputs[0].contents.bytes_contents
    (tensor,) = response.raw_output_contents
    assert struct.unpack_from("<I", tensor)[0] == len(tensor) - 4
    is_the_models(tensor[4:], caller.model, query, small)


def test_one_key_is_one_job(service: Running, caller: Caller, small: Linear) -> None:
    query, other = (caller.model.client.encrypt(small.x[:1]).to_bytes() for _ in range(2))
    name = ("idempotency-key", "twice")
    first, second = (caller.infer(raw(query), name) for _ in range(2))
    assert first.parameters["job"] == second.parameters["job"]
    with service.http() as http:  # over HTTP it is the same job too
        same = http.post(
            "/v2/models/linear/jobs", content=query, headers={"idempotency-key": "twice"}
        )
    assert same.json()["id"] == first.parameters["job"].string_param
    caller.refused("FAILED_PRECONDITION", "twice", request=raw(other), more=(name,))
    for wrong in ("a" * 201, "a b"):
        more = (("idempotency-key", wrong),)
        caller.refused("INVALID_ARGUMENT", "idempotency-key", request=raw(query), more=more)


@pytest.mark.parametrize("call", ["ModelInfer", "ModelMetadata", "ModelReady"])
def test_a_token_is_needed(caller: Caller, call: str) -> None:
    request = getattr(messages, f"{call}Request")()
    for metadata in (
        (),
        (("authorization", "Bearer palladion_wrong"),),
        (("authorization", "Basic a"),),
        (("authorization-bin", b"Bearer"),),
    ):
        with pytest.raises(grpc.RpcError) as ended:
            getattr(caller.stub, call)(request, metadata=metadata, timeout=60)
        check(ended.value, "UNAUTHENTICATED", "token")


def test_a_token_is_checked_before_a_message_is_read(service: Running, caller: Caller) -> None:
    never = threading.Event()

    def nothing() -> Iterator[bytes]:
        never.wait(60)
        yield b""

    with grpc.insecure_channel(address_of(service)) as channel:
        call = channel.stream_unary("/inference.GRPCInferenceService/ModelInfer")
        with pytest.raises(grpc.RpcError) as ended:
            call(nothing(), timeout=60)
        never.set()
        check(ended.value, "UNAUTHENTICATED", "has no token")
        # A call without a message, and one that is none of the protocol.
        for sent, words in (([], "expected a ModelInferRequest"), ([b"\xff"], "no ModelInfer")):
            with pytest.raises(grpc.RpcError) as ended:
                call(iter(sent), metadata=caller.metadata, timeout=60)
            check(ended.value, "INVALID_ARGUMENT", words)


def test_models_and_versions_that_are_not_there(caller: Caller) -> None:
    for call in ("ModelReady", "ModelMetadata"):
        kind = getattr(messages, f"{call}Request")
        caller.refused("NOT_FOUND", "the models are: linear", call=call, request=kind(name="x"))
        request = kind(name="linear", version="9")
        caller.refused("NOT_FOUND", "the versions are: 1, 2", call=call, request=request)
    caller.refused("NOT_FOUND", "'cubic'", request=raw(b"", model_name="cubic"))


def test_requests_that_are_wrong(caller: Caller, small: Linear) -> None:
    query = caller.model.client.encrypt(small.x[:1]).to_bytes()
    tensor = struct.pack("<I", len(query)) + query
    described = {"name": "query", "datatype": "BYTES", "shape": [1]}
    both = raw(query)
    both.inputs[0].contents.bytes_contents.append(query)
    wait = raw(query)
    wait.parameters["wait"].double_param = -1
    wait_in_words = raw(query)
    wait_in_words.parameters["wait"].string_param = "long"
    for request, words in (
        (raw(query, inputs=[described, described]), "2 inputs, expected one"),
        (raw(query, inputs=[]), "0 inputs"),
        (raw(query, inputs=[{**described, "datatype": "FP32"}]), "an input FP32"),
        (raw(query, inputs=[{**described, "shape": [2]}]), "of shape [2], expected BYTES"),
        (raw(query, raw_input_contents=[tensor, tensor]), "2 tensors in raw_input_contents"),
        (raw(query, raw_input_contents=[]), "0 tensors in raw_input_contents and 0 elements"),
        (raw(query, raw_input_contents=[tensor[:-1]]), "not one element of BYTES"),
        (raw(query, raw_input_contents=[tensor + b"0"]), "not one element of BYTES"),
        (raw(query, raw_input_contents=[b"\xff" * 4 + query]), "not one element of BYTES"),
        (raw(query, raw_input_contents=[b"\0"]), "not one element of BYTES"),
        (both, "1 tensors in raw_input_contents and 1 elements"),
        (in_contents(query, query), "2 elements in bytes_contents"),
        (wait, "the parameter wait is -1.0"),
        (wait_in_words, "the parameter wait is 'long'"),
        (raw(b""), "an empty file"),
        (raw(b"{}"), "JSON"),
        (raw(query[:-1]), ""),
        (raw(query[:99] + b"0" + query[100:]), ""),
    ):
        caller.refused("INVALID_ARGUMENT", words, request=request)


def test_a_query_of_another_program_or_without_keys(caller: Caller, small: Linear) -> None:
    terms = palladion.CompiledModel.of_network(palladion.mnist_network()).terms
    other = Client.generate(terms).encrypt_integers(np.zeros((1, 784), dtype=np.int64))
    request = raw(other.to_bytes())
    caller.refused("FAILED_PRECONDITION", "linear version 1", "client's file", request=request)
    stranger = Client.generate(caller.model.client.terms).encrypt(small.x[:1]).to_bytes()
    caller.refused("FAILED_PRECONDITION", "no evaluation keys", request=raw(stranger))


def test_messages_that_are_too_large(service: Running, caller: Caller) -> None:
    words = "a query of 1.0 MB, expected at most 1.0 MB"
    caller.refused("RESOURCE_EXHAUSTED", words, request=raw(bytes(LARGEST + 1)))
    error = caller.refused("RESOURCE_EXHAUSTED", request=raw(bytes(LARGEST + 70_000)))
    assert "larger than max" in error.details()
    # Compressed messages would grow.
    with grpc.insecure_channel(address_of(service), compression=grpc.Compression.Gzip) as channel:
        call = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
        data = raw(bytes(LARGEST)).SerializeToString()
        with pytest.raises(grpc.RpcError) as ended:
            call(data, metadata=caller.metadata, timeout=60)
    check(ended.value, "UNIMPLEMENTED", "gzip")


def test_a_tenant_over_a_limit(service: Running, caller: Caller, small: Linear) -> None:
    token = service.tenant("fast", "--limit", "requests_per_minute=3")
    fast = replace(caller, token=token)
    request = messages.ModelReadyRequest(name="linear")
    for _ in range(3):
        caller.stub.ModelReady(request, metadata=fast.metadata, timeout=60)
    error = fast.refused(
        "RESOURCE_EXHAUSTED", "3 requests in a minute", call="ModelReady", request=request
    )
    assert 1 <= int(dict(error.trailing_metadata())["retry-after"]) <= 61
    with service.http(token) as http:  # both protocols count together
        assert http.get("/v2/models").status_code == 429
    token = service.tenant("spent", "--limit", "core_seconds_per_day=1e-6")
    spent = replace(caller, token=token)
    query = caller.model.client.encrypt(small.x[:1]).to_bytes()
    error = spent.refused("RESOURCE_EXHAUSTED", "core-seconds in a day", request=raw(query))
    assert "retry-after" in dict(error.trailing_metadata())


def test_calls_that_there_are_not(service: Running, caller: Caller) -> None:
    for name in MISSING:
        request = getattr(messages, f"{name}Request")()
        words = f"there is no call {name}; the calls are: ServerLive"
        caller.refused("UNIMPLEMENTED", words, call=name, request=request)
    with pytest.raises(grpc.RpcError) as ended:
        next(caller.stub.ModelStreamInfer(iter([raw(b"")]), timeout=60))
    check(ended.value, "UNIMPLEMENTED", "ModelStreamInfer")
    # Nothing tells what there is to those who do not know it.
    with grpc.insecure_channel(address_of(service)) as channel:
        at = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
        with pytest.raises(grpc.RpcError) as ended:
            next(channel.stream_stream(at)(iter([b""]), timeout=60))
        check(ended.value, "UNIMPLEMENTED")


def test_a_query_of_many_calls_at_once(caller: Caller, small: Linear) -> None:
    queries = [caller.model.client.encrypt(small.x[:1]) for _ in range(12)]
    with ThreadPoolExecutor(12) as pool:
        asked = [pool.submit(caller.infer, raw(query.to_bytes())) for query in queries]
    for query, call in zip(queries, asked, strict=True):
        is_the_models(call.result().raw_output_contents[0][4:], caller.model, query, small)


def test_bytes_of_all_kinds(service: Running, caller: Caller, small: Linear) -> None:
    """Whatever comes is refused with words, and is no fault of the service."""
    token = service.tenant("random", "--limit", "requests_per_minute=100000")
    metadata = replace(caller, token=token).metadata
    rng = np.random.default_rng(7)
    whole = raw(caller.model.client.encrypt(small.x[:1]).to_bytes()).SerializeToString()
    with grpc.insecure_channel(address_of(service)) as channel:
        for count in range(150):
            name = ("ModelInfer", "ModelMetadata", "ModelReady")[count % 3]
            data = bytearray(whole[: rng.integers(len(whole))] if count % 2 else whole)
            for at in rng.integers(min(120, len(data) + 1), size=count % 5):
                data[at : at + 1] = rng.bytes(int(rng.integers(3)))
            call = channel.unary_unary(f"/inference.GRPCInferenceService/{name}")
            ended = call.future(bytes(data), metadata=metadata, timeout=60).exception(timeout=60)
            codes = {"FAILED_PRECONDITION", "INVALID_ARGUMENT", "NOT_FOUND"}
            assert ended is None or ended.code().name in codes, (count, ended)
    host, _, port = address_of(service).rpartition(":")
    for hello in (b"GET / HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + rng.bytes(999),
                  rng.bytes(9999)):  # fmt: skip
        with socket.create_connection((host, int(port)), 10) as bare:
            bare.sendall(hello)
            with suppress(OSError):
                bare.recv(99)
    assert caller.stub.ServerLive(messages.ServerLiveRequest(), timeout=60).live


def test_calls_are_counted(service: Running, caller: Caller) -> None:
    caller.stub.ServerLive(messages.ServerLiveRequest(), timeout=60)
    caller.refused("NOT_FOUND", request=raw(b"", model_name="cubic"))
    with service.http() as http:
        figures = http.get("/metrics").text
    at = "/inference.GRPCInferenceService/"
    assert f'palladion_requests_total{{route="{at}ServerLive",status="OK"}}' in figures
    assert f'palladion_requests_total{{route="{at}ModelInfer",status="NOT_FOUND"}}' in figures
    assert "TraceSetting" not in figures  # names are the client's choice


def test_the_log_has_no_token_no_secret_and_no_address(service: Running, caller: Caller) -> None:
    lines = [line for line in service.log if line != service.token]
    text = "\n".join(lines)
    assert service.token not in text
    for line in lines[lines.index(service.url) + 1 :]:
        assert isinstance(json.loads(line), dict)  # the core of gRPC writes nothing there
    own = [event for event in service.events() if event.get("address")]
    assert [event["message"] for event in own] == ["listening for gRPC"]
    assert "ipv4:" not in text
    assert "Traceback" not in text
    seed = caller.secret[-64:-32]
    stored = [path.read_bytes() for path in service.folder.rglob("*") if path.is_file()]
    assert any(caller.model.client.key_id.encode() in data for data in stored)  # a control
    for part in (seed, seed.hex().encode(), base64.b64encode(seed)):
        assert not any(part in data for data in stored)
        assert part not in text.encode()


def test_a_job_that_takes_longer(small: Linear, tmp_path: Path) -> None:
    """Without workers no job ends: a call ends after its wait, before the client's own deadline,
    or when the service stops."""
    running = start(tmp_path, small, workers=0)
    name = ("idempotency-key", "patient")
    with (
        running.connect(tmp_path / "home") as client,
        grpc.insecure_channel(address_of(running)) as channel,
    ):
        model = client.model()
        model.upload_keys()
        stub = triton.service_pb2_grpc.GRPCInferenceServiceStub(channel)
        caller = Caller(model, stub, running.token, client.secret.to_bytes())
        request = raw(model.client.encrypt(small.x[:1]).to_bytes())
        request.parameters["wait"].int64_param = 0
        error = caller.refused(
            "DEADLINE_EXCEEDED", "no answer after 0 seconds", request=request, more=(name,)
        )
        job = dict(error.trailing_metadata())["palladion-job"]
        assert job in error.details()
        with running.http() as http:
            assert http.get(f"/v2/jobs/{job}").json()["state"] == "queued"
        del request.parameters["wait"]
        with pytest.raises(grpc.RpcError) as ended:
            caller.infer(request, name, timeout=2.5)
        check(ended.value, "DEADLINE_EXCEEDED", job)

        def cancelled() -> bool:
            call = stub.ModelInfer.future(request, metadata=(*caller.metadata, name), timeout=60)
            with pytest.raises(grpc.FutureTimeoutError):
                call.result(timeout=1)  # until it waits: one whose message is read has no job yet
            call.cancel()
            return 'ModelInfer",status="CANCELLED"}' in http.get("/metrics").text

        with running.http() as http:
            wait_until(cancelled)
            (only,) = http.get("/v2/jobs").json()["jobs"]
        assert (only["id"], only["state"]) == (job, "queued")
        call = stub.ModelInfer.future(request, metadata=(*caller.metadata, name), timeout=60)
        stub.ServerReady(messages.ServerReadyRequest(), timeout=60)
        assert running.stop() == 0
        error = call.exception(timeout=60)
        check(error, "UNAVAILABLE", "the service stops", job)
        assert dict(error.trailing_metadata())["palladion-job"] == job
        with pytest.raises(grpc.RpcError) as ended:
            stub.ServerLive(messages.ServerLiveRequest(), timeout=10)
        check(ended.value, "UNAVAILABLE")


def test_messages_are_read_in_turns() -> None:
    async def run() -> None:
        turns = rpc_calls.Turns()
        tenants = [tenant(name) for name in "abcde"]
        async with AsyncExitStack() as held:
            for _ in range(rpc_calls.READERS_OF_TENANT):
                await held.enter_async_context(turns.of(tenants[0]))
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(held.enter_async_context(turns.of(tenants[0])), 0.01)
            for other in tenants[1:4]:  # one tenant alone does not stop the others
                for _ in range(rpc_calls.READERS_OF_TENANT):
                    await held.enter_async_context(turns.of(other))
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(held.enter_async_context(turns.of(tenants[4])), 0.01)
        async with turns.of(tenants[4]):
            pass

    asyncio.run(run())


def tenant(name: str) -> Tenant:
    """A tenant."""
    return Tenant(name, name, 1.0, Limits())


def test_a_message_that_does_not_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rpc_calls, "READ_SECONDS", 0.01)
    context = SimpleNamespace(read=lambda: asyncio.sleep(60))
    with pytest.raises(problems.RequestError, match="no whole message"):
        asyncio.run(rpc_calls.read(context, messages.ModelInferRequest))


def subclasses(kind: type[Any]) -> Iterator[type[Any]]:
    """A class and all below it."""
    yield kind
    for below in kind.__subclasses__():
        yield from subclasses(below)


def test_every_error_has_a_code(caplog: pytest.LogCaptureFixture) -> None:
    for kind in KINDS:
        error = PalladionError("words")
        error.kind = kind
        ending = rpc_calls.Ending.of(error)
        assert hasattr(grpc.StatusCode, ending.code)
        assert ending.detail == "words"
    for request_error in subclasses(problems.RequestError):
        if request_error is rpc_calls.CallError:
            continue
        ending = rpc_calls.Ending.of(request_error("words", 3.0))
        assert ending.code == problems.RPC_CODES[request_error.status]
        assert hasattr(grpc.StatusCode, ending.code)
        assert ending.trailing == (("retry-after", "4"),)
    ending = rpc_calls.Ending.of(ValueError("the secret is 7"))
    assert ending.code == "INTERNAL"
    assert "secret" not in ending.detail
    long = rpc_calls.Ending.of(problems.RequestError("x" * 10_000))
    assert len(long.detail) == rpc_calls.LONGEST_DETAIL


def test_ports_that_cannot_be_had(small: Linear, say: Say, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "linear.program").write_bytes(small.program.read_bytes())
    line = ["serve", tmp_path / "models", "--data", tmp_path / "data", "--port", "0"]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = say(*line, "--grpc-port", port)
    assert done.status == 6
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in done.err
    checked = say(*line, "--grpc-port", "8001", "--check")
    assert "gRPC would listen on 127.0.0.1:8001" in checked.out
    checked = say(*line, "--grpc-port", "8001", "--check", "--json")
    assert json.loads(checked.out)["grpc"] == "127.0.0.1:8001"
    assert json.loads(say(*line, "--check", "--json").out)["grpc"] is None
    assert say(*line[:-1], "8001", "--grpc-port", "8001", "--check").status == 2


def test_a_port_that_another_takes_before_it_listens() -> None:
    async def run() -> None:
        # The other one would share it.
        with socket.create_server(("127.0.0.1", 0), reuse_port=True) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            server = Rpcs(front, address, grace=1.0)
            with pytest.raises(UsageError, match=f"cannot listen on {address} for gRPC"):
                await server.start()
            await server.end()

    settings = SimpleNamespace(largest_query_bytes=LARGEST)
    front: Any = SimpleNamespace(parts=SimpleNamespace(settings=settings))
    asyncio.run(run())


def test_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Settings.read().grpc_address is None
    monkeypatch.setenv("PALLADION_SERVE_GRPC_PORT", "9001")
    assert Settings.read().grpc_address == "127.0.0.1:9001"
    assert Settings.read(host="::1").grpc_address == "[::1]:9001"
    with pytest.raises(UsageError, match=r"grpc_port = '9001': .*the port of HTTP too"):
        Settings.read(port=9001)


@pytest.mark.parametrize("absent", ["grpc", "tritonclient.grpc"])
def test_without_the_extra_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, say: Say, tmp_path: Path, absent: str
) -> None:
    monkeypatch.setitem(sys.modules, absent, None)
    monkeypatch.delitem(sys.modules, "palladion.service.open_inference")
    (tmp_path / "models").mkdir()
    line = ["serve", tmp_path / "models", "--data", tmp_path / "data", "--grpc-port", "0"]
    done = say(*line, "--check")
    assert done.status == 2
    assert f"needs {absent}" in done.err
    assert "pip install 'palladion[grpc]'" in done.err
