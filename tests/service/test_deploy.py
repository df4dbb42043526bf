"""The files for deployment: they name options, settings and paths that exist."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from palladion.cli.serve import serve
from palladion.service.settings import PREFIX, Settings
from palladion.service.worker.supervisor import GRACE
from palladion.support.records import Json

DEPLOY = Path(__file__).parents[2] / "deploy"


def options_of(monkeypatch: pytest.MonkeyPatch, words: list[str]) -> Json:
    """The options of a line ``palladion serve ...``, as the command reads them."""
    assert words[0] == "serve"
    # Files of settings and folders of programs are not on this machine.
    paths = [parameter for parameter in serve.params if isinstance(parameter.type, click.Path)]
    for parameter in paths:
        monkeypatch.setattr(parameter, "type", click.Path())
    return serve.make_context("serve", [*words[1:]]).params


def check_variables(text: str) -> None:
    """Variables of the environment are settings."""
    for name in re.findall(rf"{PREFIX}(\w+)", text):
        assert name.partition("__")[0].lower() in Settings.model_fields, name


def test_the_file_of_settings() -> None:
    settings = Settings.read(DEPLOY / "serve.toml")
    assert settings.host == "127.0.0.1"
    assert settings.data == Path("/var/lib/palladion")


def test_the_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (DEPLOY / "palladion.service").read_text()
    line = re.search(r"^ExecStart=(.*)$", text, re.MULTILINE)
    assert line is not None
    program, *words = shlex.split(line[1])
    assert str(options_of(monkeypatch, words)["config"]) == "/etc/palladion/serve.toml"
    seconds = re.search(r"^TimeoutStopSec=(\d+)$", text, re.MULTILINE)
    assert seconds is not None
    assert int(seconds[1]) > GRACE + 10  # uvicorn's for requests
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / "palladion.service"
    unit.write_text(text.replace(program, sys.executable))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True
    )
    told = [line for line in done.stderr.splitlines() if "palladion.service" in line]
    assert told == [], done.stderr
    words = ["systemd-analyze", "security", "--offline=true", "--threshold=25", str(unit)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr


def test_the_container(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (DEPLOY / "Containerfile").read_text()
    command = re.search(r"^CMD (\[.*\])$", text, re.MULTILINE)
    assert command is not None
    assert str(options_of(monkeypatch, json.loads(command[1]))["models"]) == "/models"
    check_variables(text)
    assert re.search(r"^USER \d+$", text, re.MULTILINE), "it runs as root"
    assert "/v2/health/ready" in text
    for extra in ("serve", "postgres", "s3"):
        assert re.search(rf"\[[\w,]*\b{extra}\b[\w,]*\]\"", text)


def test_the_manifests_of_kserve(monkeypatch: pytest.MonkeyPatch) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed: pip install pyyaml")
    text = (DEPLOY / "kserve.yaml").read_text()
    runtime, model = yaml.safe_load_all(text)
    (container,) = runtime["spec"]["containers"]
    options = options_of(monkeypatch, container["args"])
    assert options["port"] == container["ports"][0]["containerPort"]
    for probe in ("readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"]["port"] == options["port"]
    mounts = {mount["name"] for mount in container["volumeMounts"]}
    assert mounts == {volume["name"] for volume in runtime["spec"]["volumes"]}
    predictor = model["spec"]["predictor"]
    assert predictor["model"]["runtime"] == runtime["metadata"]["name"]
    formats = [known["name"] for known in runtime["spec"]["supportedModelFormats"]]
    assert predictor["model"]["modelFormat"]["name"] in formats
    assert predictor["terminationGracePeriodSeconds"] > GRACE + 10
    check_variables(text)
