"""Decision trees and their ensembles as two matrix products with a rounding between them.

The client computes every test of every tree on its own features: exactly 0 or 1. From these the
network computes, for each leaf, the number of its conditions that hold, minus all but one of them.
That is 1 at the leaf of a tree that is reached, and at most 0 at the others. A rounding to one bit
turns negative numbers into 0. The second product adds up the values of the reached leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Final

import numpy as np
from onnx import TensorProto

from palladion.nn.importer import ensembles
from palladion.nn.importer.arrange import MAX_WEIGHTS
from palladion.nn.importer.context import Array
from palladion.nn.importer.ensembles import Ensemble, Leaf, Test
from palladion.nn.importer.operators import Operator
from palladion.nn.importer.split import QONNX
from palladion.nn.importer.writer import Writer, answered, transformed

MOST_TESTS: Final = 1 << 15
MOST_LEAVES: Final = 1 << 15
"""Largest number of values in all trees together. That many fit a few ciphertexts."""

WAYS_OUT: Final = (
    "fit it with fewer trees or smaller ones (n_estimators, max_depth, max_leaf_nodes)"
)

AGGREGATES: Final = ("AVERAGE", "SUM", "MIN", "MAX")
POST_TRANSFORMS: Final = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
"""Aggregation functions in the order of the operator TreeEnsemble."""


def classifier(w: Writer) -> None:
    """Scores, their probabilities, and the label of the largest."""
    found, labels = ensembles.classic(w, "class"), w.labels()
    ids = set(w.whole("class_ids"))
    if len(labels) < 2:
        raise w.fail(f"has {len(labels)} labels, supported are two or more")
    if len(ids) > 1 or len(labels) > 2:
        answered(w, summed(w, found, range(len(labels))), labels)
        return
    score = summed(w, found, sorted(ids))  # two classes have one score
    transform = w.text("post_transform", "NONE")
    if transform == "NONE":
        other = w.add("Sub", [w.constant("one", np.ones(1, np.float32)), score])
    else:
        other = w.add("Neg", [score])
    answered(w, w.add("Concat", [other, score], axis=1), labels)


def regressor(w: Writer) -> None:
    found = ensembles.classic(w, "target")
    aggregate = w.text("aggregate_function", "SUM")
    targets = range(int(w.attributes.get("n_targets", 1)))
    scores = summed(w, found, targets, divisor=divisor(w, aggregate, found))
    transformed(w, scores, w.text("post_transform", "NONE"), w.node.output[0])


def plain(w: Writer) -> None:
    """TreeEnsemble, whose attributes are numbers instead of words."""
    found = ensembles.plain(w)
    aggregate = AGGREGATES[int(w.attributes.get("aggregate_function", 1))]
    targets = range(int(w.attributes.get("n_targets", 1)))
    scores = summed(w, found, targets, divisor=divisor(w, aggregate, found))
    transform = POST_TRANSFORMS[int(w.attributes.get("post_transform", 0))]
    transformed(w, scores, transform, w.node.output[0])


def divisor(w: Writer, aggregate: str, found: Ensemble) -> int:
    """The number by which sums of leaves are divided."""
    if aggregate not in ("SUM", "AVERAGE"):
        raise w.fail(f"has aggregate_function {aggregate}, supported are SUM and AVERAGE: a "
                     "network adds trees up")  # fmt: skip
    return len(found.trees) if aggregate == "AVERAGE" else 1


def summed(w: Writer, found: Ensemble, targets: Sequence[int], *, divisor: int = 1) -> str:
    """The sum of the reached leaves' values, of shape (N, targets)."""
    base = found.base[list(targets)] if len(found.base) > 1 else np.array([*found.base, 0.0])[:1]
    base = np.zeros(len(targets)) + base
    trees = [values_of(tree, targets) / divisor for tree in found.trees]
    base = base + sum(values[0] for values in trees if len(values) == 1)
    pairs = [pair for tree, values in zip(found.trees, trees, strict=True) if len(tree) > 1
             for pair in zip(tree, values, strict=True) if pair[1].any()]  # fmt: skip
    if not pairs:
        raise w.fail("gives the same for every input")
    values = np.array([values for _, values in pairs], np.float32)
    held = [w.constant("values", values), w.constant("base", base.astype(np.float32))]
    given = w.add("MatMul", [reached(w, [leaf for leaf, _ in pairs]), held[0]], word="sum")
    scores = w.add("Add", [given, held[1]], word="scores")
    ends = [base + sum(end(v, axis=0) for v in trees if len(v) > 1) for end in (np.min, np.max)]
    w.largest[scores] = float(np.abs(ends).max())
    return scores


def reached(w: Writer, leaves: Sequence[Leaf]) -> str:
    """1 at each leaf whose conditions all hold, 0 at the others, of shape (N, leaves)."""
    tests = sorted(
        {test for leaf in leaves for tests in leaf.conditions for test in tests},
        key=lambda test: (test.kind, test.missing, test.feature, test.number),
    )
    check_size(w, len(tests), len(leaves))
    place = {test: index for index, test in enumerate(tests)}
    paths, bias = np.zeros((len(tests), len(leaves)), np.float32), np.ones(len(leaves), np.float32)
    for column, leaf in enumerate(leaves):
        for group, holds in leaf.conditions.items():
            paths[[place[test] for test in group], column] += 1 if holds else -1
            bias[column] -= holds
    truth = w.add("Cast", [tested(w, tests)], to=TensorProto.FLOAT)
    counted = w.add("MatMul", [truth, w.constant("paths", paths)])
    above = w.add("Add", [counted, w.constant("all_but_one", bias)])
    bit = [w.constant(word, np.array(number, np.float32)) for word, number in
           (("scale", 1), ("zero", 0), ("bits", 1))]  # fmt: skip
    return w.add("Quant", [above, *bit], word="leaves", domain=QONNX, signed=0, narrow=0)


def values_of(tree: Sequence[Leaf], targets: Sequence[int]) -> Array:
    """The values that each leaf adds to the targets, of shape (leaves, targets)."""
    found = np.zeros((len(tree), len(targets)))
    for row, leaf in enumerate(tree):
        for target, value in leaf.values.items():
            found[row, targets.index(target)] += value
    return found


def tested(w: Writer, tests: Sequence[Test]) -> str:
    """The truth value of each test, of shape (N, tests). The client computes it.

    The tests are in order of their kinds.
    Numbers are compared in double precision, which holds the numbers of every type.
    """
    features, parts = w.add("Cast", [w.node.input[0]], to=TensorProto.DOUBLE), []
    for (kind, missing), group in groupby(tests, key=lambda test: (test.kind, test.missing)):
        every = list(group)
        word = f"{kind}.missing" if missing else kind
        places = np.array([test.feature for test in every], np.int64)
        numbers = np.array([test.number for test in every], np.float64)
        chosen = w.add("Gather", [features, w.constant(f"{word}.features", places)], axis=1)
        passed = w.add(kind, [chosen, w.constant(f"{word}.numbers", numbers)])
        parts.append(w.add("Or", [passed, w.add("IsNaN", [chosen])]) if missing else passed)
    w.tests.append(w.add("Concat", parts, word="tests", axis=1))
    return w.tests[-1]


def check_size(w: Writer, tests: int, leaves: int) -> None:
    """Refuse ensembles that are too large."""
    for word, count, most in (
        ("different tests", tests, MOST_TESTS),
        ("leaves", leaves, MOST_LEAVES),
        ("weights, tests times leaves,", tests * leaves, MAX_WEIGHTS),
    ):
        if count > most:
            raise w.fail(f"has {count} {word} in all trees, the most are {most}: {WAYS_OUT}")


BECOMES: Final = ("two matrices and a table between", "the client makes the tests: see below")

OPERATORS: Final[tuple[Operator[Callable[[Writer], None]], ...]] = (
    Operator("TreeEnsemble", plain, *BECOMES),
    Operator("TreeEnsembleClassifier", classifier, *BECOMES),
    Operator("TreeEnsembleRegressor", regressor, *BECOMES),
)
