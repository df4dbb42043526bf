"""Keys that outlive a model: profiles, names, lives and seals."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import palladion
import pytest
from palladion import Client, CompiledModel, IntNetwork, KeyFile, Secret, _native
from palladion.errors import DataError, FormatError

from tests.conftest import Command, Halves, refused


@pytest.fixture(scope="module")
def retrained() -> CompiledModel:
    """The packaged network with other weights in its last layer, as after another training."""
    data = json.loads(palladion.mnist_network().to_json())
    weights = data["layers"][-1]["terms"][0]["linear"]
    dense = weights["dense"]["weights"]
    dense.reverse()
    return CompiledModel.of_network(IntNetwork.from_json(json.dumps(data)))


@pytest.fixture(scope="module")
def second_folder(retrained: CompiledModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the retrained network: ``program`` and ``program.client``."""
    folder = tmp_path_factory.mktemp("retrained")
    retrained.save(folder / "program")
    return folder


def test_a_retrained_network_needs_no_new_key_and_no_new_query(
    command: Command, halves: Halves, second_folder: Path, tmp_path: Path
) -> None:
    """A canary: one query, two versions, and each answer is decrypted with its version's file."""
    outputs = []
    for name, program, client in (
        ("first", halves.program, halves.terms),
        ("second", second_folder / "program", second_folder / "program.client"),
    ):
        ran = command("run", "--program", program, "--keys", halves.evaluation, "--output",
                      tmp_path / name, "--json", halves.query)  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        ids = json.loads(ran.stdout)
        assert ids["key_id"] == Secret.load(halves.secret).key_id
        shown = command("decrypt", "--client", client, "--secret", halves.secret, "--query",
                        halves.query, "--integers", "--json", tmp_path / name)  # fmt: skip
        assert shown.returncode == 0, shown.stderr
        found = json.loads(shown.stdout)
        assert found["program_id"] == ids["program_id"]
        outputs.append(found["logits"])
    assert outputs[0] != outputs[1]
    # The answer of the second version is not taken for the first one's.
    result = command("decrypt", "--client", halves.terms, "--secret", halves.secret, "--query",
                     halves.query, tmp_path / "second")  # fmt: skip
    refused(result, "made for other parameters")
    more = command("keygen", "--client", second_folder / "program.client", "--secret",
                   halves.secret, "--have", halves.evaluation, "--output", tmp_path / "more",
                   "--json")  # fmt: skip
    assert more.returncode == 0, more.stderr
    assert json.loads(more.stdout)["evaluation_key_bytes"] == 0
    assert not (tmp_path / "more" / "evaluation.key").exists()


def test_files_say_what_they_belong_to(command: Command, halves: Halves) -> None:
    def of(path: Path) -> dict[str, str]:
        result = command("id", "--json", path)
        assert result.returncode == 0, result.stderr
        found: dict[str, str] = json.loads(result.stdout)
        return found

    program, client, keys = of(halves.program), of(halves.terms), of(halves.evaluation)
    secret, query = of(halves.secret), of(halves.query)
    ids = ("program_id", "profile_id", "layout_id")
    assert [program[name] for name in ids] == [client[name] for name in ids]
    assert keys["profile_id"] == program["profile_id"]
    assert query["layout_id"] == program["layout_id"]
    assert secret["key_id"] == keys["key_id"] == query["key_id"]
    assert query["query_id"] == query["sha256"]
    refused(command("id", Path(__file__)), "expected a program")


def test_a_network_is_compiled_for_keys_that_exist(
    command: Command, halves: Halves, tmp_path: Path
) -> None:
    """With other tables it has other parameters of its own. Within the profile it needs a few keys
    more, or none, and runs right with both files."""
    keys = KeyFile.read(halves.evaluation)
    source = Path(__file__).parent.parent / "models" / "mnist_w6a7.json"
    compiled = command("compile", source, "--profile", halves.evaluation, "--like", halves.terms,
                       "--output", tmp_path / "program", "--json")  # fmt: skip
    assert compiled.returncode == 0, compiled.stderr
    kept = json.loads(compiled.stdout)["kept"]
    assert kept["parameters"]
    program = CompiledModel.load(tmp_path / "program")
    assert keys.missing(program.terms) == (kept["missing_keys"], kept["missing_bytes"])
    client = Client.of(program.terms, Secret.load(halves.secret))
    length = client.write_keys(tmp_path / "more", have=[keys])
    assert length == kept["missing_bytes"]
    assert length < keys.bytes / 2
    parts = [halves.evaluation.read_bytes()]
    if length:
        parts.append((tmp_path / "more").read_bytes())
        with pytest.raises(palladion.MissingKeyError, match="--have"):
            program.keys(parts[0])
    network = IntNetwork.load(source)
    query = client.encrypt_pixels(palladion.mnist_sample().images[:1])
    found = client.decrypt(program.run(program.keys(*parts), query))
    pixels = network.inputs_of_pixels(palladion.mnist_sample().images[:1])
    assert found.classes is not None
    assert found.classes.tolist() == network.evaluate(pixels).predicted.tolist()


def test_a_profile_that_is_too_small_is_refused(
    command: Command, halves: Halves, tmp_path: Path
) -> None:
    source = Path(__file__).parent.parent / "models" / "resnet20_w7a7.json"
    result = command("compile", source, "--profile", halves.terms, "--output", tmp_path / "p")
    refused(result, "the key profile does not hold this network", "--profile")
    result = command("compile", source, "--profile", halves.secret, "--output", tmp_path / "p")
    refused(result, "is a secret key, expected evaluation keys")


def test_a_loose_secret_is_refused(command: Command, halves: Halves, tmp_path: Path) -> None:
    loose = tmp_path / "secret.key"
    loose.write_bytes(halves.secret.read_bytes())
    loose.chmod(0o644)
    with pytest.raises(palladion.DataError, match="chmod 600"):
        Secret.load(loose)
    result = command("encrypt", "--client", halves.terms, "--secret", loose, "--output",
                     tmp_path / "q", loose)  # fmt: skip
    refused(result, "has mode 644", "chmod 600")
    # A sealed secret may lie where others can read it.
    Secret.load(halves.secret).save(loose, passphrase="correct horse")
    loose.chmod(0o644)
    assert Secret.load(loose).seal == "passphrase"


def test_a_sealed_secret_opens_with_its_passphrase_alone(
    command: Command, halves: Halves, picture: Path, tmp_path: Path
) -> None:
    sealed, word, other = tmp_path / "sealed.key", tmp_path / "word", tmp_path / "other"
    sealed.write_bytes(halves.secret.read_bytes())
    sealed.chmod(0o600)
    word.write_text("correct horse\n")
    other.write_text("wrong horse\n")
    result = command("keys", "seal", sealed, "--passphrase-file", word)
    assert result.returncode == 0, result.stderr
    shown = json.loads(command("keys", "show", "--json", sealed).stdout)
    assert shown["seal"] == "a passphrase"
    assert shown["key_id"] == Secret.load(halves.secret).key_id
    arguments = ["encrypt", "--client", halves.terms, "--secret", sealed, "--output",
                 tmp_path / "query", picture]  # fmt: skip
    refused(command(*arguments, "--passphrase-file", other), "does not open the secret of key")
    refused(command(*arguments), "--passphrase-file")
    assert command(*arguments, "--passphrase-file", word).returncode == 0
    refused(command("keys", "seal", sealed, "--passphrase-file", word), "sealed already")
    copy, empty = tmp_path / "copy.key", tmp_path / "empty"
    empty.touch()
    line = ["keys", "backup", sealed, "--output", copy, "--passphrase-file", word]
    refused(command(*line, "--new-passphrase-file", empty), "the passphrase is empty")
    assert command(*line, "--new-passphrase-file", other).returncode == 0
    opened = [Secret.load(sealed, passphrase="correct horse"),
              Secret.load(copy, passphrase="wrong horse")]  # fmt: skip
    assert opened[0].to_bytes() == opened[1].to_bytes() == halves.secret.read_bytes()


def test_a_damaged_seal_is_refused(halves: Halves, tmp_path: Path) -> None:
    data = bytearray(Secret.load(halves.secret).to_bytes(passphrase="correct horse"))
    for place in range(56, len(data), 23):
        damaged = bytearray(data)
        damaged[place] ^= 1
        with pytest.raises(palladion.FormatError, match="checksum"):
            _native.Secret.from_bytes(bytes(damaged))
    with pytest.raises(palladion.UsageError, match="empty"):
        Secret.load(halves.secret).to_bytes(passphrase="")


def test_a_callback_wraps_a_secret(halves: Halves, tmp_path: Path) -> None:
    seen: list[bytes] = []

    def wrap(seed: bytes, label: bytes) -> bytes:
        seen.append(label)
        return bytes(byte ^ 0x5A for byte in seed)

    secret, path = Secret.load(halves.secret), tmp_path / "wrapped.key"
    secret.save(path, wrap=wrap, by="a test")
    wrapped = Secret.load(path)
    assert (wrapped.seal, wrapped.wrapped_by, wrapped.key_id) == (
        "wrapped", "a test", secret.key_id)  # fmt: skip
    with pytest.raises(palladion.UsageError, match="wrapped by a test"):
        Client.of(halves.terms, wrapped)
    assert wrapped.open(unwrap=wrap).to_bytes() == secret.to_bytes()
    assert seen[0] == seen[1]
    with pytest.raises(palladion.KeyMismatch, match="belongs to key"):
        wrapped.open(unwrap=lambda *_: bytes(32))
    with pytest.raises(TypeError, match="unwrap returned str"):
        wrapped.open(unwrap=lambda *_: "no bytes")  # type: ignore[arg-type]


def test_a_secret_comes_from_standard_input(halves: Halves, picture: Path, tmp_path: Path) -> None:
    line = [sys.executable, "-m", "palladion.cli", "encrypt", "--client", halves.terms, "--secret",
            "-", "--output", tmp_path / "query", picture]  # fmt: skip
    data = halves.secret.read_bytes()
    result = subprocess.run([*map(str, line)], input=data, capture_output=True, check=False)
    assert result.returncode == 0, result.stderr
    if os.name == "posix":
        reading, writing = os.pipe()
        os.write(writing, data)
        os.close(writing)
        assert Secret.load(f"/dev/fd/{reading}").to_bytes() == data
        os.close(reading)


def test_what_has_ended_its_life_encrypts_nothing(
    command: Command, halves: Halves, tmp_path: Path
) -> None:
    secret, now = Secret.load(halves.secret), int(time.time())
    assert secret.created is not None
    assert secret.expires is None
    over = Secret(secret.native.with_life(now - 10, now - 1))
    client = Client.of(halves.terms, over)
    with pytest.raises(palladion.ExpiredError, match="ended their life"):
        client.encrypt_pixels(palladion.mnist_sample().images[:1])
    over.save(tmp_path / "over.key")
    made = command("keygen", "--client", halves.terms, "--secret", tmp_path / "over.key",
                   "--output", tmp_path / "none")  # fmt: skip
    refused(made, "ended its life", "keys rotate")
    assert not (tmp_path / "none").exists()
    short = Secret.generate(days=1)
    assert short.expires is not None
    assert short.created is not None
    assert (short.expires - short.created).days == 1
    with pytest.raises(palladion.UsageError, match="a life of -1 days"):
        Secret.generate(days=-1)
    client.write_keys(tmp_path / "keys")
    program = CompiledModel.load(halves.program)
    with pytest.raises(palladion.ExpiredError, match=f"key {secret.key_id[:12]}"):
        program.keys((tmp_path / "keys").read_bytes())


def test_keys_of_two_secrets_complete_nothing(halves: Halves, tmp_path: Path) -> None:
    stranger = Client.generate(halves.terms)
    with pytest.raises(palladion.KeyMismatch, match=stranger.key_id[:12]):
        stranger.write_keys(tmp_path / "keys", have=[KeyFile.read(halves.evaluation)])
    assert not (tmp_path / "keys").exists()


def test_rotation_makes_new_keys_and_keeps_the_old_secret(
    command: Command, halves: Halves, tmp_path: Path
) -> None:
    old = halves.secret.read_bytes()
    line = ["keys", "rotate", halves.secret, "--client", halves.terms, "--output", tmp_path / "new"]
    rotated = command(*line, "--days", 30)
    assert rotated.returncode == 0, rotated.stderr
    new = Secret.load(tmp_path / "new" / "secret.key")
    assert KeyFile.read(tmp_path / "new" / "evaluation.key").key_id == new.key_id
    assert new.key_id != Secret.load(halves.secret).key_id
    assert new.expires is not None
    assert halves.secret.read_bytes() == old
    refused(command(*line), "exists: give another folder")


@pytest.mark.parametrize("name", ["small", "medium", "large"])
def test_named_profiles_are_parameters_that_programs_share(name: str) -> None:
    network = palladion.mnist_network()
    program = palladion.CompiledModel.of_network(network, profile=name)
    packaged = Path(palladion.__file__).parent / "data" / f"profile_{name}.json"
    own, shared = json.loads(program.terms.profile()), json.loads(packaged.read_text())
    keys = {"relinearization", "galois", "packing", "dimension", "public", "baby_steps"}
    assert {key: own[key] for key in own.keys() - keys} == {
        key: shared[key] for key in shared.keys() - keys
    }
    assert program.facts.predicted_log2_failure <= -40
    assert program.facts.security.enough
    if name == "small":
        assert program.terms.missing_keys(packaged.read_text())[0] == 0


def test_a_profile_that_is_no_name_and_no_file_is_refused(command: Command, tmp_path: Path) -> None:
    network = Path(palladion.__file__).parent / "data" / "mnist.json"
    given = ["--profile", "huge", "--output", tmp_path / "program"]
    refused(command("compile", network, *given), "huge")
    assert not (tmp_path / "program").exists()


@pytest.fixture
def key_memory() -> Iterator[None]:
    """Nothing of other tests is in the memory for keys, and the budget is as before in the end."""
    before = palladion.set_key_memory(0)
    palladion.set_key_memory(before)
    yield
    palladion.set_key_memory(before)


@pytest.mark.usefixtures("key_memory")
def test_keys_of_three_clients_take_the_memory_of_one(halves: Halves, tmp_path: Path) -> None:
    program = CompiledModel.load(halves.program)
    query = program.query(halves.query.read_bytes())
    clients = []
    for number in range(3):
        copy = tmp_path / f"{number}.key"
        copy.hardlink_to(halves.evaluation)
        clients.append(program.open_keys(copy))
    one = clients[2]
    assert one.release()
    assert not one.release()
    digests = set()
    palladion.set_key_memory(500_000_000)
    for keys in clients * 2:
        digests.add(program.run(keys, query).report.raw_digest)
        assert 350_000_000 < palladion.key_memory() < 500_000_000
    assert len(digests) == 1
    assert clients[0].key == Secret.load(halves.secret).key_id
    assert clients[0].to_bytes() == halves.evaluation.read_bytes()
    del clients, keys, one
    assert palladion.key_memory() == 0


@pytest.mark.usefixtures("key_memory")
def test_key_files_that_change_under_a_server_are_named(halves: Halves, tmp_path: Path) -> None:
    program = CompiledModel.load(halves.program)
    query = program.query(halves.query.read_bytes())
    copy = tmp_path / "copy.key"
    shutil.copy(halves.evaluation, copy)
    keys = program.open_keys(str(copy))
    with copy.open("r+b") as file:
        file.truncate(10_000_000)
    program.run(keys, query)  # they are still in memory
    keys.release()
    with pytest.raises(FormatError, match="the file is truncated"):
        program.run(keys, query)
    copy.unlink()
    with pytest.raises(OSError, match="No such file") as missing:
        program.run(keys, query)
    assert missing.value.filename == str(copy)
    with pytest.raises(DataError, match=r"cannot read .*copy\.key"):
        program.open_keys(copy)
    with pytest.raises(FormatError, match="is encrypted images, expected evaluation keys"):
        program.open_keys(halves.query)
