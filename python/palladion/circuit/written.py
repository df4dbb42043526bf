"""A finished circuit: its properties and its runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from palladion import _native, ckks
from palladion.circuit.predictions import MAX_FAILURE, KeysNeeded, Lowered, Noise, Precision
from palladion.circuit.slot_values import COMPLEX, INTEGERS, filled
from palladion.errors import UsageError
from palladion.schemes import exact
from palladion.schemes.keys import EvaluationKeys
from palladion.support.files import write

Params: TypeAlias = ckks.Params | exact.ExactParams
Ciphertext: TypeAlias = ckks.Ciphertext | exact.Ciphertext
SecretKey: TypeAlias = ckks.SecretKey | exact.SecretKey
PublicKey: TypeAlias = ckks.PublicKey | exact.PublicKey
Array: TypeAlias = NDArray[Any]
"""Complex doubles for CKKS, 64-bit integers for BGV and BFV."""
Results: TypeAlias = dict[str, Any]
"""Ciphertexts by the names of a circuit's outputs."""


def restored(params: Params, text: str) -> Written:
    """The circuit of :meth:`Written.__reduce__`."""
    return Written(params, _native.Circuit.from_json(params.native, text))


class Written:
    """A circuit as :func:`load` reads it. It does not grow."""

    params: Params

    def __init__(self, params: Params, native: _native.Circuit) -> None:
        self.params = params
        self._native = native

    @property
    def native(self) -> _native.Circuit:
        """The circuit of the core."""
        return self._native

    @property
    def slots(self) -> int:
        """Slots of every value."""
        return self.native.slots()

    @property
    def t(self) -> int | None:
        """Plaintext modulus of BGV and BFV; ``None`` for CKKS."""
        return self.params.t if isinstance(self.params, exact.ExactParams) else None

    @property
    def row(self) -> int:
        """Number of slots in which rotations are cyclic: all, or in BGV and BFV half of them."""
        return self.slots if self.t is None else self.slots // 2

    @property
    def inputs(self) -> dict[str, int | None]:
        """Level of each input; ``None`` for a plaintext."""
        found = self.native.inputs()
        return {name: level if encrypted else None for name, encrypted, level, _ in found}

    @property
    def outputs(self) -> dict[str, int]:
        """Level of each output."""
        return {name: level for name, _, level, _ in self.native.outputs()}

    def counts(self) -> dict[int, dict[str, int]]:
        """Number of operations by level and kind. Most of the work is ``relinearize`` and
        ``rotate``."""
        return self.native.counts()

    def keys_needed(self) -> KeysNeeded:
        """The keys that the circuit needs."""
        return KeysNeeded(*self.native.keys_needed())

    def text(self) -> str:
        """The circuit, one line per step."""
        return self.native.text()

    def save(self, path: str | Path) -> None:
        """Write the circuit with its constants as JSON. Raises ``DataError`` if that is not
        possible."""
        write(Path(path), self.native.to_json().encode())

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied as :meth:`save` writes it: the copy does not grow."""
        return restored, (self.params, self.native.to_json())

    def run_clear(self, inputs: Mapping[str, ArrayLike]) -> dict[str, Array]:
        """The results in plain numbers: all slots of every output.

        Every input takes an array of shape ``(k,)``, followed by zeros, or one number for all
        slots.

        Raises
        ------
        UsageError
            If an input is missing or unknown, or has values that are not allowed.
        """
        found = self.native.run_clear(self._bytes(inputs))
        return {name: np.frombuffer(data, self._dtype) for name, data in found.items()}

    def predict(
        self, inputs: Mapping[str, ArrayLike], *, failure: float = MAX_FAILURE
    ) -> dict[str, Precision]:
        """The precision of the results of CKKS for inputs, given as in :meth:`run_clear`.

        ``failure`` is log2 of the largest probability of a wrong run that is accepted: -40 or less.
        There are two ways to be wrong: a message and its noise exceed half of their modulus, for
        values as large as these inputs lead to, or a value exceeds the range of a bootstrapping's
        modular reduction.
        Raises
        ------
        UsageError
            As :meth:`run_clear`; if the probability is larger; and in BGV and BFV.
        """
        found = self.native.predict(self.params.native, self._bytes(inputs), float(failure))
        return {
            name: Precision(
                np.frombuffer(values, np.complex128), np.sqrt(np.frombuffer(errors)), log2_failure
            )
            for name, (values, errors, log2_failure) in found.items()
        }

    def predict_noise(self, *, failure: float = MAX_FAILURE) -> dict[str, Noise]:
        """The noise of the results of BGV and BFV. It does not depend on messages.

        ``failure`` is log2 of the largest probability of a wrong run that is accepted: -40 or less.

        Raises
        ------
        UsageError
            If the probability is larger, because noise reaches the modulus; and in CKKS.
        """
        found = self.native.predict_noise(self.params.native, float(failure))
        return {name: Noise(*facts) for name, facts in found.items()}

    def keys(self, secret: SecretKey, *, failure: float = MAX_FAILURE) -> EvaluationKeys:
        """The keys that the circuit needs and no others, each for the highest level of its use.

        ``failure`` is as in :meth:`predict_noise`.

        Raises
        ------
        UsageError
            If the probability of a wrong run is larger for some messages.
        """
        found = self.native.keys(self.params.native, secret.native, float(failure))
        return EvaluationKeys(found)

    def encrypt(
        self, key: SecretKey | PublicKey, inputs: Mapping[str, ArrayLike]
    ) -> dict[str, Ciphertext]:
        """Encrypt values for inputs, each at its level and scale. Fewer slots than a ciphertext's
        repeat."""
        levels = self.inputs
        scales = {name: scale for name, _, _, scale in self.native.inputs()}
        found: dict[str, Ciphertext] = {}
        for name, values in inputs.items():
            if levels.get(name) is None:
                known = [name for name, level in levels.items() if level is not None]
                raise UsageError(f"input {name!r}, expected one of the encrypted inputs {known}")
            rows = self._slots(name, values).reshape(-1, self.row)
            repeated = np.tile(rows, self.params.slots // self.slots).ravel()
            if isinstance(key, ckks.SecretKey | ckks.PublicKey):
                found[name] = key.encrypt(repeated, level=levels[name], scale=scales[name])
            else:
                found[name] = key.encrypt(repeated, level=levels[name])
        return found

    def decrypt(self, secret: SecretKey, outputs: Mapping[str, Any]) -> dict[str, Array]:
        """Decrypt results: the slots of the circuit."""
        found: dict[str, Array] = {}
        for name, x in outputs.items():
            rows = secret.decrypt(x).reshape(self.slots // self.row, -1)
            found[name] = rows[:, : self.row].ravel()
        return found

    def run(self, inputs: Mapping[str, Ciphertext | ArrayLike], keys: EvaluationKeys) -> Results:
        """Run the circuit. Returns ciphertexts by the names of its outputs.

        Inputs are ciphertexts, and arrays for plaintexts. A ciphertext must be fresh and at the
        level of its input. In a circuit of fewer slots its values must repeat. :meth:`encrypt`
        makes such ciphertexts. Results have the ``keys``, for operators.

        Raises
        ------
        MissingKeyError
            If the key for a product or a rotation is missing.
        UsageError
            As :meth:`run_clear`; for ciphertexts or keys of other parameters; for a ciphertext at
            another level or scale, with a factor, or of coefficients; in BGV and BFV also as
            :meth:`predict_noise`.
        """
        given = {name: self.given(name, value) for name, value in inputs.items()}
        found = self.native.run(self.params.native, given, keys.native)
        return {name: self.made(native, keys) for name, native in found.items()}

    def run_each(
        self, groups: Iterable[Mapping[str, Ciphertext | ArrayLike]], keys: EvaluationKeys
    ) -> list[Results]:
        """As :meth:`run`, for each of several groups of inputs.

        The constants are encoded once, and one group is in memory at a time. Raises as :meth:`run`.
        """
        native = (
            {name: self.given(name, value) for name, value in inputs.items()} for inputs in groups
        )
        results = self.native.run_each(self.params.native, native, keys.native)
        return [{name: self.made(made, keys) for name, made in group.items()} for group in results]

    def lower(self, plain: Mapping[str, ArrayLike] | None = None) -> Lowered:
        """The circuit on the floors below: operations on ciphertexts, and instructions on limbs.

        ``plain`` holds the plaintexts among the inputs, which become constants.

        Raises
        ------
        UsageError
            As :meth:`run`.
        """
        recording, trace = self.native.lower(self.params.native, self._bytes(plain or {}))
        return Lowered(recording, trace)

    def replay(
        self, lowered: Lowered, inputs: Mapping[str, Ciphertext | ArrayLike], keys: EvaluationKeys
    ) -> Results:
        """As :meth:`run`, by executing every instruction of :meth:`lower`, one by one.

        The ciphertexts equal the ciphertexts of :meth:`run` to the last bit. A replay takes several
        times as long.
        """
        given = {name: self.given(name, value) for name, value in inputs.items()}
        native = self.native
        found = native.replay(self.params.native, lowered.circuit, given, keys.native)
        return {name: self.made(made, keys) for name, made in found.items()}

    def given(
        self, name: str, value: Ciphertext | ArrayLike
    ) -> bytes | _native.CkksCiphertext | _native.ExactCiphertext:
        """A value for an input as the core takes it: a ciphertext, or the bytes of a plaintext."""
        if isinstance(value, exact.Ciphertext) and value.coefficients:
            raise UsageError(f"input {name}: the ciphertext holds coefficients, expected slots")
        if isinstance(value, ckks.Ciphertext | exact.Ciphertext):
            return value.native
        return self._slots(name, value).tobytes()

    def made(
        self, native: _native.CkksCiphertext | _native.ExactCiphertext, keys: EvaluationKeys
    ) -> Ciphertext:
        """A result of the core, with the keys for operators."""
        if isinstance(native, _native.CkksCiphertext):
            return ckks.Ciphertext(native, keys)
        return exact.Ciphertext(native, keys)

    @property
    def _dtype(self) -> type[np.complex128] | type[np.int64]:
        return np.complex128 if self.t is None else np.int64

    def _slots(self, name: str, values: ArrayLike) -> NDArray[Any]:
        try:
            found = filled(values, self.slots, COMPLEX if self.t is None else INTEGERS)
        except UsageError as error:
            raise UsageError(f"input {name}: {error}") from error
        return found.astype(self._dtype)

    def _bytes(self, inputs: Mapping[str, ArrayLike]) -> dict[str, bytes]:
        return {name: self._slots(name, values).tobytes() for name, values in inputs.items()}
