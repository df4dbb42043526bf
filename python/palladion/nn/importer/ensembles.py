"""Tree ensembles in ONNX's three forms, read into one form: the leaves of each tree.

A leaf is reached if all its conditions hold. A condition names some tests, each of which compares
one feature with one number. It holds either if at least one of the tests holds, or if none does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from palladion.nn.importer.context import Array
from palladion.nn.importer.writer import Writer


class Test(NamedTuple):
    """``feature kind number``. The kind is an operator of ONNX. ``missing``: NaN passes."""

    kind: str
    feature: int
    number: float
    missing: bool = False


MODES: Final = {
    "BRANCH_LEQ": ("LessOrEqual", True),
    "BRANCH_LT": ("Less", True),
    "BRANCH_GTE": ("GreaterOrEqual", True),
    "BRANCH_GT": ("Greater", True),
    "BRANCH_EQ": ("Equal", True),
    "BRANCH_NEQ": ("Equal", False),
}
"""For each mode, the test, and True if the test leads to the true branch where it holds. The
operator TreeEnsemble numbers the modes in this order, followed by membership in a set. NaN passes
none of these tests, as in ONNX."""

Values = dict[int, float]
"""The values that a leaf adds to each target."""


@dataclass(frozen=True)
class Branch:
    """A node that continues at ``yes`` if one of its tests ``holds``, or if none does."""

    tests: tuple[Test, ...]
    holds: bool
    yes: int
    no: int


@dataclass(frozen=True)
class Leaf:
    """The conditions of a leaf (for each, true if one of its tests must hold), and its values."""

    conditions: dict[tuple[Test, ...], bool]
    values: Values


@dataclass(frozen=True)
class Ensemble:
    """The leaves of each tree. ``base`` is added to the targets: one number for all or one for
    each."""

    trees: list[list[Leaf]]
    base: Array


def attribute(w: Writer, name: str) -> Array:
    """Single-precision numbers, or a tensor of any type in an attribute of another name."""
    tensor = w.attributes.get(f"{name}_as_tensor")
    return w.tensor(tensor) if tensor is not None else w.numbers(name)


def classic(w: Writer, word: str) -> Ensemble:
    """TreeEnsembleClassifier or TreeEnsembleRegressor. Names of its leaves' attributes have
    ``word``."""
    names = [*zip(w.whole("nodes_treeids"), w.whole("nodes_nodeids"), strict=True)]
    place = {name: index for index, name in enumerate(names)}
    values: list[Values] = [{} for _ in names]
    leaves = zip(w.whole(f"{word}_treeids"), w.whole(f"{word}_nodeids"), strict=True)
    weights = attribute(w, f"{word}_weights").tolist()
    for leaf, target, weight in zip(leaves, w.whole(f"{word}_ids"), weights, strict=True):
        known = values[place[leaf]]
        known[target] = known.get(target, 0.0) + weight
    tracks = w.whole("nodes_missing_value_tracks_true") or [0] * len(names)
    nodes: list[Branch | Values] = []
    for index, (mode, feature, number, yes, no) in enumerate(zip(
        w.words("nodes_modes"), w.whole("nodes_featureids"),
        attribute(w, "nodes_values").tolist(), w.whole("nodes_truenodeids"),
        w.whole("nodes_falsenodeids"), strict=True,
    )):  # fmt: skip
        if mode == "LEAF":
            nodes.append(values[index])
            continue
        if mode not in MODES:
            raise w.fail(f"has a node of mode {mode}, supported are LEAF, {', '.join(MODES)}")
        kind, holds = MODES[mode]
        tree = names[index][0]
        tests = (Test(kind, feature, number, bool(tracks[index]) and holds),)
        nodes.append(Branch(tests, holds, place[tree, yes], place[tree, no]))
    roots: dict[int, int] = {}
    for index, (tree, _) in enumerate(names):
        roots.setdefault(tree, index)
    return Ensemble(read(w, nodes, [*roots.values()]), attribute(w, "base_values"))


def plain(w: Writer) -> Ensemble:
    """TreeEnsemble, which keeps leaves and sets of members apart from its nodes."""
    modes, splits = (w.tensor(w.attributes[f"nodes_{name}"]) for name in ("modes", "splits"))
    leaves = zip(w.whole("leaf_targetids"), w.tensor(w.attributes["leaf_weights"]).tolist(),
                 strict=True)  # fmt: skip
    sets = members(w)
    tracks = w.whole("nodes_missing_value_tracks_true") or [0] * len(modes)
    nodes: list[Branch | Values] = []
    for mode, split, missing, feature, yes, yes_leaf, no, no_leaf in zip(
        modes.tolist(), splits.tolist(), map(bool, tracks), w.whole("nodes_featureids"),
        w.whole("nodes_truenodeids"), w.whole("nodes_trueleafs"),
        w.whole("nodes_falsenodeids"), w.whole("nodes_falseleafs"), strict=True,
    ):  # fmt: skip
        if mode < len(MODES):
            kind, holds = [*MODES.values()][mode]
            tests: tuple[Test, ...] = (Test(kind, feature, split, missing and holds),)
        else:
            known = next(sets, None)
            if known is None:
                raise w.fail("asks for members of more sets than membership_values has")
            holds = True
            tests = tuple(Test("Equal", feature, member, missing) for member in known)
        behind = (yes + len(modes) * bool(yes_leaf), no + len(modes) * bool(no_leaf))
        nodes.append(Branch(tests, holds, *behind))
    nodes += [{target: weight} for target, weight in leaves]
    return Ensemble(read(w, nodes, w.whole("tree_roots")), np.zeros(0))


def members(w: Writer) -> Iterator[list[float]]:
    """The sets, each of which ends in NaN, in the order of the nodes that use them."""
    found: list[float] = []
    given = w.attributes.get("membership_values")
    for number in [] if given is None else w.tensor(given).tolist():
        if np.isnan(number):
            yield sorted(set(found))
            found = []
        else:
            found.append(number)


def read(w: Writer, nodes: Sequence[Branch | Values], roots: Sequence[int]) -> list[list[Leaf]]:
    """The leaves of each tree that can be reached."""
    found: list[list[Leaf]] = []
    for root in roots:
        leaves: list[Leaf] = []
        waiting: list[tuple[int, int, dict[tuple[Test, ...], bool]]] = [(root, 0, {})]
        while waiting:
            index, depth, conditions = waiting.pop()
            node = nodes[index]
            if depth + len(leaves) > len(nodes):
                raise w.fail("has nodes that form no trees: a branch leads back to a node before")
            if not isinstance(node, Branch):
                leaves.append(Leaf(conditions, node))
                continue
            if node.yes == node.no:
                waiting.append((node.yes, depth + 1, conditions))
                continue
            for behind, holds in ((node.no, not node.holds), (node.yes, node.holds)):
                if conditions.get(node.tests, holds) == holds:
                    waiting.append((behind, depth + 1, {**conditions, node.tests: holds}))
        found.append(leaves)
    return found
