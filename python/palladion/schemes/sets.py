"""Parameter sets by name: Palladion's own, and published ones of papers.

They come from the core: the schemes' sets are in ``crates/schemes/sets.json``."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from palladion._native import TfheParams, scheme_sets
from palladion.errors import UsageError
from palladion.schemes.security import Security, largest_log_qp
from palladion.support.records import Json, read, to_json

SPARSE_WEIGHT = 32
"""Nonzero coefficients of the secret under which CKKS bootstrapping raises a modulus."""
SEED = 32
"""Number of bytes of a seed."""


@dataclass(frozen=True)
class Sizes:
    """Moduli of a set of Palladion, in bits, in the form of ``Params``."""

    levels: list[list[int]]
    special: list[int]
    digit_limbs: int
    scale_bits: int | None
    t: int | None


@dataclass(frozen=True)
class NamedSet:
    """A parameter set. Values that a paper does not give are ``None``, and so are values derived
    from them.

    Bytes are sizes of files, in which residues take the bits of their moduli. Headers are not
    included.
    """

    name: str
    scheme: str
    log_n: int
    limbs: int
    log_q: float | None
    log_qp: float | None
    digits: int | None
    levels: int
    source: str
    sizes: Sizes | None

    @property
    def slots(self) -> int:
        """Number of values of one ciphertext."""
        return 1 << (self.log_n - (self.scheme == "ckks"))

    @property
    def limit(self) -> int | None:
        """Largest log2(QP) of a secure set of the degree."""
        return largest_log_qp(self.log_n)

    @property
    def secure(self) -> bool | None:
        """True if the set is secure. ``None`` if the known moduli do not determine it."""
        return None if self.security is None else self.security.enough

    @property
    def security(self) -> Security | None:
        """Estimated security. ``None`` if the known moduli do not determine it."""
        if self.log_qp is not None:
            return Security.uniform(self.log_n, self.log_qp)
        if self.log_q is None:
            return None
        # The special moduli are not included.
        at_most = Security.uniform(self.log_n, self.log_q)
        return None if at_most.enough else at_most

    @property
    def sparse_security(self) -> Security | None:
        """The security of the sparse secret of bootstrapping, for sets made for bootstrapping."""
        if self.sizes is None or not self.name.startswith("ckks-bootstrap"):
            return None
        bits = sum(self.sizes.levels[0]) + self.sizes.special[0]
        return Security.sparse(self.log_n, bits, SPARSE_WEIGHT)

    @property
    def ciphertext_bytes(self) -> int | None:
        """Bytes of a ciphertext at the highest level."""
        return None if self.log_q is None else round(2 * self.log_q * (1 << self.log_n) / 8)

    @property
    def fresh_bytes(self) -> int | None:
        """Bytes of a fresh ciphertext. Half of it is a seed."""
        whole = self.ciphertext_bytes
        return None if whole is None else whole // 2 + SEED

    @property
    def key_bytes(self) -> int | None:
        """Bytes of the relinearization key or of one Galois key. Half of it is a seed."""
        if self.digits is None or self.log_qp is None:
            return None
        return round(self.digits * self.log_qp * (1 << self.log_n) / 8) + SEED

    def describe(self) -> Json:
        """All properties in JSON form."""
        return {
            "name": self.name,
            "scheme": self.scheme,
            "log_n": self.log_n,
            "slots": self.slots,
            "levels": self.levels,
            "limbs": self.limbs,
            "log_q": self.log_q,
            "log_qp": self.log_qp,
            "limit_128": self.limit,
            "secure": self.secure,
            "security": self.security and asdict(self.security),
            "sparse_security": self.sparse_security and asdict(self.sparse_security),
            "digits": self.digits,
            "ciphertext_bytes": self.ciphertext_bytes,
            "fresh_bytes": self.fresh_bytes,
            "key_bytes": self.key_bytes,
            "source": self.source,
        }


def named_sets() -> dict[str, NamedSet]:
    """All sets, by name."""
    data = json.loads(scheme_sets())
    found = [_ours(entry) for entry in data["ours"]]
    found += [_published(entry) for entry in data["published"]]
    return {entry.name: entry for entry in found}


@dataclass(frozen=True)
class TfheSet:
    """A parameter set of TFHE. Failures are averages over keys."""

    scheme: str
    name: str
    layout: str
    """``gates``, or the messages of the set in words."""
    message_bits: int
    carry_bits: int
    word_bits: int
    lwe_dimension: int
    lwe_sigma: float
    rank: int
    log_n: int
    ring_sigma: float
    bootstrap_digits: tuple[int, ...]
    """Bits and number."""
    key_switch: str
    key_switch_digits: tuple[int, ...]
    """Bits and number."""
    max_noise: int
    security: Security
    security_bits: float
    secure: bool
    log2_failure: float
    ciphertext_bytes: int
    fresh_bytes: int
    key_bytes: int
    key_memory_bytes: int

    @property
    def bits(self) -> str:
        """The bits of message and carry."""
        return f"{self.message_bits} + {self.carry_bits} carry"

    def to_json(self) -> Json:
        """As data for JSON."""
        return to_json(self)


def tfhe_sets() -> dict[str, TfheSet]:
    """All sets of TFHE, including the sets of papers, by name."""
    return {
        name: read(TfheSet, TfheParams.named(name, True).describe()) for name in TfheParams.names()
    }


def named(name: str) -> NamedSet:
    """A set of another scheme than TFHE. Raises ``UsageError`` if there is none of the name."""
    sets = named_sets()
    if name not in sets:
        known = ", ".join([*sets, *TfheParams.names()])
        raise UsageError(f"no parameter set {name!r}, expected one of {known}")
    return sets[name]


def of_scheme(name: str, scheme: str) -> tuple[NamedSet, Sizes]:
    """A set of Palladion for a scheme. Raises ``UsageError`` if there is none."""
    found = named(name)
    if found.sizes is None:
        raise UsageError(f"only total sizes of {name} are known, expected a set of Palladion")
    if scheme not in found.scheme.split(", "):
        raise UsageError(f"{name} is a set of {found.scheme}, expected one of {scheme}")
    return found, found.sizes


def _ours(entry: Json) -> NamedSet:
    levels: list[list[int]] = [bits for count, bits in entry["levels"] for _ in range(count)]
    special: list[int] = [bits for count, bits in entry["special"] for _ in range(count)]
    moduli = [bits for level in levels for bits in level]
    digit_limbs = entry.get("digit_limbs", len(special))
    return NamedSet(
        name=entry["name"],
        scheme=entry["scheme"],
        log_n=entry["log_n"],
        limbs=len(moduli),
        log_q=sum(moduli),
        log_qp=sum(moduli) + sum(special),
        digits=_digits(moduli, sum(special) if entry["scheme"] == "ckks" else None, digit_limbs),
        levels=len(levels) - 1,
        source="ours",
        sizes=Sizes(levels, special, digit_limbs, entry.get("scale_bits"), entry.get("t")),
    )


def _published(entry: Json) -> NamedSet:
    return NamedSet(**entry, levels=entry["limbs"] - 1, sizes=None)


def _digits(moduli: list[int], bound: int | None, longest: int) -> int:
    """Digits of key switching, of ``longest`` moduli. In CKKS no larger than the special moduli."""
    digits: list[list[int]] = []
    for bits in moduli:
        fits = bound is None or (bool(digits) and sum(digits[-1]) + bits <= bound + 1)
        if digits and len(digits[-1]) < longest and fits:
            digits[-1].append(bits)
        else:
            digits.append([bits])
    return len(digits)
