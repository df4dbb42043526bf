"""Clients of others that speak the Open Inference Protocol, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from palladion._native import Query
from palladion.remote.service import RemoteModel
from palladion.support.records import Json

from tests.service.conftest import Linear, Running

CLIENTS = Path(__file__).parent / "protocol"

KSERVE = "PALLADION_TEST_KSERVE"
"""The Python of an environment with ``kserve``, whose packages differ from ours."""


def run(python: str, client: str, needs: str, service: Running, query: Query, to: Path) -> Json:
    """The words of a client that ran a query. The test is skipped without its package."""
    there = subprocess.run([python, "-c", f"import {needs}"], capture_output=True)
    if there.returncode:
        pytest.skip(f"{needs} is not installed for {python}: pip install {needs.split('.')[0]}")
    (to / "query").write_bytes(query.to_bytes())
    files = [str(to / "query"), str(to / "answer")]
    words = [python, str(CLIENTS / client), service.url, service.token, *files]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return dict(json.loads(done.stdout.strip().rpartition("\n")[2]))


def check(model: RemoteModel, query: Query, small: Linear, to: Path) -> None:
    """The answer is the model's."""
    found = model.client.decrypt((to / "answer").read_bytes(), query)
    expected = small.model.predict(small.x[:1])
    np.testing.assert_array_equal(found.integers, expected.integers)


def test_tritonclient(service: Running, small: Linear, tmp_path: Path) -> None:
    with service.connect(tmp_path / "home") as client:
        model = client.model()
        model.upload_keys()
        query = model.client.encrypt(small.x[:1])
        told = run(sys.executable, "triton.py", "tritonclient.http", service, query, tmp_path)
        check(model, query, small, tmp_path)
    assert told["live"] is told["ready"] is told["model_ready"] is True
    assert told["no_model_ready"] is False
    assert told["server"]["name"] == "palladion"
    assert told["model"]["versions"] == ["1", "2"]
    assert told["model"]["outputs"] == [{"name": "answer", "datatype": "BYTES", "shape": [1]}]
    assert told["reply"]["model_name"] == "linear"
    assert told["reply"]["id"] == "7"
    assert told["error"] == "there is no model 'cubic'; the models are: linear"
    assert told["status"] == "404"


def test_kserve(service: Running, small: Linear, tmp_path: Path) -> None:
    python = os.environ.get(KSERVE, sys.executable)
    with service.connect(tmp_path / "home") as client:
        model = client.model()
        model.upload_keys()
        query = model.client.encrypt(small.x[:1])
        told = run(python, "kserve_rest.py", "kserve", service, query, tmp_path)
        check(model, query, small, tmp_path)
    assert told["live"] is told["ready"] is told["model_ready"] is True
    assert told["model"] == "linear"
    assert told["id"] == "7"
