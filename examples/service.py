"""Serve the network for digits to Python, to the command line, to HTTP and to a browser.

`make serve-demo` runs this. It starts a service on this machine, as an operator would, and is then
four of its clients. The service computes on ciphertexts; the secret stays with each client. The
browser is a headless Chromium that draws a digit on the service's page. It is left out, with a
message, where `make web` has not built the page or there is no Node.js or no Chromium.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np
import palladion

COMMAND = [sys.executable, "-m", "palladion.cli"]
WEB = Path(__file__).parent.parent / "web"
PAGE = Path(palladion.__file__).parent / "service" / "page"
BROWSERS = ("chromium-headless-shell", "chromium")


def digit(prediction: palladion.Prediction) -> int:
    """The class of the first input."""
    assert prediction.classes is not None
    return int(prediction.classes[0])


def missing_for_browser() -> str:
    """The first thing that this machine lacks for the browser, or an empty text."""
    if not PAGE.is_dir() or not (WEB / "node_modules").is_dir():
        return "no page, `make web` builds it"
    if shutil.which("node") is None:
        return "no Node.js"
    named = os.environ.get("PALLADION_BROWSER")
    return "" if named or any(map(shutil.which, BROWSERS)) else f"none of {', '.join(BROWSERS)}"


def try_browser(url: str, token: str, pictures: Path) -> None:
    """Draw a digit on the page of a service, with pictures of each state of the page."""
    environment = {
        **os.environ,
        "PALLADION_URL": url,
        "PALLADION_TOKEN": token,
        "PALLADION_SCREENSHOTS": str(pictures),
        "PALLADION_PYTHON": sys.executable,
    }
    line = ["node", "--test", "test/page.test.mjs"]
    done = subprocess.run(line, cwd=WEB, env=environment, check=False, capture_output=True,
                          text=True)  # fmt: skip
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    for said in done.stdout.splitlines():
        if " keys in " in said or " encrypt" in said.lower():
            print("browser:", said.strip())
    print(f"browser: a drawn 7 is a 7; {len(list(pictures.glob('*.png')))} pictures in {pictures}")


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

    # A client in Python. The first call makes and uploads 162 MB of keys.
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

    # A browser: it makes its own secret and keys, encrypts what is drawn, and decrypts the answer.
    if lack := missing_for_browser():
        print(f"browser: NOT RUN, {lack}")
    else:
        try_browser(url, token, Path(tempfile.gettempdir()) / "palladion-page")

    service.terminate()
    service.communicate()
    assert service.returncode == 0
