"""Any network through the command: compile, inspect, and the client's and server's halves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import palladion
import pytest
from palladion import ImageError, IntNetwork
from palladion.choices import Choices, Form
from palladion.cli.images import load_inputs
from palladion.cli.inspect import layers_of
from palladion.cli.table import short
from palladion.cli.why import show_why
from palladion.errors import DataError
from palladion.nn.datasets.calibration import Normalisation, of_pictures
from palladion.nn.integers.network import Conv, Dense, Input, Layer, Lut, Term
from palladion.support.image import load_picture
from PIL import Image

from tests.conftest import Command, refused
from tests.models import floats, model, node


def colours(rng: np.random.Generator) -> IntNetwork:
    """A network of two layers on colour pictures of 6 x 5."""
    conv = Conv(rng.integers(-3, 4, (4, 3, 3, 3)), pads=(1, 1, 1, 1))
    last = Dense(rng.integers(-3, 4, (3, 120)))
    mean, std = (0.4, 0.5, 0.6), (0.5, 0.5, 0.25)
    layers = (
        Layer("conv", (Term(0, conv),), rng.integers(-9, 10, 4), 500, Lut.relu(500, 0.03, 15), 1),
        Layer("last", (Term(1, last),), rng.integers(-9, 10, 3), 900, None, 1.0),
    )
    network = IntNetwork("colours", Input((3, 6, 5), -15, 15, 1 / 6), layers)
    return of_pictures(network, Normalisation(mean, std))


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("network") / "colours.json"
    path.write_text(colours(np.random.default_rng(5)).to_json())
    return path


@pytest.fixture(scope="module")
def program(command: Command, network: Path) -> Path:
    path = network.with_name("program")
    made = command("compile", network, "--batch", 2, "--output", path, "--json")
    assert made.returncode == 0, made.stderr
    found = json.loads(made.stdout)
    assert (found["batch"], found["input_shape"]) == (2, [3, 6, 5])
    assert found["program_bytes"] == path.stat().st_size
    assert found["client"] == f"{path}.client"
    assert found["client_bytes"] == path.with_name("program.client").stat().st_size < 4000
    return path


def test_a_network_of_ones_own_runs_through_files(
    command: Command, network: Path, program: Path, tmp_path: Path, rng: np.random.Generator
) -> None:
    keys, query, answer = tmp_path / "keys", tmp_path / "query", tmp_path / "answer"
    # The client works where the program does not exist.
    terms = tmp_path / "alone.client"
    terms.write_bytes(program.with_name("program.client").read_bytes())
    assert command("keygen", "--client", terms, "--output", keys).returncode == 0
    assert {path.name for path in keys.iterdir()} == {"secret.key", "evaluation.key"}
    pixels = rng.integers(0, 256, (6, 5, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "picture.png")
    np.save(tmp_path / "real.npy", rng.uniform(-2, 2, (3, 6, 5)))
    given = (tmp_path / "picture.png", tmp_path / "real.npy")
    client = ["--client", terms, "--secret", keys / "secret.key"]
    sent = command("encrypt", *client, "--output", query, *given, "--json")
    assert json.loads(sent.stdout)["images"] == 2, sent.stderr
    server = ["--program", program, "--keys", keys / "evaluation.key"]
    ran = command("run", *server, "--output", answer, query)
    assert [line.split()[0] for line in ran.stdout.splitlines()[:4]] == [
        "layer", "conv", "last", "all,"
    ]  # fmt: skip
    assert "bits (MATZOV" in ran.stdout
    assert "lattice estimator" in ran.stdout
    line = ("decrypt", *client, "--query", query, answer, "--json", "--integers")
    found = json.loads(command(*line).stdout)
    exact = IntNetwork.load(network)
    wanted = exact.evaluate(load_inputs(exact.boundary, given, digits=False))
    assert wanted.logits.shape == (2, 3)
    # Noise of deviation 10.7 moves an activation by a step or so, times weights of up to 3.
    assert np.abs(np.array(found["logits"]) - wanted.logits).max() < 300


def test_own_inputs_run_in_one_command(
    command: Command, network: Path, program: Path, tmp_path: Path, rng: np.random.Generator
) -> None:
    """Both halves, beside labels, from the arrays that evaluate takes."""
    exact, source = IntNetwork.load(network), tmp_path / "own.npz"
    x = rng.uniform(-1, 1, (40, 3, 6, 5))
    logits = exact.evaluate(exact.inputs(x)).logits
    order = np.argsort(np.diff(np.sort(logits, axis=1)[:, 1:], axis=1)[:, 0])[::-1]
    x, labels = x[order[:3]], logits[order[:3]].argmax(axis=1)  # classes that no noise changes
    np.savez(source, x=x, y=[labels[0], (labels[1] + 1) % 3, labels[2]])
    line = ["run", "--program", program, source]
    found = json.loads(command(*line, "--json", "--output", tmp_path / "out.npz").stdout)
    assert (found["inputs"], found["inputs_in_file"], found["correct"]) == (2, 3, 1)
    assert found["predicted"] == labels[:2].tolist()
    assert found["security"]["bits"] >= 128
    with np.load(tmp_path / "out.npz") as outputs:
        assert outputs["last"].tolist() == found["outputs"]["last"]
    np.savez(source, x=x[2:], y=labels[2:])
    shown = command(*line).stdout
    assert "right: 1 of 1" in shown
    assert "bits (MATZOV" in shown
    np.savez(source, x=x, y=labels + 3)
    refused(command(*line), "own.npz: labels from", "classes are 0 to 2")


def test_halves_are_told_apart(command: Command, program: Path, tmp_path: Path) -> None:
    query = tmp_path / "query"
    query.write_bytes(b"PALLADIOENCI")
    run = ["run", "--program", program]
    refused(command(*run, query), "query is encrypted images", "give --keys")
    refused(command(*run, "--keys", query, query), "--keys", "give --output")
    refused(command(*run, "--checkpoint", query, query), "--checkpoint", "give --keys")


def test_a_program_has_its_own_batch(command: Command, program: Path, tmp_path: Path) -> None:
    both = ["keygen", "--client", f"{program}.client", "--batch", 2, "--output", tmp_path]
    refused(command(*both), "--client", "--batch")

    # The option of before still works, and says what it gives away.
    old = command("encrypt", "--program", program, "--secret", tmp_path / "absent",
                  "--output", tmp_path / "q", tmp_path / "x.npy")  # fmt: skip
    assert "has the network's weights" in old.stderr
    refused(command("decrypt", "--secret", program, "--query", program, program), "--client")

    # An older program is split, to the same file.
    split = tmp_path / "split.client"
    assert command("split", program, "--output", split).returncode == 0
    assert split.read_bytes() == program.with_name("program.client").read_bytes()


def test_inspect_says_what_a_run_costs(command: Command, network: Path, program: Path) -> None:
    found = json.loads(command("inspect", network, "--batch", 2, "--json").stdout)
    assert found["security_bits"] == found["security"]["bits"] >= 128
    assert (found["security"]["model"], found["security"]["enough"]) == ("MATZOV", True)
    assert -50 < found["predicted_log2_failure"] <= -40
    assert found["worst_step"]["name"] == "conv: table"
    assert found["worst_step"]["log2_failure"] <= found["predicted_log2_failure"]
    assert found["layer_sigmas"] == {"conv": pytest.approx(found["rounding_sigma"])}
    assert [layer["name"] for layer in found["layers"]] == ["conv", "last"]
    first, last = found["layers"]
    assert (first["shape"], first["bound"], first["packings"]) == ([4, 6, 5], 500, 1)
    assert first["table_entries"] > 1000
    assert (last["bound"], last["table_entries"], last["packings"]) == (900, None, 0)
    for parts in (found["layers"], found["steps"]):
        total = sum(part["predicted_seconds"] for part in parts)
        assert total == pytest.approx(found["predicted_seconds"])
    assert sum(found["phases"].values()) == pytest.approx(found["predicted_seconds"])
    alone = json.loads(command("inspect", program, "--json").stdout)
    assert [layer["bound"] for layer in alone["layers"]] == [None, None]
    assert alone["predicted_seconds"] == found["predicted_seconds"]
    shown = command("inspect", program, "--network", network)
    assert "4x6x5" in shown.stdout
    assert found["security"]["text"] in shown.stdout
    assert found["security"]["basis"] in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80


def test_inspect_says_why(command: Command, program: Path) -> None:
    packaged = Path(__file__).parent.parent / "models" / "mnist.json"
    found = json.loads(command("inspect", packaged, "--why", "--json").stdout)
    why = found["why"]
    assert [layer["name"] for layer in why["layers"]] == [
        layer["name"] for layer in found["layers"][:-1]
    ]
    lists = [layer[kind] for layer in why["layers"] for kind in ("forms", "tables")]
    for candidates in [*lists, why["cuts"]]:
        good = [one for one in candidates if one["refused"] is None]
        assert all((one["seconds"] is None) == (one["refused"] is not None) for one in candidates)
        chosen = min(good, key=lambda one: one["seconds"])
        assert [one for one in candidates if one["chosen"]] == [chosen]
    for layer in why["layers"]:
        for what in ("ciphertexts", "products"):
            (marked,) = (form for form in layer["forms"] if what in form["marks"])
            good = [form for form in layer["forms"] if form["refused"] is None]
            assert marked[what] == min(form[what] for form in good)
    (cut,) = (cut for cut in why["cuts"] if cut["chosen"])
    for name in ("limbs", "special_limbs", "digit_limbs"):
        assert cut[name] == found[name]
    assert any("at most 868" in (cut["refused"] or "") for cut in why["cuts"])
    shown = command("inspect", packaged, "--why").stdout.splitlines()
    assert max(map(len, shown)) <= 100
    starred = [line for line in shown if line.startswith("*")]
    assert len(starred) == 2 * len(why["layers"]) + 1
    refused(command("inspect", program, "--why"), "--why needs the network")


def test_a_layer_without_a_form_to_choose_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """As the inverse of a softmax under encryption: it has no candidates, or all were refused."""
    nothing: dict[str, Any] = {"name": "inverse", "forms": [], "tables": []}
    bad = Form(None, "no room", False, "slots", 1, 1, (0, 0), 1, None, None)
    refused_: dict[str, Any] = {"name": "exp", "forms": [bad, bad], "tables": []}
    sizes = ("limbs", "special_limbs", "digit_limbs", "log_qp", "seconds")
    cut = {**dict.fromkeys(sizes, 1), "refused": None, "chosen": True}
    found = {"trial_limbs": 3, "layers": [nothing, refused_], "cuts": [cut]}
    show_why(Choices.of(found))
    text = capsys.readouterr().out
    assert "inverse: 0 compared\n  nothing to choose" in text
    assert "exp: 2 compared, 2 refused\n  refused: no room\n" in text


def test_inspect_refuses_the_network_of_another_program(network: Path, program: Path) -> None:
    facts = palladion.CompiledModel.load(program).facts
    with pytest.raises(DataError, match="colours has 2 layers, the network mnist has 3"):
        layers_of(facts, palladion.mnist_network())


def test_a_model_is_quantised_first(
    command: Command, tmp_path: Path, rng: np.random.Generator
) -> None:
    tensors = {"w": floats(rng, 4, 2, 3, 3), "v": floats(rng, 3, 36)}
    nodes = [
        node("Conv", ["x", "w"], "a"), node("Relu", ["a"], "b"),
        node("Flatten", ["b"], "c"), node("Gemm", ["c", "v"], "y", transB=1),
    ]  # fmt: skip
    path, output, saved = (tmp_path / name for name in ("m.onnx", "program", "net.json"))
    onnx.save(model(["N", 2, 5, 5], nodes, tensors), str(path))
    np.save(tmp_path / "x.npy", floats(rng, 32, 2, 5, 5))
    refused(command("compile", path, "--output", output), "m.onnx", "--data")
    line = ["compile", path, "--data", tmp_path / "x.npy", "--output", output]
    assert command(*line, "--save-network", saved).returncode == 0
    found = palladion.CompiledModel.load(output).facts
    assert found.network == IntNetwork.load(saved).name
    refused(command("compile", saved, "--output", output, "--save-network", saved), "already")


def test_arrays_are_as_the_model_takes_them(tmp_path: Path, rng: np.random.Generator) -> None:
    network, path = colours(rng), tmp_path / "x.npy"
    pixels = rng.integers(0, 256, (2, 3, 6, 5), dtype=np.uint8)
    takes = network.boundary.interface.takes
    assert takes.pixels is not None
    real = takes.pixels.values(pixels)
    np.save(path, real)
    found = load_inputs(network.boundary, (path,), digits=False)
    assert (found == network.inputs_of_pixels(pixels)).all()
    np.savez(tmp_path / "x.npz", x=real[0])
    found = load_inputs(network.boundary, (tmp_path / "x.npz",), digits=False)
    assert (found == network.inputs_of_pixels(pixels[:1])).all()
    np.save(path, pixels)
    with pytest.raises(DataError, match=r"x.npy holds bytes.*as PNG or JPEG files"):
        load_inputs(network.boundary, (path,), digits=False)
    for shape in ((3, 5, 6), (0, 3, 6, 5), (6, 5)):
        np.save(path, np.zeros(shape))
        with pytest.raises(DataError, match="expected Nx3x6x5"):
            load_inputs(network.boundary, (path,), digits=False)


def test_pictures_are_resized_to_the_network(tmp_path: Path) -> None:
    path = tmp_path / "halves.png"
    image = Image.new("RGB", (40, 30), (250, 0, 0))
    image.paste((0, 0, 250), (20, 0, 40, 30))
    image.save(path)
    found = load_picture(path, (3, 6, 8))
    assert found[:, 3, 0].tolist() == [250, 0, 0]
    assert found[:, 3, 7].tolist() == [0, 0, 250]
    grey = load_picture(path, (1, 6, 8))
    assert grey.shape == (1, 6, 8)
    assert grey[0, 0, 0] > grey[0, 0, 7] > 0
    with pytest.raises(ImageError, match=r"4 channels of 6 x 8.*1 or 3.*\.npy"):
        load_picture(path, (4, 6, 8))


def test_long_names_keep_their_end() -> None:
    assert short("/layer3/layer3.2/conv2/Conv", 18) == "/layer..conv2/Conv"
    assert short("conv1", 18) == "conv1"


@pytest.mark.parametrize(
    ("machine", "least", "most"), [("f1", 32, 32), ("sharp", 34, 36), ("athena", 34, 36)]
)
def test_programs_have_the_words_of_a_machine(
    command: Command, network: Path, tmp_path: Path, machine: str, least: int, most: int
) -> None:
    line = ("compile", network, "--machine", machine, "--output", tmp_path / "program", "--json")
    done = command(*line)
    assert done.returncode == 0, done.stderr
    compiled = palladion.CompiledModel.load(tmp_path / "program")
    assert least <= compiled.facts.largest_modulus_bits <= most


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--machine", "craterlake"), "craterlake has words of 28 bits, and a network needs 32"),
        (("--machine", "versal"), "array of tiles"),
        (("--machine", "nobody"), "no machine of ours"),
        (("--machine", "f1", "--words", 32), "the words are those of the machine"),
        (("--machine", "f1", "--profile", "small"), "the moduli are those of the profile"),
        (("--machine", "f1", "--mode", "hybrid"), "--machine is not for --mode hybrid"),
    ],
)
def test_machines_that_fit_no_network_are_refused(
    command: Command, network: Path, tmp_path: Path, options: tuple[str | int, ...], words: str
) -> None:
    done = command("compile", network, *options, "--output", tmp_path / "program")
    refused(done, words)
    assert not (tmp_path / "program").exists()
