"""Random traces with all operations that a machine of 32-bit words runs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


def primes(n: int, least: int) -> list[int]:
    """Primes that are 1 modulo ``2 n``: the smallest above ``least``, the largest of some
    lengths."""
    start = least // (2 * n) * 2 * n + 2 * n + 1
    found = [next(q for q in range(start, 1 << 32, 2 * n) if is_prime(q))]
    for bits in (32, 31, 27, 18):
        start = ((1 << bits) - 1) // (2 * n) * 2 * n + 1
        found.append(next(q for q in range(start, 0, -2 * n) if q >> bits == 0 and is_prime(q)))
    return found


def is_prime(q: int) -> bool:
    return all(pow(base, q - 1, q) == 1 for base in (2, 3, 5, 7, 11, 13)) and all(
        q % d or q == d for d in range(3, 1 << 10, 2)
    )


@dataclass(frozen=True)
class Value:
    domain: str
    limbs: tuple[int, ...]

    def __str__(self) -> str:
        starts = [limb for limb in self.limbs if limb - 1 not in self.limbs]
        ends = [limb + 1 for limb in self.limbs if limb + 1 not in self.limbs]
        ranges = (f"{start}..{end}" for start, end in zip(starts, ends, strict=True))
        return f"{self.domain} {','.join(ranges)}"


@dataclass
class Writer:
    """A trace that is being written. Every value is stored in the end."""

    rng: np.random.Generator
    n: int
    least: int
    values: list[Value] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    constants: list[str] = field(default_factory=list)
    inputs: dict[str, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.moduli = primes(self.n, self.least)

    def below(self, bound: int) -> int:
        return int(self.rng.integers(bound))

    def limbs(self, among: tuple[int, ...]) -> tuple[int, ...]:
        count = 1 + self.below(len(among))
        return tuple(sorted(self.rng.choice(among, count, replace=False).tolist()))

    def add(self, operation: str, *made: Value) -> int:
        first = len(self.values)
        names = ", ".join(f"%{first + k}: {value}" for k, value in enumerate(made))
        self.lines.append(f"  {names} = {operation}")
        self.values += made
        return first

    def constant(self, text: str) -> int:
        self.constants.append(f"@{len(self.constants)} = {text}")
        return len(self.constants) - 1

    def words(self, least: int, bound: int) -> int:
        words = self.rng.integers(least, bound, self.n).tolist()
        whole = self.constant("words " + " ".join(map(str, words)))
        return self.constant(f"turn {1 + self.below(self.n // 2 - 1)} @{whole}")

    def pick(self, domain: str = "", limbs: int = 0) -> int | None:
        fits = [
            k
            for k, value in enumerate(self.values)
            if value.domain.startswith(domain) and (not limbs or len(value.limbs) == limbs)
        ]
        return fits[self.below(len(fits))] if fits else None

    def alike(self, value: int, count: int) -> list[int]:
        same = [k for k, other in enumerate(self.values) if other == self.values[value]]
        return [same[self.below(len(same))] for _ in range(count)]

    def residues(self, limbs: tuple[int, ...]) -> str:
        return " ".join(str(self.below(self.moduli[limb])) for limb in limbs)

    def load(self, domain: str, limbs: tuple[int, ...]) -> None:
        value, name = Value(domain, limbs), f"in/{len(self.inputs)}"
        self.inputs[name] = value
        self.add(f"load {name}", value)

    def unary(self, kind: str, a: int) -> None:
        """A random operation with the operand ``a`` and others."""
        value, everything = self.values[a], tuple(range(len(self.moduli)))
        one = Value("coeff", value.limbs)
        match kind:
            case "ntt" | "intt":
                self.add(f"{kind} %{a}", Value({"ntt": "eval"}.get(kind, "coeff"), value.limbs))
            case "add" | "sub" | "mul":
                self.add(f"{kind} %{a} %{self.alike(a, 1)[0]}", value)
            case "dot":
                terms = 1 + self.below(20)
                pairs = zip(self.alike(a, terms), self.alike(a, terms), strict=True)
                self.add("dot " + ", ".join(f"%{x} %{y}" for x, y in pairs), value)
            case "scale":
                self.add(f"scale %{a} by {self.residues(value.limbs)}", value)
            case "combine":
                columns, rows = 1 + self.below(20), 1 + self.below(20)
                numbers = self.rng.integers(-(1 << 40), 1 << 40, rows * columns).tolist()
                matrix = self.constant("list " + " ".join(map(str, numbers)))
                modulus = self.below(len(self.moduli))
                operands = " ".join(f"%{x}" for x in self.alike(a, columns))
                self.add(
                    f"combine {operands} list @{matrix} first 0 modulus {modulus} "
                    f"rows {self.residues((modulus,) * rows)} "
                    f"columns {self.residues((modulus,) * columns)}",
                    *[value] * rows,
                )
            case "automorphism":
                self.add(f"automorphism %{a} by {2 * self.below(self.n) + 1}", value)
            case "slots":
                self.add(f"slots %{a}", Value("eval", value.limbs))
            case "extract":
                read = self.alike(a, 1 + self.below(5))
                at = self.words(-2, len(read) * self.n)
                entries = f" entries @{self.words(0, 50)} gap {1 + self.below(self.n)}"
                names = " ".join(f"%{x}" for x in read)
                self.add(f"extract {names} at @{at}{entries * self.below(2)}", value)
            case "convert":
                others = tuple(set(everything) - set(value.limbs))
                if others:
                    self.add(f"convert %{a}", Value("coeff", self.limbs(others)))
            case "select":
                self.add(f"select %{a}", Value(value.domain, self.limbs(value.limbs)))
            case "round" if value.limbs != (0,):
                self.add(f"round %{a}", Value("coeff", (0,)))
            case "digit":
                bits, count = 1 + self.below(10), 1 + self.below(4)
                index = self.below(count)
                self.add(f"digit %{a} index {index} bits {bits} count {count}", one)

    def text(self) -> str:
        stores = [f"  store out/{k} %{k}" for k in range(len(self.values))]
        moduli = " ".join(map(str, self.moduli))
        head = ["palladion-trace/1", f"ring {self.n}", f"moduli {moduli}", *self.constants]
        return "\n".join([*head, "", "main:", *self.lines, *stores, "end", ""])


OPERANDS = {
    "ntt": ("coeff", 0),
    "intt": ("eval", 0),
    "mul": ("eval", 0),
    "dot": ("eval", 0),
    "slots": ("coeff", 1),
    "extract": ("coeff", 0),
    "convert": ("coeff", 0),
    "round": ("coeff", 1),
    "digit": ("coeff", 1),
}
"""Domain and number of limbs that an operation asks for."""
KINDS = ("add", "sub", "scale", "combine", "automorphism", "select", *OPERANDS)


def random_trace(rng: np.random.Generator, n: int, least: int, length: int) -> Writer:
    """A trace with about ``length`` operations, most kinds several times.

    All primes are above ``least``.
    """
    writer = Writer(rng, n, least)
    for domain in ("coeff", "eval"):
        for limbs in ((1,), (2,), (0, 2), (1, 3, 4)):
            writer.load(domain, limbs)
    writer.add("sample seed 3", Value("eval", tuple(range(len(writer.moduli)))))
    constant = writer.words(-(1 << 40), 1 << 40)
    writer.add(f"constant @{constant}", Value("coeff", tuple(range(len(writer.moduli)))))
    writer.add("zero", Value("eval", (0, 2)))
    for step in range(length):
        if step % 20 == 10:
            writer.lines.append(f"step layer {step}:")
        kind = KINDS[step % len(KINDS)]
        operand = writer.pick(*OPERANDS.get(kind, ("", 0)))
        if operand is not None:
            writer.unary(kind, operand)
    # Beside the loop, so that its draws stay as they were.
    for exponent in (1, n, 2 * n - 1):
        operand = writer.pick("coeff")
        assert operand is not None
        writer.add(f"shift %{operand} by {exponent}", writer.values[operand])
    return writer
