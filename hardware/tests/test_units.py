"""Units beside their definitions, and RTL beside the models, at small widths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from palladion_hardware.circuit.inventory import count
from palladion_hardware.circuit.model import Model
from palladion_hardware.circuit.nodes import Node
from palladion_hardware.errors import MismatchError, ParameterError
from palladion_hardware.tools import amaranth_simulator, verilator
from palladion_hardware.tools.programs import has
from palladion_hardware.units import numbers
from palladion_hardware.units.athena.generator import AthenaGenerator, chacha20
from palladion_hardware.units.athena.ntt import AthenaNtt
from palladion_hardware.units.check import compare, try_model
from palladion_hardware.units.cross.reduction import CrossReduction
from palladion_hardware.units.f1.multiplier import F1Multiplier
from palladion_hardware.units.f1.ntt import F1Ntt
from palladion_hardware.units.registry import UNITS, unit_class
from palladion_hardware.units.unit import Shape, Unit

needs_verilator = pytest.mark.skipif(not has("verilator"), reason="Verilator is not installed")

SHAPES = {
    "f1-ntt": [
        Shape(lanes=2, word=12, degree=4, round_bits=6),
        Shape(lanes=16, word=32, degree=256),
        Shape(lanes=8, word=30, degree=32, multiplier="montgomery", product_cycles=3),
        Shape(lanes=8, word=30, degree=64, multiplier="barrett"),
    ],
    "f1-automorphism": [Shape(lanes=2, word=8, degree=2, round_bits=4), Shape(16, 32, 256)],
    "f1-multiplier": [
        Shape(lanes=2, word=32, degree=2, multiplier=kind, round_bits=rounds)
        for kind, rounds in [
            ("montgomery", 1),
            ("barrett", 1),
            ("hardcoded", 1),
            ("restricted", 11),
        ]
    ],
    "athena-ntt": [
        Shape(lanes=8, word=20, degree=8, round_bits=10),
        Shape(lanes=64, word=20, degree=64, round_bits=7, product_cycles=1),
        Shape(lanes=16, word=36, degree=512, round_bits=12),
        Shape(lanes=16, word=40, degree=64, multiplier="montgomery"),
    ],
    "cross-reduction": [
        Shape(lanes=2, word=word, degree=2, multiplier=kind)
        for word in (21, 32)
        for kind in CrossReduction.multipliers
    ],
    "hyena-ntt": [
        Shape(lanes=2, word=14, degree=4, round_bits=7),
        Shape(lanes=8, word=32, degree=64, multiplier="barrett"),
        Shape(lanes=32, word=32, degree=32, multiplier="montgomery", product_cycles=1),
    ],
    "hyena-permutation": [Shape(lanes=2, word=8, degree=2), Shape(lanes=64, word=32, degree=64)],
    "athena-generator": [
        Shape(lanes=8, word=36, degree=64, modulus=(1 << 35) + 53),
        Shape(lanes=64, word=64, degree=256),
        Shape(lanes=64, word=17, degree=256, modulus=257),
    ],
}


def small_units() -> list[Unit]:
    return [cls(cls.small()) for cls in UNITS.values()]


@pytest.mark.parametrize("unit", small_units(), ids=lambda unit: unit.name)
def test_model_and_amaranth_agree_with_the_definition(unit: Unit) -> None:
    trial = try_model(unit, seed=7)
    compare(unit, trial, amaranth_simulator.simulate(unit.circuit, trial.ports), "Amaranth")


@needs_verilator
@pytest.mark.parametrize("unit", small_units(), ids=lambda unit: unit.name)
def test_verilog_gives_the_words_of_the_model_in_every_cycle(unit: Unit) -> None:
    trial = try_model(unit, seed=8)
    compare(unit, trial, verilator.simulate(unit.circuit, trial.ports), "Verilator")


@pytest.mark.parametrize(
    ("name", "shape"), [(name, shape) for name, shapes in SHAPES.items() for shape in shapes]
)
def test_other_sizes(name: str, shape: Shape) -> None:
    assert try_model(unit_class(name)(shape), seed=9).work.expected


@pytest.mark.parametrize("name", ["f1-ntt", "athena-ntt", "hyena-ntt"])
@pytest.mark.parametrize("stage", ["subtract", "select", "multiply", "delay", "memory"])
def test_a_fault_in_any_kind_of_node_is_seen(name: str, stage: str) -> None:
    """A bit is flipped behind the operations of one kind: the check does not pass."""
    cls = unit_class(name)
    unit = cls(cls.small())
    wide = unit.shape.word
    target = [node for node in unit.circuit.nodes if node.kind == stage and node.bits >= wide][-1]
    flip_lowest_bit(unit, target)
    with pytest.raises(MismatchError, match="by definition"):
        try_model(unit, seed=3)


def flip_lowest_bit(unit: Unit, target: Node) -> None:
    c = unit.circuit
    one = c.add_node("constant", 1, 1, None, words=np.ones(1, dtype=np.uint64))
    wrong = c.add_node("xor", target.bits, target.lanes, target.time, (target, one))
    for node in [*c.nodes[:-2]]:
        node.operands = tuple(wrong if operand is target else operand for operand in node.operands)
    for name, node in c.outputs.items():
        c.outputs[name] = wrong if node is target else node
    c.nodes.remove(one)
    c.nodes.remove(wrong)
    place = c.nodes.index(target)
    c.nodes[place + 1 : place + 1] = [one, wrong]


def test_a_result_that_is_late_is_seen() -> None:
    unit = F1Multiplier(F1Multiplier.small())
    result = unit.circuit.outputs["result"]
    unit.circuit.outputs["result"] = result.held_back(1)
    with pytest.raises(MismatchError):
        try_model(unit, seed=3)


@pytest.mark.parametrize("lanes", [2, 4, 8, 16])
def test_latencies_follow_from_the_stages(lanes: int) -> None:
    """Transform: 2 log2 E butterflies, a product, E - 1 cycles of transposition, 2 registers."""
    layers = lanes.bit_length() - 1
    shape = Shape(lanes=lanes, word=30, degree=lanes * lanes)
    product = F1Multiplier(replace(shape, lanes=1)).latency
    assert F1Ntt(shape).latency == 2 * layers * (product + 1) + product + lanes - 1 + 2
    assert unit_class("f1-automorphism")(shape).latency == 2 * (lanes - 1) + 3


def test_the_paper_counts_1024_multipliers() -> None:
    unit = F1Ntt(replace(F1Ntt.full(), multiplier="montgomery"))
    assert count(unit.circuit).multipliers == 3 * 1024  # three products each


def test_a_transform_of_radix_8_takes_the_papers_cycles_and_modular_units() -> None:
    """Athena, section 4.2.1: 5 iterations of 16 vectors, and 2,048 modular units."""
    unit = AthenaNtt(replace(AthenaNtt.full(), multiplier="montgomery"))
    assert unit.interval().endswith(": 80 cycles for each")
    assert unit.latency == 4 * unit.ring + unit.latency % unit.ring
    # A reduction is two products, and a core has 21 products before its eight.
    assert count(unit.circuit).multipliers == 21 * 256 + 2 * 2048


@pytest.mark.parametrize(
    ("kind", "products", "latency"),
    [("plain", 1, 1), ("barrett", 1, 3), ("hardcoded", 1, 2), ("montgomery", 1, 3),
     ("barrett-own", 3, 4), ("montgomery-own", 3, 4)],
)  # fmt: skip
def test_elements_of_cross_take_the_printed_cycles(kind: str, products: int, latency: int) -> None:
    """Table 8: 3, 2 and 3 cycles. Barrett and Montgomery use the element's multiplier again."""
    unit = CrossReduction(replace(CrossReduction.full(), multiplier=kind))
    assert count(unit.circuit).multipliers == products
    assert unit.latency == latency


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"word": 20}, "21 or more"),
        ({"modulus": 1 << 20}, "expected an odd one of 20 bits"),
        ({"modulus": 1048573, "multiplier": "hardcoded"}, "expected 1048449 or 524417"),
        ({"multiplier": "restricted"}, "cross-reduction has one of plain"),
    ],
)
def test_elements_of_cross_refuse_what_they_cannot(
    changes: dict[str, int | str], words: str
) -> None:
    with pytest.raises(ParameterError, match=words):
        CrossReduction(replace(CrossReduction.small(), **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["barrett", "montgomery", "hardcoded", "montgomery-own"])
def test_elements_of_cross_still_multiply_and_add(kind: str) -> None:
    """The sum, a cycle behind each vector that is not reduced."""
    unit = CrossReduction(replace(CrossReduction.small(), multiplier=kind))
    rng = np.random.default_rng(5)
    model = Model(unit.circuit)
    before: list[int] = []
    for _ in range(20):
        a, b, added = rng.integers(0, 1 << unit.shape.word, (3, 2), dtype=np.uint64)
        cycle = unit.idle() | {"valid": np.ones(1, dtype=np.uint64), "a": a, "b": b, "c": added}
        outputs = model.step(cycle)
        assert not before or outputs["sum"].tolist() == before
        terms = zip(a.tolist(), b.tolist(), added.tolist(), strict=True)
        before = [x * y + z for x, y, z in terms]


def test_moduli_of_any_residue_need_another_multiplier() -> None:
    with pytest.raises(ParameterError, match="expected 1: take another modulus"):
        F1Ntt(Shape(lanes=4, word=14, degree=16, modulus=97))
    unit = F1Ntt(Shape(lanes=4, word=14, degree=16, modulus=97, multiplier="montgomery"))
    try_model(unit, seed=1)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"lanes": 3}, "expected a power of 2"),
        ({"degree": 32}, "take more lanes"),
        ({"word": 40, "modulus": None}, "at most 32"),
        ({"modulus": 1 << 20}, "wider than 14 bits"),
        ({"word": 5, "degree": 16}, "no prime of 5 bits"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(changes: dict[str, int], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        F1Ntt(replace(F1Ntt.small(), **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("key", "stream", "counter", "words"),
    [
        ([0] * 8, [0, 0], 0, "ade0b876 903df1a0 e56a5d40 28bd8653"),
        (
            [int.from_bytes(bytes(range(k, k + 4)), "little") for k in range(0, 32, 4)],
            [0x4A000000, 0],
            0x09000000 << 32 | 1,
            "e4e7f110 15593bd1 1fdd0f50 c47120a3 c7f4d1c7 0368c033 9aaa2204 4e6cd4c3 "
            "466482d2 09aa9f07 05d7c214 a2028bd9 d19c12b5 b94e16de e883d0cb 4e3c50a2",
        ),
    ],
    ids=["zeros", "RFC 8439, section 2.3.2"],
)
def test_the_definition_of_the_generator_has_known_answers(
    key: list[int], stream: list[int], counter: int, words: str
) -> None:
    """The first one is the well-known key stream of zeros, 76 b8 e0 ad .."""
    expected = [int(word, 16) for word in words.split()]
    assert chacha20(key, stream, counter)[: len(expected)] == expected


@pytest.mark.parametrize(
    ("shape", "seed", "stream", "words"),
    [
        (
            Shape(lanes=16, word=20, degree=64, modulus=(1 << 19) + 21),
            7,
            [2, 3],
            [515890, 490250, 292757, 115627, 724, 242045, 359680, 451468],
        ),
        (
            Shape(lanes=8, word=36, degree=64, modulus=(1 << 35) + 53),
            9,
            [1, 5],
            [32110157772, 10579823400, 46452438, 33084381566, 4274516929, 28230560278, 1896254476,
             18513964298],
        ),
    ],
    ids=["draws of 32 bits", "draws of 64 bits"],
)  # fmt: skip
def test_the_generator_gives_the_words_of_this_projects_seeds(
    shape: Shape, seed: int, stream: list[int], words: list[int]
) -> None:
    """The first words of ``uniform_from_seed`` (crates/ring/src/sample.rs), as its source gives
    them for a seed of 32 equal bytes, and for limb and index of the stream.
    """
    unit = AthenaGenerator(shape)
    model = Model(unit.circuit)
    for cycle in range(unit.latency + 8):
        ports = unit.idle() | {
            "valid": np.ones(1, dtype=np.uint64),
            "first": np.array([int(cycle == 0)], dtype=np.uint64),
            "key": np.full(8, seed * 0x01010101, dtype=np.uint64),
            "stream": np.array(stream, dtype=np.uint64),
        }
        outputs = model.step(ports)
        if outputs["result_valid"][0]:
            break
    assert outputs["result"][:8].tolist() == words


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"lanes": 8}, "16 or more"),
        ({"word": 36, "modulus": 65537}, "narrower ones have other draws"),
        ({"modulus": 1 << 20}, "at most 20 bits"),
    ],
)
def test_the_generator_refuses_what_it_cannot(changes: dict[str, int], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        AthenaGenerator(replace(AthenaGenerator.small(), **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"degree": 128}, "a power of 8 from the lanes on"),
        ({"lanes": 4}, "8 lanes or more"),
        ({"multiplier": "barrett"}, "athena-ntt has one of restricted, montgomery"),
        ({"word": 50}, "wider than 42 bits"),
    ],
)
def test_passes_of_radix_8_refuse_what_they_cannot(changes: dict[str, int], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        AthenaNtt(replace(AthenaNtt.small(), **changes))  # type: ignore[arg-type]


def test_an_input_of_another_width_is_refused() -> None:
    unit = F1Ntt(F1Ntt.small())
    with pytest.raises(ParameterError, match="expected one for each of 4 lanes"):
        Model(unit.circuit).step(unit.idle() | {"words": np.zeros(3, dtype=np.uint64)})
    with pytest.raises(ParameterError, match="more than 14 bits"):
        Model(unit.circuit).step(unit.idle() | {"words": np.full(4, 1 << 14, dtype=np.uint64)})


def test_the_definitions_are_inverse_to_each_other() -> None:
    q = numbers.largest_prime(bits=20, step=64)
    psi = numbers.root_of_unity(q, 64)
    words = np.random.default_rng(1).integers(0, q, 32, dtype=np.uint64)
    values = numbers.transform(words, q, psi)
    assert values.tolist() == [
        sum(int(a) * pow(psi, (2 * j + 1) * i, q) for i, a in enumerate(words)) % q
        for j in range(32)
    ]
    assert np.array_equal(numbers.inverse_transform(values, q, psi), words)
