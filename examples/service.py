"""Serve the network for digits, and classify some from Python, from the command line and by curl.

`make serve-demo` runs this. It starts a service on this machine, as an operator would, and is then
three of its clients. The service computes on ciphertexts; the secret stays in the client's folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np
import palladion

COMMAND = [sys.executable, "-m", "palladion.cli"]


def digit(prediction: palladion.Prediction) -> int:
    """The class of the first input."""
    assert prediction.classes is not None
    return int(prediction.classes[0])


sample = palladion.mnist_sample()
pixels, labels = sample.images[:2, None] / 255, sample.labels

with tempfile.TemporaryDirectory() as name:
    # The operator: a program in a folder, and a service that serves it.
    folder = Path(name)
    (folder / "models").mkdir()
    program = palladion.CompiledModel.of_network(palladion.mnist_network())
    program.save(folder / "models" / "digits.program")
    line = ["serve", folder / "models", "--data", folder / "data", "--port", "0"]
    service = subprocess.Popen([*COMMAND, *map(str, line)], stderr=subprocess.PIPE, text=True)
    assert service.stderr is not None
    said = [service.stderr.readline().strip() for _ in range(3)]
    token, url = said[1], said[2]
    print(f"a service at {url}")

    # A client in Python. The first call makes and uploads 233 MB of keys.
    with palladion.connect(url, token, home=folder / "home") as client:
        began = time.perf_counter()
        first = client.predict(pixels[:1])
        print(f"Python: a {digit(first)}, in {time.perf_counter() - began:.1f} s with new keys")
        began = time.perf_counter()
        second = client.predict(pixels[1:])
        print(f"Python: a {digit(second)}, in {time.perf_counter() - began:.1f} s")
        assert [digit(first), digit(second)] == [*labels[:2]]

    # The command, with the secret and the keys that are there.
    np.save(folder / "x.npy", pixels[:1])
    environment = {**os.environ, "PALLADION_TOKEN": token}
    line = ["remote", "predict", folder / "x.npy", "--url", url, "--home", folder / "home"]
    done = subprocess.run([*COMMAND, *map(str, line)], env=environment, check=True,
                          capture_output=True, text=True)  # fmt: skip
    print("command:", done.stdout.splitlines()[0])

    # Plain HTTP, as curl does: bytes of a query in, bytes of an answer out.
    (secret,) = (folder / "home").glob("*.secret")
    own = palladion.Client.of(program.terms, palladion.Secret.load(secret))
    query = own.encrypt(pixels[:1])
    headers = {"authorization": f"Bearer {token}"}
    with httpx.Client(base_url=url, headers=headers, timeout=120) as http:
        job = http.post("/v2/models/digits/jobs?wait=60", content=query.to_bytes()).json()
        while job["state"] in ("queued", "running"):
            job = http.get(f"/v2/jobs/{job['id']}?wait=60").json()
        answer = http.get(f"/v2/jobs/{job['id']}/answer").content
    print(f"HTTP: a {digit(own.decrypt(answer, query))}, {job['seconds']:.1f} s of computing")

    service.terminate()
    service.communicate()
    assert service.returncode == 0
