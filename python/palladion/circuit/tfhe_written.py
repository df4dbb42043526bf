"""A finished circuit of TFHE: its properties and its runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from palladion import _native, tfhe
from palladion.circuit.predictions import MAX_FAILURE, KeysNeeded, Lowered
from palladion.errors import UsageError
from palladion.schemes.tfhe.values import array
from palladion.support.files import write

Messages: TypeAlias = NDArray[Any]
"""``bool`` for bits, 64-bit integers for integers. A single value has no dimension."""


def restored(params: tfhe.Params, text: str) -> TfheWritten:
    """The circuit of :meth:`TfheWritten.__reduce__`."""
    return TfheWritten(params, _native.MessageCircuit.from_json(params.native, text))


class TfheWritten:
    """A circuit on bits or integers as :func:`load` reads it. It does not grow."""

    params: tfhe.Params

    def __init__(self, params: tfhe.Params, native: _native.MessageCircuit) -> None:
        self.params = params
        self._native = native

    @property
    def native(self) -> _native.MessageCircuit:
        """The circuit of the core."""
        return self._native

    @property
    def inputs(self) -> dict[str, tuple[int, ...]]:
        """Shape of each input: ``(k,)``, or ``()`` for a single value."""
        found = self.native.inputs()
        return {name: () if count is None else (count,) for name, count, _ in found}

    @property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        """Shape of each output."""
        found = self.native.outputs()
        return {name: () if single else (len(of),) for name, single, of in found}

    @property
    def bootstrappings(self) -> int:
        """Number of bootstrappings of a run. They take nearly all of its time."""
        return self.native.bootstrappings()[0]

    @property
    def depth(self) -> int:
        """Number of bootstrappings that run in sequence. The others share the threads."""
        return self.native.bootstrappings()[1]

    def counts(self) -> dict[str, int]:
        """Number of operations by kind."""
        return self.native.counts()

    def keys_needed(self) -> KeysNeeded:
        """The keys that the circuit needs: the keys of bootstrapping, if it bootstraps."""
        return KeysNeeded(None, {}, None, self.bootstrappings > 0)

    def text(self) -> str:
        """The circuit, one line per step."""
        return self.native.text()

    def save(self, path: str | Path) -> None:
        """Write the circuit as JSON. Raises ``DataError`` if the file cannot be written."""
        write(Path(path), self.native.to_json().encode())

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied as :meth:`save` writes it: the copy does not grow."""
        return restored, (self.params, self.native.to_json())

    def run_clear(self, inputs: Mapping[str, ArrayLike]) -> dict[str, Messages]:
        """The results for plain bits or integers, by the names of the outputs.

        Raises
        ------
        UsageError
            If an input is missing or unknown, has a wrong shape, or has values out of its range.
        """
        given = {name: self._checked(name, values) for name, values in inputs.items()}
        found = self.native.run_clear({name: x.ravel().tolist() for name, x in given.items()})
        dtype = np.bool_ if self._of_bits else np.int64
        shapes = self.outputs
        return {name: np.array(x, dtype).reshape(shapes[name]) for name, x in found.items()}

    def predict_failure(self, *, failure: float = MAX_FAILURE) -> float:
        """log2 of a bound on the probability that a run is wrong, over all bootstrappings.

        It does not depend on messages, and is an average over keys. Inputs may have the noise of a
        bootstrapping. ``failure`` is log2 of the largest probability accepted: -40 or less.

        Raises
        ------
        UsageError
            If the probability is larger, or if a result has more noise than ciphertexts may have.
        """
        return self.native.log2_failure(self.params.native, float(failure))

    def keys(self, secret: tfhe.ClientKey, *, failure: float = MAX_FAILURE) -> tfhe.ServerKey:
        """The keys of bootstrapping. They serve every circuit of the same parameters.

        Raises
        ------
        UsageError
            As :meth:`predict_failure`, and if the secret has other parameters.
        """
        self.predict_failure(failure=failure)
        self._check_secret(secret)
        return secret.server_key()

    def encrypt(
        self, secret: tfhe.ClientKey, inputs: Mapping[str, ArrayLike]
    ) -> dict[str, tfhe.Bits | tfhe.Integers]:
        """Encrypt bits or integers for inputs. Raises as :meth:`run_clear`."""
        self._check_secret(secret)
        most = {name: 2**bits - 1 for name, _, bits in self.native.inputs()}
        found: dict[str, tfhe.Bits | tfhe.Integers] = {}
        for name, values in inputs.items():
            given = self._checked(name, values)
            wrong = given[(given < 0) | (given > most[name])]
            if wrong.size > 0:
                raise UsageError(
                    f"input {name}: the message {wrong.flat[0]}, expected 0 to {most[name]}"
                )
            found[name] = secret.encrypt_bits(given) if self._of_bits else secret.encrypt(given)
        return found

    def decrypt(
        self, secret: tfhe.ClientKey, outputs: Mapping[str, tfhe.Bits | tfhe.Integers]
    ) -> dict[str, Messages]:
        """Decrypt results: bits, or integers as in the clear.

        The ciphertext of an integer that may be negative holds a value that is larger by a multiple
        of 2^``message_bits``. The multiple is subtracted here.
        """
        known = {name: of for name, _, of in self.native.outputs()}
        found: dict[str, Messages] = {}
        for name, x in outputs.items():
            if name not in known:
                raise UsageError(f"output {name!r}, expected one of {list(known)}")
            if isinstance(x, tfhe.Bits):
                found[name] = secret.decrypt(x)
            else:
                offsets = np.array([offset for *_, offset in known[name]], np.int64)
                values = secret.decrypt_with_carry(x).astype(np.int64)
                found[name] = np.asarray(values - offsets.reshape(values.shape))
        return found

    def run(
        self, inputs: Mapping[str, tfhe.Bits | tfhe.Integers], keys: tfhe.ServerKey
    ) -> dict[str, Any]:
        """Run the circuit. Returns ``tfhe.Bits`` or ``tfhe.Integers`` by the names of its outputs.

        Inputs are the results of :meth:`encrypt`, or results of other operations with the noise of
        one bootstrapping. Results have the ``keys``, for operators. Bootstrappings that do not
        depend on each other run on all threads.

        Raises
        ------
        UsageError
            As :meth:`run_clear` and :meth:`predict_failure`; for ciphertexts or keys of other
            parameters; for an input with more noise, or with carry.
        """
        self.predict_failure()
        found = self.native.run(self.params.native, self._given(inputs), keys.native)
        return self._results(found, keys)

    def lower(self) -> Lowered:
        """The circuit on the floors below: operations on samples, and instructions on limbs."""
        return Lowered(*self.native.lower(self.params.native))

    def replay(
        self,
        lowered: Lowered,
        inputs: Mapping[str, tfhe.Bits | tfhe.Integers],
        keys: tfhe.ServerKey,
    ) -> dict[str, Any]:
        """As :meth:`run`, by executing every instruction of :meth:`lower`, one by one.

        A trace multiplies exactly. A run multiplies by transforms of doubles, whose rounding is
        part of the noise. The messages therefore equal those of :meth:`run`, but the words do not.
        """
        given = self._given(inputs)
        found = self.native.replay(self.params.native, lowered.circuit, given, keys.native)
        return self._results(found, keys)

    @property
    def _of_bits(self) -> bool:
        return self.native.kind() == "bits"

    def _check_secret(self, secret: tfhe.ClientKey) -> None:
        if secret.params != self.params:
            raise UsageError(
                f"the secret is of other parameters: {secret.params!r}, expected {self.params!r}"
            )

    def _checked(self, name: str, values: ArrayLike) -> NDArray[Any]:
        """Integers of the shape of an input. The core checks that they are in its range."""
        shapes = self.inputs
        if name not in shapes:
            raise UsageError(f"input {name!r}, expected one of {list(shapes)}")
        try:
            found = array(values, "bits" if self._of_bits else "integers")
        except UsageError as error:
            raise UsageError(f"input {name}: {error}") from error
        if found.shape != shapes[name]:
            raise UsageError(f"input {name}: shape {found.shape}, expected {shapes[name]}")
        if found.dtype.kind == "u" and found.size > 0 and int(found.max()) >= 2**63:
            raise UsageError(f"input {name}: value {found.max()}, expected less than 2^63")
        return found.astype(np.int64)

    def _given(
        self, inputs: Mapping[str, tfhe.Bits | tfhe.Integers]
    ) -> dict[str, _native.TfheBits | _native.TfheIntegers]:
        for name, value in inputs.items():
            if not isinstance(value, tfhe.Bits | tfhe.Integers):
                raise UsageError(f"input {name}: {value!r}, expected encrypted: use encrypt")
        return {name: value.native for name, value in inputs.items()}

    def _results(
        self,
        found: Mapping[str, _native.TfheBits | _native.TfheIntegers],
        keys: tfhe.ServerKey,
    ) -> dict[str, tfhe.Bits | tfhe.Integers]:
        results: dict[str, tfhe.Bits | tfhe.Integers] = {}
        for name, shape in self.outputs.items():
            native = found[name]
            if isinstance(native, _native.TfheBits):
                results[name] = tfhe.Bits(native, shape == (), keys)
            else:
                results[name] = tfhe.Integers(native, shape == (), keys)
        return results
