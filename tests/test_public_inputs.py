"""Inputs under a public key: sensors encrypt, and the owner of the secret alone decrypts."""

from __future__ import annotations

import json
import pickle
import shutil
import time
from pathlib import Path

import numpy as np
import palladion
import pytest
from palladion import Client, CompiledModel, Encryptor, IntNetwork, PublicKey, Secret

from tests.conftest import Command, Halves, refused

COMPAT = Path(__file__).parent / "compat" / "4fb11700"
REASON = "compile it again, where `palladion compile` says what they lack"


@pytest.fixture(scope="module")
def public(command: Command, halves: Halves, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The public key of the client, with the client's file: all that a sensor has."""
    folder = tmp_path_factory.mktemp("sensor")
    shutil.copy(halves.terms, folder / "program.client")
    made = command("keys", "public", halves.secret, "--client", halves.terms, "--output",
                   folder / "public.key", "--json")  # fmt: skip
    assert made.returncode == 0, made.stderr
    found = json.loads(made.stdout)
    assert found["key_id"] == Secret.load(halves.secret).key_id
    assert found["public_key_bytes"] == (folder / "public.key").stat().st_size < 500_000
    assert found["public_log2_failure"] <= -40
    return folder / "public.key"


@pytest.fixture(scope="module")
def regression(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A linear network, whose outputs read the inputs."""
    weights = [(7 * i) % 255 - 127 for i in range(64)]
    dense = {"inputs": 32, "outputs": 2, "weights": weights}
    layer = {"name": "sums", "terms": [{"source": 0, "linear": {"dense": dense}}],
             "bias": [1, 2], "bound": 20_000, "lut": None, "scale": 1.0}  # fmt: skip
    data = {**json.loads(palladion.mnist_network().to_json()), "name": "regression",
            "layers": [layer], "interface": None,
            "input": {"shape": [32, 1, 1], "min": 0, "max": 3, "scale": 1.0, "mean": [],
                      "std": []}}  # fmt: skip
    path = tmp_path_factory.mktemp("regression") / "regression.json"
    path.write_text(json.dumps(data))
    return path


def test_a_sensor_encrypts_what_the_owner_of_the_secret_decrypts(
    command: Command, halves: Halves, public: Path, picture: Path, tmp_path: Path
) -> None:
    query, answer = tmp_path / "query", tmp_path / "answer"
    sent = command("encrypt", "--client", public.parent / "program.client", "--public", public,
                   "--output", query, "--json", picture)  # fmt: skip
    assert sent.returncode == 0, sent.stderr
    found = json.loads(sent.stdout)
    assert found["key_id"] == Secret.load(halves.secret).key_id
    assert found["ciphertext_bytes"] == query.stat().st_size > halves.query.stat().st_size
    of = {path: json.loads(command("id", "--json", path).stdout)
          for path in (query, halves.query, public, halves.secret)}  # fmt: skip
    assert of[query]["encrypted_under"] == "public key"
    assert of[halves.query]["encrypted_under"] == "secret"
    assert of[query]["layout_id"] == of[halves.query]["layout_id"]
    assert len({found["key_id"] for found in of.values()}) == 1
    assert of[public]["kind"] == "a public key"
    shown = json.loads(command("keys", "show", "--json", public).stdout)
    assert (shown["kind"], shown["keys"]) == ("a public key", 1)
    assert shown["profile_id"] == of[public]["profile_id"]

    given = ["--program", halves.program, "--keys", halves.evaluation]
    ran = command("run", *given, "--output", answer, query)
    assert ran.returncode == 0, ran.stderr
    owner = ["--client", halves.terms, "--secret", halves.secret]
    shown = command("decrypt", *owner, "--query", query, "--json", answer)
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["predicted"] == [7]
    refused(command("decrypt", *owner, "--query", halves.query, answer), "another query")


def test_several_sensors_and_one_analyst(halves: Halves, public: Path) -> None:
    analyst = Client.load(halves.terms, halves.secret)
    server = CompiledModel.load(halves.program)
    keys = server.keys(halves.evaluation.read_bytes())
    images = palladion.mnist_sample().images
    for index in range(2):
        sensor = Encryptor.load(halves.terms, public)
        assert sensor.key_id == analyst.key_id
        pixels = images[index : index + 1]
        query = sensor.encrypt_pixels(pixels).to_bytes()
        answer = server.run(keys, query).to_bytes()
        # The analyst has not encrypted it, so it needs the query.
        with pytest.raises(palladion.UsageError, match="give the query"):
            analyst.decrypt(answer)
        found = analyst.decrypt(answer, analyst.query(query))
        own = analyst.decrypt(server.run(keys, analyst.encrypt_pixels(pixels)))
        assert found.classes is not None
        assert own.classes is not None
        assert found.classes.tolist() == own.classes.tolist()
        with pytest.raises(palladion.UsageError, match="expected at most 1 in one run"):
            sensor.encrypt_pixels(images[:2])


def test_a_public_key_is_public(halves: Halves, public: Path) -> None:
    analyst = Client.load(halves.terms, halves.secret)
    key = PublicKey.from_bytes(analyst.terms, public.read_bytes())
    assert key.to_bytes() == public.read_bytes()
    assert key.key == analyst.key_id
    assert pickle.loads(pickle.dumps(key)).to_bytes() == key.to_bytes()
    assert analyst.public_key().to_bytes() != key.to_bytes()
    query = Encryptor(key).encrypt_pixels(palladion.mnist_sample().images[:1])
    assert query.is_public
    assert query.key == analyst.key_id


def test_wrong_keys_are_refused_before_work(
    command: Command, halves: Halves, public: Path, picture: Path, tmp_path: Path
) -> None:
    query = tmp_path / "query"
    line = ["encrypt", "--client", halves.terms, "--output", query, picture]
    refused(command(*line), "encrypt needs --secret, or --public")
    refused(command(*line, "--public", public, "--secret", halves.secret), "give one of them")
    refused(command(*line, "--public", halves.evaluation), "expected a public key", "keys public")
    refused(command(*line, "--secret", public), "is a public key, expected a secret key")
    damaged = tmp_path / "damaged.key"
    data = bytearray(public.read_bytes())
    for place in range(100, len(data), len(data) // 7):
        data[place] ^= 1
        damaged.write_bytes(data)
        refused(command(*line, "--public", damaged), "damaged.key")
        data[place] ^= 1
    # A stranger's key has the right form: the server tells from its identity, before it works.
    stranger = Client.generate(halves.terms)
    damaged.write_bytes(stranger.public_key().to_bytes())
    assert command(*line, "--public", damaged).returncode == 0
    ran = command("run", "--program", halves.program, "--keys", halves.evaluation, "--output",
                  tmp_path / "answer", query)  # fmt: skip
    refused(ran, f"belongs to key {stranger.key_id[:12]}")
    assert not (tmp_path / "answer").exists()


def test_a_key_whose_life_has_ended_encrypts_nothing(
    command: Command, halves: Halves, picture: Path, tmp_path: Path
) -> None:
    secret, now = Secret.load(halves.secret), int(time.time())
    over = Client.of(halves.terms, Secret(secret.native.with_life(now - 10, now - 1)))
    with pytest.raises(palladion.ExpiredError, match="ended its life"):
        over.public_key()
    soon = Client.of(halves.terms, Secret(secret.native.with_life(now - 10, now + 3)))
    key = soon.public_key()
    Encryptor(key)
    (tmp_path / "public.key").write_bytes(key.to_bytes())
    time.sleep(max(0.0, now + 3.2 - time.time()))
    with pytest.raises(palladion.ExpiredError, match=f"key {secret.key_id[:12]}"):
        Encryptor(key)
    line = ["encrypt", "--client", halves.terms, "--public", tmp_path / "public.key"]
    refused(command(*line, "--output", tmp_path / "query", picture), "ended their life")
    shown = json.loads(command("keys", "show", "--json", tmp_path / "public.key").stdout)
    assert "which is over" in shown["expires"]


def test_a_program_without_room_takes_no_such_inputs(
    command: Command, regression: Path, tmp_path: Path
) -> None:
    """Its flood hides the noise of inputs under the secret, and not that of a public key."""
    program = tmp_path / "hidden"
    compiled = command("compile", regression, "--hide-model", "--output", program)
    assert compiled.returncode == 0, compiled.stderr
    assert "public inputs" in compiled.stdout
    assert "not taken: with their noise, the floods" in compiled.stdout
    shown = json.loads(command("inspect", "--json", program).stdout)
    assert shown["public_log2_failure"] is None
    assert "compile without --hide-model" in shown["public_inputs_refusal"]
    client = Client.generate(tmp_path / "hidden.client")
    key = client.public_key()
    with pytest.raises(palladion.UsageError, match=REASON):
        Encryptor(key)
    secret, public = tmp_path / "secret.key", tmp_path / "public.key"
    client.save(secret)
    made = command("keys", "public", secret, "--client", tmp_path / "hidden.client", "--output",
                   public)  # fmt: skip
    assert made.returncode == 0
    assert REASON in made.stderr
    np.save(tmp_path / "x.npy", np.zeros((1, 32, 1, 1), np.float32))
    line = ["encrypt", "--client", tmp_path / "hidden.client", "--output", tmp_path / "query"]
    refused(command(*line, "--public", public, tmp_path / "x.npy"), REASON)
    assert command(*line, "--secret", secret, tmp_path / "x.npy").returncode == 0


def test_a_linear_model_expects_the_noise_of_its_inputs(
    command: Command, regression: Path, halves: Halves, public: Path, tmp_path: Path
) -> None:
    network = IntNetwork.load(regression)
    model = CompiledModel.of_network(network)
    assert model.facts.public_log2_failure is not None
    assert model.costs().public_inputs_refusal is None
    analyst = Client.generate(model.terms)
    x = np.arange(32)[None] % 4
    query = Encryptor(analyst.public_key()).encrypt_integers(x)
    found = analyst.decrypt(model.run(analyst.keys(), query), query)
    assert found.integers is not None
    assert found.integers.tolist() == network.evaluate(x).logits.tolist()
    # The public key of another chain.
    with pytest.raises(palladion.FormatError, match="other parameters"):
        PublicKey.from_bytes(model.terms, public.read_bytes())
    # Traces expand masks from seeds.
    model.save(tmp_path / "program")
    lowered = command("lower", tmp_path / "program", "--output", tmp_path / "trace")
    assert lowered.returncode == 0, lowered.stderr
    (tmp_path / "query").write_bytes(query.to_bytes())
    (tmp_path / "keys").write_bytes(analyst.keys().to_bytes())
    replayed = command("replay", tmp_path / "trace", "--keys", tmp_path / "keys", "--output",
                       tmp_path / "answer", tmp_path / "query")  # fmt: skip
    refused(replayed, "run them on the CPU, or encrypt under the secret")


def test_a_program_of_an_earlier_version_takes_no_such_inputs(tmp_path: Path) -> None:
    """Compiled again it does, and has the same identity: no new keys, no new queries."""
    shutil.copy(COMPAT / "program", tmp_path / "program")
    old = CompiledModel.load(tmp_path / "program")
    assert old.facts.public_log2_failure is None
    assert old.to_bytes() == (COMPAT / "program").read_bytes()
    with pytest.raises(palladion.UsageError, match=REASON):
        Encryptor(Client.generate(old.terms).public_key())
    again = CompiledModel.of_network(IntNetwork.load(COMPAT / "network.json"))
    assert again.facts.public_log2_failure is not None
