"""Bundles: they run where only JAX is, give the words of a replay, and refuse what does not fit."""

from __future__ import annotations

import hashlib
import json
import shutil
import site
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import palladion
import pytest
from click.testing import CliRunner
from palladion import _native, xla
from palladion.cli import commands
from palladion.errors import UsageError

from tests.random_traces import Writer, random_trace

pytestmark = pytest.mark.long

pytest.importorskip("jax")

N = 64
FINGERPRINT = bytes(range(32))
SEED = bytes(range(100, 132))
IMAGES = 2
KEY = bytes(range(50, 66))
"""Identity of the secret."""


def packed(words: list[int], bits: int) -> bytes:
    """Words without gaps, by the definition."""
    whole = sum(word << (k * bits) for k, word in enumerate(words))
    return whole.to_bytes((len(words) * bits + 7) // 8, "little")


def sealed(tag: bytes, version: int, payload: bytes, fingerprint: bytes = FINGERPRINT) -> bytes:
    """A file as `crates/rlwe/src/bytes.rs` describes it."""
    head = b"PALLADIO" + tag + version.to_bytes(4, "little") + fingerprint
    data = head + len(payload).to_bytes(8, "little") + payload
    return data + hashlib.sha256(data).digest()


def headed(keys: bytes, **label: object) -> bytes:
    """Keys behind a profile, which the runner does not read, and a label."""
    blocks = (b"{}", json.dumps({"key": KEY.hex(), **label}).encode())
    return b"".join(len(block).to_bytes(8, "little") + block for block in blocks) + keys


def replayed(writer: Writer, values: dict[str, list[list[int]]]) -> dict[str, list[list[int]]]:
    """The values that a replay of the trace stores."""
    words = {
        name: [np.array(limb, np.uint64).tobytes() for limb in limbs]
        for name, limbs in values.items()
    }
    outside = _native.WavesOutside.of_values(words, {"seed": SEED})
    _native.Waves.of_text(writer.text(), 50).replay(outside)
    return {
        name: [np.frombuffer(limb, np.uint64).tolist() for limb in limbs]
        for name, limbs in outside.values().items()
    }


class Made:
    """A bundle of a random trace, whose inputs are the keys, with the answer that is right."""

    def __init__(self, root: Path) -> None:
        xla.enable()
        from palladion.waves.plan import Plan
        from palladion.xla.bundle import write

        rng = np.random.default_rng(7)
        writer = random_trace(rng, N, 1 << 16, 40)
        keys, places, values = SEED, {"seed": write.FileOffsets("keys", 0, 0, 0)}, {}
        for name, value in writer.inputs.items():
            moduli = [writer.moduli[limb] for limb in value.limbs]
            values[name] = [rng.integers(q, size=N).tolist() for q in moduli]
            values[name][0][:2] = [0, moduli[0] - 1]
            index = int(name.rpartition("/")[2])
            writer.lines = [
                line.replace(f"load {name}", f"load in{index}/0") for line in writer.lines
            ]
            places[f"in{index}"] = write.FileOffsets("keys", 0, len(keys), 0)
            keys += b"".join(
                packed(limb, q.bit_length()) for limb, q in zip(values[name], moduli, strict=True)
            )
        values = {f"in{name.rpartition('/')[2]}/0": limbs for name, limbs in values.items()}
        query = bytes(32) + IMAGES.to_bytes(8, "little") + KEY
        stored = replayed(writer, values)
        lengths = {"keys": len(keys), "query": len(query)}
        # The results of a random trace are no answer for a client: they are written as they are.
        answer = [
            {
                "names": [name],
                "moduli": [
                    writer.moduli[limb]
                    for limb in writer.values[int(name.rpartition("/")[2])].limbs
                ],
                "public": None,
            }
            for name in stored
        ]
        fingerprints = dict.fromkeys(("keys", "query", "answer"), FINGERPRINT.hex())
        terms = write.Terms("random", fingerprints, IMAGES, lengths, places, answer)
        self.root, self.bundle = root, root / "bundle"
        plan = Plan(_native.Waves.of_text(writer.text(), 50))
        write.write_plan(plan, terms, self.bundle, ("cpu",))
        self.keys, self.query, self.answer = (root / name for name in ("keys", "query", "answer"))
        self.keys.write_bytes(sealed(b"EKEY", 3, headed(keys)))
        self.query.write_bytes(sealed(b"ENCI", 2, query))
        payload = (32).to_bytes(8, "little") + hashlib.sha256(self.query.read_bytes()).digest()
        payload += query[32:]
        for name, limbs in stored.items():
            value = writer.values[int(name.rpartition("/")[2])]
            bits = [writer.moduli[limb].bit_length() for limb in value.limbs]
            payload += (1).to_bytes(8, "little")
            payload += b"".join(map(packed, limbs, bits))
        self.expected = sealed(b"ENCO", 3, payload)

    def run(self, bundle: Path | None = None, **given: Any) -> subprocess.CompletedProcess[str]:
        """Run it in an interpreter that finds all packages but this one."""
        only = self.root / "only"
        if not only.exists():
            only.mkdir()
            for folder in site.getsitepackages():
                for path in Path(folder).iterdir():
                    if not path.name.startswith("palladion") and path.suffix != ".pth":
                        (only / path.name).symlink_to(path)
        files = {"keys": self.keys, "query": self.query, **given}
        arguments = ["--keys", files["keys"], "--output", self.answer, files["query"]]
        line = [sys.executable, "-S", (bundle or self.bundle) / "run.py", *arguments]
        environment = {"PYTHONPATH": str(only), "JAX_PLATFORMS": "cpu", "HOME": str(self.root)}
        return subprocess.run(
            [str(word) for word in line],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(tmp_path_factory.mktemp("bundle"))


def test_a_bundle_gives_the_words_of_a_replay_without_this_package(made: Made) -> None:
    result = made.run()
    assert result.returncode == 0, result.stderr
    assert made.answer.read_bytes() == made.expected
    text = (made.bundle / "run.py").read_text()
    assert "import palladion" not in text
    assert "from palladion" not in text


def test_masks_are_those_of_the_core() -> None:
    from palladion.xla.bundle.runner import uniform

    primes = (97, 65537, 4293918721)
    moduli = " ".join(map(str, primes))
    body = "main:\n  %0: eval 0..3 = sample seed 5\n  store y %0\nend\n"
    outside = _native.WavesOutside.of_values({}, {"seed": SEED})
    waves = _native.Waves.of_text(f"palladion-trace/1\nring 16\nmoduli {moduli}\n\n{body}")
    waves.replay(outside)
    for index, limb in enumerate(outside.values()["y"]):
        found = uniform(SEED, (5 << 32) + index, primes[index], 16)
        assert found.tolist() == np.frombuffer(limb, np.uint64).tolist()


def test_transforms_are_those_of_the_core() -> None:
    from palladion.waves.roots import root_of
    from palladion.xla.bundle.runner import coefficients, transformed

    q, rng = 4293918721, np.random.default_rng(11)
    words = rng.integers(q, size=16, dtype=np.uint64)
    body = "main:\n  %0: coeff 0..1 = load x/0\n  %1: eval 0..1 = ntt %0\n  store y %1\nend\n"
    outside = _native.WavesOutside.of_values({"x/0": [words.tobytes()]}, {})
    _native.Waves.of_text(f"palladion-trace/1\nring 16\nmoduli {q}\n\n{body}").replay(outside)
    (limb,) = outside.values()["y"]
    root = root_of(q, 16)
    assert transformed(words, root, q).tolist() == np.frombuffer(limb, np.uint64).tolist()
    assert coefficients(transformed(words, root, q), root, q).tolist() == words.tolist()


def test_an_answer_of_a_bundle_shows_its_outputs_alone() -> None:
    from palladion.waves.roots import root_of
    from palladion.xla.bundle import runner

    n, rng, shown = 1024, np.random.default_rng(12), [3, 700]
    primes = [65537, 4293918721]
    moduli = [(q, root_of(q, n)) for q in primes]

    def values(numbers: Any) -> list[Any]:
        return [runner.transformed(numbers % q, root, q) for q, root in moduli]

    def times(a: list[Any], b: list[Any], c: list[Any]) -> list[Any]:
        each = zip(a, b, c, primes, strict=True)
        return [(x.astype(np.uint64) * y + z) % np.uint64(q) for x, y, z, q in each]

    secret = values(runner.ternary(n))
    mask = [runner.uniform(bytes(32), i, q, n) for i, q in enumerate(primes)]
    minus = [(np.uint64(q) - m) % np.uint64(q) for m, q in zip(mask, primes, strict=True)]
    public = [times(minus, secret, values(runner.gaussian(n))), mask]
    raw = [[rng.integers(q, size=n, dtype=np.uint64) for q in primes] for _ in range(2)]
    answers = [runner.hidden(raw, public, moduli, shown, None) for _ in range(2)]
    for first, second in (answers, [answers[0], raw]):
        phases = [times(c[1], secret, c[0]) for c in (first, second)]
        for index, (q, root) in enumerate(moduli):
            apart = [
                runner.coefficients(phase[index], root, q).astype(np.int64) for phase in phases
            ]
            moved = (apart[0] - apart[1] + q // 2) % q - q // 2
            # An encryption of zero has noise of deviation 3.19 sqrt(1 + 4/3 N) = 118.
            assert np.abs(moved[shown]).max() < 1200
            rest = np.delete(moved, shown) / q
            # Uniform numbers have the deviation 1/sqrt(12).
            assert abs(rest.std() * 12**0.5 - 1) < 0.15
            assert (first[1][index] != second[1][index]).mean() > 0.99
    flooded = runner.hidden(raw, public, moduli, shown, 24)
    q, root = moduli[1]
    limbs: list[Any] = [times(c[1], secret, c[0])[1] for c in (flooded, raw)]
    apart = [runner.coefficients(limb, root, q).astype(np.int64) for limb in limbs]
    moved = (apart[0] - apart[1] + q // 2) % q - q // 2
    assert 2**14 < np.abs(moved[shown]).max() < 2**25 + 1200
    floods = np.array([runner.centred(24) for _ in range(4096)]) / 2**24
    # Four uniform numbers have the variance 4/12, and their squares a kurtosis of 3 - 6/5/4.
    assert abs(floods.mean()) < 6 / (3 * 4096) ** 0.5
    assert abs(3 * floods.var() - 1) < 6 * (1.7 / 4096) ** 0.5
    found = runner.gaussian(1 << 16)
    assert abs(found.std() / 3.19 - 1) < 6 / (1 << 17) ** 0.5
    assert np.bincount(runner.ternary(1 << 16) + 1).min() > (1 << 16) / 3 - 6 * 121


class Recorder:
    """A machine that computes nothing, and keeps the words that are written."""

    def __init__(self, waves: _native.Waves) -> None:
        self._sizes = [4 * waves.n * len(rows) for rows in waves.store_rows()]
        self.written: dict[int, bytes] = {}

    def begin(self) -> None: ...

    def recall(self, load: int) -> bool:
        return False

    def write(self, load: int, words: list[bytes]) -> None:
        self.written[load] = words[0]

    def run_stage(self, stage: int, first: int, count: int) -> None: ...

    def read(self, store: int) -> list[bytes]:
        return [bytes(self._sizes[store])]

    def wait(self) -> None: ...

    def end_wave(self, index: int) -> None: ...


def test_values_of_a_program_are_read_as_the_core_reads_them(tmp_path: Path) -> None:
    xla.enable()
    from palladion.xla.bundle import runner, write

    program = _native.compile(palladion.mnist_network().to_json(), batch=1, words=32)
    secret, keys = _native.keygen(program.terms())
    query = secret.encrypt([[0] * 784])
    manifest = write.write(program, tmp_path / "bundle", ())
    bundle = runner.Bundle(tmp_path / "bundle")
    given = {}
    for name, data in (("keys", keys.to_bytes()), ("query", query.to_bytes())):
        (tmp_path / name).write_bytes(data)
        kind = manifest["kinds"][name]
        given[name] = runner.Sealed(tmp_path / name, kind)
    waves = _native.Waves.of_program(program)
    outside = _native.WavesOutside.of_run(program, keys, query)
    recorder, rows = Recorder(waves), waves.load_rows()
    waves.run(recorder, [outside])
    seen: dict[object, int] = {}
    for index, load in enumerate(manifest["loads"]):
        key = (load["kind"], load.get("file"))
        seen[key] = seen.get(key, 0) + 1
        if seen[key] % 40 != 1:
            continue
        assert load["rows"] == rows[index]
        words = np.frombuffer(recorder.written[index], np.uint32).reshape(-1, waves.n)
        np.testing.assert_array_equal(bundle.value(load, given), words)
    assert set(seen) == {
        *(("body", file) for file in ("keys", "query")),
        *(("mask", file) for file in ("keys", "query")),
        ("constant", None),
    }


def test_what_does_not_fit_is_refused_by_name(made: Made, tmp_path: Path) -> None:
    def changed(path: Path, *words: str, **files: Any) -> None:
        result = made.run(path, **files)
        assert result.returncode == 1
        assert "Traceback" not in result.stderr
        for word in words:
            assert word in result.stderr, result.stderr

    def written(name: str, data: bytes) -> Path:
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    good = made.keys.read_bytes()
    other = sealed(b"EKEY", 3, good[56:-32], bytes(32))
    damaged = good[:100] + bytes([good[100] ^ 1]) + good[101:]
    short = sealed(b"EKEY", 3, good[56:-33])
    changed(made.bundle, "evaluation keys made for other parameters", "000102030405",
            keys=written("other", other))  # fmt: skip
    payload = good[56 + len(headed(b"")) : -32]
    for name, label, word in (
        ("theirs", {"key": "99" * 16}, "belongs to key 999999999999"),
        ("over", {"expires": 1}, "have ended their life"),
    ):
        changed(made.bundle, word,
                keys=written(name, sealed(b"EKEY", 3, headed(payload, **label))))  # fmt: skip
    changed(made.bundle, "damaged", keys=written("damaged", damaged))
    changed(made.bundle, f"{len(payload) - 1} bytes of evaluation keys, expected {len(payload)}",
            keys=written("short", short))  # fmt: skip
    changed(made.bundle, "kind ENCI, expected evaluation keys (EKEY)", keys=made.query)
    changed(made.bundle, "cannot read", keys=tmp_path / "absent")
    many = sealed(b"ENCI", 2, bytes(32) + (3).to_bytes(8, "little") + KEY)
    changed(made.bundle, "3 images, expected 1 to 2", query=written("many", many))

    manifest = json.loads((made.bundle / "manifest.json").read_bytes())
    for name, fields, words in (
        ("platform", {"platforms": ["tpu"]}, ("for tpu", "--platform cpu")),
        ("format", {"format": "palladion-bundle/9"}, ("palladion-bundle/9",)),
    ):
        path = tmp_path / name
        shutil.copytree(made.bundle, path)
        (path / "manifest.json").write_text(json.dumps({**manifest, **fields}))
        changed(path, *words)
    (tmp_path / "format" / "manifest.json").write_text(json.dumps(manifest))
    module = tmp_path / "format" / "000-cpu.jax"
    module.write_bytes(b"x" + module.read_bytes())
    changed(tmp_path / "format", "000-cpu.jax of the bundle is damaged")
    manifest["files"]["000-cpu.jax"] = hashlib.sha256(module.read_bytes()).hexdigest()
    (tmp_path / "format" / "manifest.json").write_text(json.dumps(manifest))
    changed(tmp_path / "format", "does not read 000-cpu.jax", manifest["jax"])


def test_a_place_that_takes_no_answer_is_refused_before_the_run(tmp_path: Path) -> None:
    from palladion.xla.bundle.runner import Refused, writable

    for path, words in [
        (tmp_path, "it is a folder"),
        (tmp_path / "missing" / "answer", "missing does not exist"),
    ]:
        with pytest.raises(Refused, match=words):
            writable(path)
    writable(tmp_path / "answer")
    writable(Path("/dev/null"))


def test_the_command_refuses_what_is_no_bundle(tmp_path: Path) -> None:
    run = CliRunner().invoke
    line = ["export", str(tmp_path / "program"), "--output", str(tmp_path / "net.onnx")]
    result = run(commands, [*line, "--platform", "cpu"])
    assert isinstance(result.exception, UsageError)
    assert "--target stablehlo" in str(result.exception)
    full = tmp_path / "full"
    full.mkdir()
    (full / "file").touch()
    line = ["export", str(tmp_path / "program"), "--target", "stablehlo", "--output", str(full)]
    assert "expected a new folder" in str(run(commands, line).exception)


def test_an_export_without_flatbuffers_is_refused_before_it_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from palladion.xla.bundle.write import write_plan

    monkeypatch.setitem(sys.modules, "flatbuffers", None)
    nothing: Any = None
    with pytest.raises(UsageError, match=r"pip install 'palladion\[xla\]'"):
        write_plan(nothing, nothing, tmp_path / "bundle", ["cpu"])
    assert not (tmp_path / "bundle").exists()
