"""Runs the program of this folder on an encrypted query. Needs JAX, NumPy and flatbuffers only.

    python run.py --keys evaluation.key --output answer query

JAX chooses the device, unless the variable JAX_PLATFORMS names one. The answer shows its outputs
only, as an answer of `palladion run` does: fresh randomness hides the rest.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import secrets
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

Words = np.ndarray[Any, Any]

FORMAT = "palladion-bundle/3"
HEADER, CHECKSUM, SEED, NUMBER = 56, 32, 32, 8
"""Bytes of the parts of a file."""
SPARE = 1
"""The row for results that no instruction reads."""
KEY = 16
"""Bytes of the identity of a secret."""
LOADED = 64
"""Number of rows that one transfer brings to the device."""
SIGMA = 3.19
"""Standard deviation of errors."""


class Refused(Exception):  # noqa: N818
    """An input of this program that it cannot use. The text is for the user."""


class Sealed:
    """The payload of a file of palladion, after its checks."""

    def __init__(self, path: Path, kind: dict[str, Any]) -> None:
        try:
            self.bytes = path.read_bytes()
        except OSError as error:
            raise Refused(f"cannot read {path}: {error.strerror}") from error
        data, words = self.bytes, kind["words"]
        if data[:8] != b"PALLADIO" or len(data) < HEADER + CHECKSUM:
            raise Refused(f"{path} is no file of palladion, expected {words}")
        if data[8:12].decode("latin-1") != kind["tag"]:
            tag = data[8:12].decode("latin-1")
            raise Refused(f"{path} is of kind {tag}, expected {words} ({kind['tag']})")
        version = int.from_bytes(data[12:16], "little")
        if version != kind["version"]:
            raise Refused(f"{path} has format version {version}, expected {kind['version']}")
        if data[16:48].hex() != kind["fingerprint"]:
            raise Refused(
                f"{path} holds {words} made for other parameters: fingerprint "
                f"{data[16:22].hex()}, expected {kind['fingerprint'][:12]}"
            )
        payload = memoryview(data)[HEADER:-CHECKSUM]
        self.blocks: list[bytes] = []
        for _ in range(kind["blocks"]):
            length = int.from_bytes(payload[:NUMBER], "little")
            self.blocks.append(bytes(payload[NUMBER : NUMBER + length]))
            payload = payload[NUMBER + length :]
        whole = len(data) - HEADER - CHECKSUM == int.from_bytes(data[48:56], "little")
        if not whole or len(payload) != kind["bytes"]:
            raise Refused(f"{path} has {len(payload)} bytes of {words}, expected {kind['bytes']}")
        if hashlib.sha256(data[:-CHECKSUM]).digest() != data[-CHECKSUM:]:
            raise Refused(f"{path} is damaged: the checksum does not fit the content")
        self.path, self.payload = path, payload

    def words(self, offset: int, q: int, n: int) -> tuple[Words, int]:
        """A limb at an offset, and the offset behind it. Words have the bits of ``q``."""
        bits = q.bit_length()
        end = offset + -(-n * bits // 8)
        packed = np.frombuffer(bytes(self.payload[offset:end]) + bytes(8), np.uint8)
        first = np.arange(n, dtype=np.int64) * bits
        word = np.zeros(n, np.uint64)
        for k in range(5):
            word |= packed[first // 8 + k].astype(np.uint64) << np.uint64(8 * k)
        word = (word >> (first % 8).astype(np.uint64)) & np.uint64((1 << bits) - 1)
        if word.max() >= q:
            raise Refused(f"{self.path}: a residue is {word.max()}, expected less than {q}")
        return word.astype(np.uint32), end


def chacha(seed: bytes, stream: int, start: int, blocks: int) -> Words:
    """Words of ChaCha20 with a 64-bit counter and a 64-bit stream, from block ``start`` on."""
    counter = np.arange(start, start + blocks, dtype=np.uint64)
    fixed = [*np.frombuffer(b"expand 32-byte k", "<u4"), *np.frombuffer(seed, "<u4")]
    state = np.empty((4, 4, blocks), np.uint32)
    for k, word in enumerate(fixed):
        state[k // 4, k % 4] = word
    state[3, 0], state[3, 1] = counter & np.uint64(0xFFFFFFFF), counter >> np.uint64(32)
    state[3, 2], state[3, 3] = stream & 0xFFFFFFFF, stream >> 32
    a, b, c, d = state.copy()
    for _ in range(10):
        for turn in (0, 1):
            for into, add, mix, left in ((0, 1, 3, 16), (2, 3, 1, 12), (0, 1, 3, 8), (2, 3, 1, 7)):
                rows = [a, b, c, d]
                rows[into] += rows[add]
                rows[mix] ^= rows[into]
                rows[mix][...] = (rows[mix] << left) | (rows[mix] >> (32 - left))
            # The second half of a double round works on diagonals.
            shifts = (1, 2, 3) if turn == 0 else (3, 2, 1)
            b, c, d = (np.roll(row, -by, axis=0) for row, by in zip((b, c, d), shifts, strict=True))
    return (np.stack([a, b, c, d]) + state).reshape(16, blocks).T.reshape(-1)


def uniform(seed: bytes, stream: int, q: int, n: int) -> Words:
    """``n`` uniform residues: the low bits of words of a stream, if they are below ``q``."""
    mask = np.uint32((1 << q.bit_length()) - 1)
    residues, start = np.empty(0, np.uint32), 0
    while len(residues) < n:
        blocks = int((n - len(residues)) * (int(mask) + 1) / q / 16) + 8
        words = chacha(seed, stream, start, blocks) & mask
        residues, start = np.concatenate([residues, words[words < q]]), start + blocks
    return residues[:n]


def tree(root: int, n: int, q: int) -> Words:
    """``root^bitrev(k)`` at index ``k``: the order in which butterflies read powers."""
    powers, order = np.ones(1, np.uint64), np.zeros(1, np.int64)
    while len(order) < n:
        step = np.uint64(pow(root, len(order), q))
        powers = np.concatenate([powers, powers * step % np.uint64(q)])
        order = np.concatenate([2 * order, 2 * order + 1])
    return powers[order]


def transformed(words: Words, root: int, q: int) -> Words:
    """The values of a polynomial: the transform of its coefficients."""
    n, modulus = len(words), np.uint64(q)
    factors, values, blocks = tree(root, n, q), words.astype(np.uint64), 1
    while blocks < n:
        low, high = np.moveaxis(values.reshape(blocks, 2, -1), 1, 0)
        high = high * factors[blocks : 2 * blocks, None] % modulus
        parts = [(low + high) % modulus, (low + modulus - high) % modulus]
        values, blocks = np.stack(parts, axis=1).reshape(-1), 2 * blocks
    return values


def coefficients(words: Words, root: int, q: int) -> Words:
    """The coefficients of a polynomial from its values: the inverse of :func:`transformed`."""
    n, modulus = len(words), np.uint64(q)
    factors, values, blocks = tree(pow(root, -1, q), n, q), words.astype(np.uint64), n // 2
    while blocks:
        low, high = np.moveaxis(values.reshape(blocks, 2, -1), 1, 0)
        apart = (low + modulus - high) % modulus * factors[blocks : 2 * blocks, None] % modulus
        values, blocks = np.stack([(low + high) % modulus, apart], axis=1).reshape(-1), blocks // 2
    return values * np.uint64(pow(n, -1, q)) % modulus


def ternary(n: int) -> Words:
    """``n`` numbers, uniform in -1, 0 and 1, from the operating system."""
    accepted = np.empty(0, np.uint8)
    while len(accepted) < n:
        drawn = np.frombuffer(os.urandom(n), np.uint8)
        accepted = np.concatenate([accepted, drawn[drawn < 255]])
    return accepted[:n].astype(np.int64) % 3 - 1


def gaussian(n: int) -> Words:
    """``n`` errors from the discrete Gaussian of deviation ``SIGMA``."""
    weights = np.exp(-(np.arange(64.0) ** 2) / (2 * SIGMA**2))
    weights[0] /= 2  # both signs lead to 0
    steps = (np.cumsum(weights / weights.sum())[:32] * 2.0**63).astype(np.uint64)
    drawn = np.frombuffer(os.urandom(8 * n), np.uint64)
    sizes = np.searchsorted(steps, drawn >> np.uint64(1), side="right")
    return sizes.astype(np.int64) * (1 - 2 * (drawn & np.uint64(1)).astype(np.int64))


def hidden(
    components: list[list[Words]],
    public: list[list[Words]],
    moduli: list[tuple[int, int]],
    shown: list[int],
    flood_bits: int | None,
) -> list[list[Words]]:
    """A ciphertext that shows its messages at the coefficients ``shown`` and nothing else.

    ``components`` and the ``public`` key have a limb for each of ``moduli``, which come with the
    root of their transform. An encryption of zero under the key is added, and every other
    coefficient of the first component is drawn anew. With ``flood_bits`` a flood drowns the noise
    of each message: the sum of four random numbers of ``flood_bits`` bits, less their mean.
    """
    n = len(components[0][0])
    u, errors, seed = ternary(n), [gaussian(n) for _ in components], os.urandom(SEED)
    ciphertext: list[list[Words]] = [[] for _ in components]
    flood = [0 if flood_bits is None else centred(flood_bits) for _ in shown]
    for limb, (q, root) in enumerate(moduli):
        factor = transformed(u % q, root, q)
        for index, component in enumerate(components):
            zero = public[index][limb].astype(np.uint64) * factor
            zero = zero % np.uint64(q) + transformed(errors[index] % q, root, q)
            sum_ = (component[limb].astype(np.uint64) + zero) % np.uint64(q)
            if index == 0:
                words = uniform(seed, limb, q, n).astype(np.uint64)
                drowned = np.array([number % q for number in flood], np.uint64)
                words[shown] = (coefficients(sum_, root, q)[shown] + drowned) % np.uint64(q)
                sum_ = transformed(words, root, q)
            ciphertext[index].append(sum_.astype(np.uint32))
    return ciphertext


def centred(bits: int) -> int:
    """The sum of four uniform numbers of ``bits`` bits, less ``2**(bits + 1)``."""
    return sum(secrets.randbits(bits) for _ in range(4)) - (2 << bits)


class Bundle:
    """The folder of this program: its manifest and its arrays."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            self.manifest = json.loads((folder / "manifest.json").read_bytes())
        except (OSError, ValueError) as error:
            raise Refused(f"{folder} holds no bundle: manifest.json: {error}") from error
        if self.manifest.get("format") != FORMAT:
            raise Refused(f"{folder} has format {self.manifest.get('format')}, expected {FORMAT}")
        self.n, self.primes = self.manifest["n"], self.manifest["primes"]
        self.plan = np.load(self.file("plan.npz"))
        self.constants = np.load(self.file("constants.npz"))

    def file(self, name: str) -> Path:
        """The path of a file, after a check of the file's checksum."""
        path = self.folder / name
        try:
            checksum = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError as error:
            raise Refused(f"the bundle lacks {name}: {error.strerror}") from error
        if checksum != self.manifest["files"][name]:
            raise Refused(f"{name} of the bundle is damaged: its checksum does not fit")
        return path

    def value(self, load: dict[str, Any], files: dict[str, Sealed]) -> Words:
        """The rows of a value to load: a constant, a mask from its seed, or limbs of a file."""
        moduli = [self.primes[index] for index in load["primes"]]
        if load["kind"] == "constant":
            words = self.constants[load["name"]].astype(np.int64)
            return np.stack([(words % q).astype(np.uint32) for q in moduli])
        file, offset = files[load["file"]], load["at"]
        if load["kind"] == "mask":
            seed, stream = bytes(file.payload[offset : offset + SEED]), load["stream"] << 32
            return np.stack([uniform(seed, stream + i, q, self.n) for i, q in enumerate(moduli)])
        limbs = []
        for q in moduli:
            limb, offset = file.words(offset, q, self.n)
            limbs.append(limb)
        return np.stack(limbs)

    def answer(self, results: dict[str, list[Words]], files: dict[str, Sealed]) -> bytes:
        """The bytes of the answer file, which shows only the outputs."""
        query = files["query"]
        images = bytes(query.payload[SEED : SEED + NUMBER])
        count = int.from_bytes(images, "little")
        payload: bytes = CHECKSUM.to_bytes(NUMBER, "little") + hashlib.sha256(query.bytes).digest()
        payload += images + key_of(query)
        for result in self.manifest["answer"]:
            components = [results[name] for name in result["names"]]
            if (public := result["public"]) is not None:
                shown = [place for image, place in result["shown"] if image < count]
                moduli = list(zip(result["moduli"], result["roots"], strict=True))
                key = self.public(public, files["keys"], result["moduli"])
                components = hidden(components, key, moduli, shown, result["flood"])
            payload += (1).to_bytes(NUMBER, "little")
            for limbs in components:
                payload += b"".join(map(packed, limbs, result["moduli"]))
        kind = self.manifest["kinds"]["answer"]
        header = b"PALLADIO" + kind["tag"].encode() + kind["version"].to_bytes(4, "little")
        header += bytes.fromhex(kind["fingerprint"])
        sealed: bytes = header + len(payload).to_bytes(NUMBER, "little") + payload
        return sealed + hashlib.sha256(sealed).digest()

    def public(self, place: dict[str, int], keys: Sealed, moduli: list[int]) -> list[list[Words]]:
        """Body and mask of the public key."""
        seed, offset = bytes(keys.payload[place["seed"] : place["seed"] + SEED]), place["body"]
        body = []
        for q in moduli:
            limb, offset = keys.words(offset, q, self.n)
            body.append(limb)
        return [body, [uniform(seed, i, q, self.n) for i, q in enumerate(moduli)]]


def key_of(query: Sealed) -> bytes:
    """The identity of the secret under which a query is encrypted."""
    return bytes(query.payload[SEED + NUMBER : SEED + NUMBER + KEY])


def check_label(keys: Sealed, query: Sealed) -> None:
    """Refuse keys of another secret than the query's, and keys whose life has ended."""
    label = json.loads(keys.blocks[1])
    found, expected = label["key"], key_of(query).hex()
    if found != expected and not {found, expected} & {"0" * 2 * KEY}:
        raise Refused(
            f"{keys.path} belongs to key {found[:12]}, and {query.path} to key {expected[:12]}"
        )
    if label.get("expires") is not None and time.time() >= label["expires"]:
        raise Refused(f"{keys.path}: the keys of key {found[:12]} have ended their life")


def packed(words: Words, q: int) -> bytes:
    """Words without gaps between them."""
    bits = (words[:, None] >> np.arange(q.bit_length(), dtype=np.uint32)) & 1
    return np.packbits(bits.astype(np.uint8), bitorder="little").tobytes()


class Device:
    """The stages of the program, for the platform of JAX here."""

    def __init__(self, bundle: Bundle) -> None:
        import jax
        import jax.export
        from jax import lax

        config: Any = jax.config
        config.update("jax_enable_x64", True)
        manifest, self.bundle = bundle.manifest, bundle
        platform = jax.export.default_export_platform()
        if platform not in manifest["platforms"]:
            raise Refused(
                f"the bundle is for {', '.join(manifest['platforms'])}, and JAX runs on {platform} "
                f"here: export it with --platform {platform}, or set JAX_PLATFORMS"
            )
        arrays = np.load(bundle.file(f"tables-{platform}.npz"))
        tables = {name: jax.device_put(arrays[name]) for name in arrays.files}
        self.stages = []
        for index, stage in enumerate(manifest["stages"]):
            form = stage["forms"][platform]
            try:
                module = jax.export.deserialize(bytearray(bundle.file(form["file"]).read_bytes()))
            except ImportError as error:
                raise Refused(
                    f"{form['file']} cannot be read here, as JAX does not bring flatbuffers: "
                    f"pip install flatbuffers ({error})"
                ) from error
            except Exception as error:
                raise Refused(
                    f"this JAX, {jax.__version__}, does not read {form['file']}, which JAX "
                    f"{manifest['jax']} wrote: install that version, or export again: {error}"
                ) from error
            parts = (bundle.plan[f"{index}/{part}"] for part in ("reads", "writes", "words"))
            lists = [np.pad(part, ((0, form["chunk"]), (0, 0))) for part in parts]
            arguments = [*jax.device_put(lists), *(tables[name] for name in form["tables"])]
            self.stages.append((jax.jit(module.call, donate_argnums=0), arguments))

        def written(rows: Any, to: Any, words: Any) -> Any:
            def one(index: Any, rows: Any) -> Any:
                return lax.dynamic_update_slice_in_dim(rows, words[index][None], to[index], 0)

            return lax.fori_loop(0, LOADED, one, rows)

        self.write = jax.jit(written, donate_argnums=0)
        self.rows = jax.jit(lambda: jax.numpy.zeros((manifest["rows"], bundle.n), "uint32"))

    def run(self, files: dict[str, Sealed]) -> dict[str, list[Words]]:
        """Runs all waves. Returns the limbs of each stored value, by its name."""
        manifest, results = self.bundle.manifest, dict[str, list[Words]]()
        rows = self.rows()
        for kind, first, count, _ in self.bundle.plan["waves"].tolist():
            if kind >= 2:
                stage, lists = self.stages[kind - 2]
                rows = stage(rows, np.int32(first), np.int32(count), *lists)
            elif kind == 0:
                for load in manifest["loads"][first : first + count]:
                    rows = self.load(rows, load["rows"], self.bundle.value(load, files))
            else:
                for stored in manifest["stores"][first : first + count]:
                    results[stored["name"]] = [*np.asarray(rows[np.array(stored["rows"])])]
        return results

    def load(self, rows: Any, numbers: list[int], words: Words) -> Any:
        """Bring a value into the store."""
        for start in range(0, len(numbers), LOADED):
            part = words[start : start + LOADED]
            to = np.array(numbers[start : start + LOADED], np.int32)
            spare = LOADED - len(to)
            to = np.pad(to, (0, spare), constant_values=SPARE)
            rows = self.write(rows, to, np.pad(part, ((0, spare), (0, 0))))
        return rows


def writable(path: Path) -> None:
    """Refuse an output that cannot be written, before the run.

    Raises
    ------
    Refused
        The message names the path.
    """
    folder = path.resolve().parent
    if path.is_dir():
        raise Refused(f"cannot write {path}: it is a folder")
    if not folder.is_dir():
        raise Refused(f"cannot write {path}: the folder {folder} does not exist")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise Refused(f"cannot write {path}: it is read-only")


def main() -> None:
    parser = argparse.ArgumentParser(description="Run this program on an encrypted query.")
    parser.add_argument("query", type=Path, help="query, as `palladion encrypt` wrote it")
    parser.add_argument("--keys", type=Path, required=True, help="evaluation keys")
    parser.add_argument("--output", type=Path, required=True, help="file for the answer")
    asked = parser.parse_args()
    try:
        writable(asked.output)
        bundle = Bundle(Path(__file__).parent)
        kinds = bundle.manifest["kinds"]
        query = Sealed(asked.query, kinds["query"])
        keys = Sealed(asked.keys, kinds["keys"])
        check_label(keys, query)
        images = int.from_bytes(query.payload[SEED : SEED + NUMBER], "little")
        if not 1 <= images <= bundle.manifest["batch"]:
            batch = bundle.manifest["batch"]
            raise Refused(f"{asked.query} has {images} images, expected 1 to {batch}")
        device = Device(bundle)
        started = time.perf_counter()
        files = {"keys": keys, "query": query}
        answer = bundle.answer(device.run(files), files)
        try:
            asked.output.write_bytes(answer)
        except OSError as error:
            raise Refused(f"cannot write {asked.output}: {error.strerror}") from error
    except Refused as error:
        sys.exit(f"error: {error}")
    print(f"{asked.output}: in {time.perf_counter() - started:.2f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
