"""The commands `serve --check`, `tenants` and `remote`, and settings."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from palladion import DataError, UsageError
from palladion.service.settings import Settings

from tests.conftest import Say
from tests.service.conftest import Linear, Running


def test_remote_predict(
    service: Running, small: Linear, say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALLADION_TOKEN", service.token)
    monkeypatch.setenv("PALLADION_URL", service.url)
    where = ["--home", tmp_path / "home"]
    np.save(tmp_path / "x.npy", small.x[:3])
    line = ["remote", "predict", tmp_path / "x.npy", *where]
    done = say(*line, "--output", tmp_path / "y.npz", "--json")
    assert done.status == 0, done.err
    found = json.loads(done.out)
    assert (found["model"], found["version"], found["inputs"]) == ("linear", "1", 3)
    expected = small.model.predict(small.x[:3])
    for name, values in np.load(tmp_path / "y.npz").items():
        np.testing.assert_array_equal(values, expected.outputs[name])
    shown = say(*line, "--version", "2")
    assert shown.status == 0
    assert "input 2:" in shown.out
    assert "linear" in say("remote", "models", *where).out
    assert "done" in say("remote", "jobs", *where).out
    held = json.loads(say("remote", "keys", *where, "--json").out)["keys"]
    (own,) = (key["digest"] for key in held if key["key_id"] == found["key_id"])
    left = json.loads(say("remote", "keys", *where, "--delete", own, "--json").out)["keys"]
    assert own not in {key["digest"] for key in left}
    wrong = say(*line, "--client-digest", "0" * 64)
    assert wrong.status == 3
    assert "expected 000000000000" in wrong.err


def test_remote_without_a_service(
    say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PALLADION_TOKEN", raising=False)
    line = ["remote", "models", "--home", tmp_path, "--patience", "0", "--url"]
    done = say(*line, "http://localhost:9")
    assert (done.status, "there is no token" in done.err) == (2, True)
    monkeypatch.setenv("PALLADION_TOKEN", "palladion_x")
    done = say(*line, "http://localhost:9")
    assert (done.status, "cannot be reached" in done.err) == (6, True)


def test_a_refusal_has_the_words_of_the_service_and_the_status_of_its_kind(
    service: Running, say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALLADION_TOKEN", "palladion_wrong")
    done = say("remote", "models", "--url", service.url, "--home", tmp_path, "--json")
    assert done.status == 2
    error = json.loads(done.out)["error"]
    assert "palladion tenants token NAME" in error["message"]
    assert not error["retry"]


def test_check_names_what_is_refused(small: Linear, say: Say, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "linear.program").write_bytes(small.program.read_bytes())
    line = ["serve", tmp_path / "models", "--data", tmp_path / "data", "--check"]
    done = say(*line, "--json")
    assert done.status == 0
    (model,) = json.loads(done.out)["models"]
    assert model["model"] == "linear"
    assert [row["cores"] for row in model["capacity"]] == [1, 2, 4, 8, 16]
    assert model["capacity"][-1]["workers"] == 4
    (tmp_path / "models" / "a b.program").write_bytes(b"")
    (tmp_path / "models" / "empty.program").write_bytes(b"")
    done = say(*line)
    assert done.status == 3
    assert "the name 'a b'" in done.err
    assert "empty.program is an empty file, expected a program" in done.err
    assert say("serve", tmp_path / "none", "--data", tmp_path / "data").status == 2


def test_tokens_are_issued_and_revoked_and_limits_changed(say: Say, tmp_path: Path) -> None:
    line = ["tenants", "--data", tmp_path / "data"]
    token = say(*line, "add", "one", "--limit", "jobs=3").out.strip()
    assert token.startswith("palladion_")
    assert say(*line, "add", "one").status == 2
    assert say(*line, "token", "one", "--days", "1").out.strip() != token
    (found,) = json.loads(say(*line, "list", "--json").out)["tenants"]
    assert found["limits"]["jobs"] == 3
    assert len(found["tokens"]) == 2
    assert token not in (tmp_path / "data" / "service.sqlite").read_bytes().decode("latin-1")
    assert say(*line, "revoke", found["tokens"][0]["id"]).status == 0
    assert "1 tokens of one" in say(*line, "revoke", "one").out
    for bad in (["--limit", "jobs"], ["--limit", "jobs=-1"], ["--limit", "apples=1"]):
        done = say(*line, "change", "one", *bad)
        assert done.status == 2, done.err
    assert say(*line, "token", "nobody").status == 2


def test_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "service.toml"
    file.write_text("port = 1\nworkers = 3\n[limits]\njobs = 7\n[models.a]\nversion = '2'\n")
    monkeypatch.setenv("PALLADION_SERVE_WORKERS", "4")
    monkeypatch.setenv("PALLADION_SERVE_LIMITS__KEY_BYTES", "9")
    found = Settings.read(file, port=5, host=None)
    assert (found.port, found.workers, found.host) == (5, 4, "127.0.0.1")
    assert (found.limits.jobs, found.limits.key_bytes) == (7, 9)
    assert found.models["a"].version == "2"
    assert Settings.model_validate_json(found.model_dump_json()) == found
    for text, words in (
        ("prot = 1", "there is no setting prot"),
        ("port = 'x'", "port = 'x'"),
        ("[models.a]\nversion = '1'\nsplit = { '1' = 1 }", "both version and split"),
        ("database = 'mysql://a'", "expected postgresql:// or sqlite://"),
        ("store = 'ftp://a'", "expected s3://BUCKET/PREFIX"),
    ):
        file.write_text(text)
        with pytest.raises(UsageError, match=words):
            Settings.read(file)
    file.write_text("port = ")
    with pytest.raises(DataError, match="is no TOML"):
        Settings.read(file)
    with pytest.raises(DataError, match="No such file"):
        Settings.read(tmp_path / "none.toml")


def test_a_service_needs_its_extra(tmp_path: Path) -> None:
    code = (
        "import importlib.util as u, sys\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'fastapi' else find(name, *a)\n"
        "sys.argv = ['palladion', 'serve', '.']\n"
        "from palladion.cli import main\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'palladion[serve]'" in done.stderr
