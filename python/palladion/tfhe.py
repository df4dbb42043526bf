"""TFHE: exact arithmetic on bits and small integers, with a table in every bootstrapping.

Bits are for gates, with the parameters of :meth:`Params.gates`::

    from palladion import tfhe

    client = tfhe.keygen(tfhe.Params.gates())
    server = client.server_key()  # public: gates and tables need it
    x = client.encrypt_bits([True, True, False]).with_keys(server)
    client.decrypt((x & True) ^ ~x)  # all true

Integers of a few bits are for tables, with the parameters of :meth:`Params.integers`. Numbers of
several digits are made of such integers::

    client = tfhe.keygen(tfhe.Params.integers(message_bits=2, carry_bits=2))
    server = client.server_key()
    x = client.encrypt([0, 1, 2, 3]).with_keys(server)
    client.decrypt((3 * x + 1).apply(lambda v: v // 2))  # 0, 2, 3, 5 modulo 4
    n = client.encrypt_radix([1000, 2000], bits=16).with_keys(server)
    client.decrypt((n + 1) - 2000)

Nothing has to be planned: noise is fresh after every gate and every table, and an operation that
would exceed the noise or the carry bits raises an error. A bootstrapping gives a wrong result with
a predicted probability of at most 2^:attr:`Params.log2_failure`.
"""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from palladion import _native
from palladion.schemes.arrays import natural
from palladion.schemes.tfhe.batch import join
from palladion.schemes.tfhe.bits import Bits
from palladion.schemes.tfhe.integers import Integers
from palladion.schemes.tfhe.radix import Radix, digits_of
from palladion.schemes.tfhe.tfhe_keys import Params, ServerKey
from palladion.schemes.tfhe.values import bit_bytes, natural_bytes

__all__ = ["Bits", "ClientKey", "Integers", "Params", "Radix", "ServerKey", "join", "keygen"]


def keygen(params: Params) -> ClientKey:
    """Generate a client's secrets from the operating system's randomness."""
    return ClientKey(_native.TfheClient.generate(params.native))


class ClientKey:
    """Encrypts and decrypts. It never leaves its owner."""

    def __init__(self, native: _native.TfheClient) -> None:
        self.native = native

    @property
    def params(self) -> Params:
        """The parameters."""
        return Params(self.native.params_of())

    def server_key(self) -> ServerKey:
        """The keys for gates and tables, for the server."""
        return ServerKey(self.native.server_key())

    def encrypt_bits(self, values: ArrayLike) -> Bits:
        """Encrypt ``True`` or ``False``, 0 or 1, or an array of them of shape ``(k,)``.

        Raises
        ------
        UsageError
            If a value is not a bit, or if the parameters are parameters of integers.
        """
        data, single = bit_bytes(values)
        return Bits(_native.TfheBits.encrypt(self.native, data), single)

    def encrypt(self, values: ArrayLike) -> Integers:
        """Encrypt a message from 0 to 2^``message_bits`` - 1, or an array of shape ``(k,)``.

        Raises
        ------
        UsageError
            If a value is not such a message, or if the parameters are parameters of gates.
        """
        data, single = natural_bytes(values)
        return Integers(_native.TfheIntegers.encrypt(self.native, data), single)

    def encrypt_radix(self, values: ArrayLike, bits: int) -> Radix:
        """Encrypt a number from 0 to 2^``bits`` - 1, or an array of shape ``(k,)``.

        ``bits`` is a multiple of the bits of a message, at most 64.

        Raises
        ------
        UsageError
            If a value is not such a number, or if the parameters are parameters of gates.
        """
        digits = digits_of(self.params, natural("the number of bits", bits))
        data, single = natural_bytes(values)
        return Radix(_native.TfheNumbers.encrypt(self.native, data, digits), single)

    @overload
    def decrypt(self, x: Bits) -> NDArray[np.bool_]: ...
    @overload
    def decrypt(self, x: Integers | Radix) -> NDArray[np.uint64]: ...
    def decrypt(self, x: Bits | Integers | Radix) -> NDArray[np.bool_] | NDArray[np.uint64]:
        """The bits, messages (without their carry) or numbers, as an array of the same shape.

        The array of a single value has no dimension: ``bool`` and ``int`` convert it.

        Raises
        ------
        UsageError
            If they have other parameters. With another key of the same parameters, they are random
            instead.
        """
        if isinstance(x, Bits):
            data = x.native.decrypt(self.native)
            return np.frombuffer(data, np.uint8).astype(np.bool_).reshape(x.shape)
        if isinstance(x, Integers):
            return np.frombuffer(x.native.decrypt(self.native, False), np.uint64).reshape(x.shape)
        return np.frombuffer(x.native.decrypt(self.native), np.uint64).reshape(x.shape)

    def decrypt_with_carry(self, x: Integers) -> NDArray[np.uint64]:
        """The values with their carry bits."""
        return np.frombuffer(x.native.decrypt(self.native, True), np.uint64).reshape(x.shape)

    def to_bytes(self) -> bytes:
        """The secrets as bytes. Only their owner may see them."""
        return self.native.to_bytes()

    @classmethod
    def from_bytes(cls, params: Params, data: bytes) -> ClientKey:
        """Read secrets. Raises ``FormatError`` if they are damaged or made for other parameters."""
        return cls(_native.TfheClient.from_bytes(params.native, data))
