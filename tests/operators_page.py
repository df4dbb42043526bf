"""The page docs/operators.md: what each operator becomes, and which operators are refused.

``python -m tests.operators_page`` writes the page. A test compares it with the importer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import onnx
from palladion.nn.ends.tail import ALLOWED
from palladion.nn.importer import learning, normalisation
from palladion.nn.importer.operators import Operator
from palladion.nn.importer.read import ENTRIES
from palladion.nn.importer.reasons import REASONS

from tests.onnx_cases import KINDS, Outcome, cases, outcome

PAGE: Final = Path(__file__).parent.parent / "docs" / "operators.md"

OPERATORS: Final[tuple[Operator[Any], ...]] = (
    *ENTRIES,
    *normalisation.OPERATORS,
    *learning.OPERATORS,
)
"""All operators that are read, with their rows."""

HEAD: Final = """# Operators

This page says what the importer makes of each ONNX operator. `palladion quantize model.onnx --data
x.npy` reads a model. A refusal names the node, its operator and the reason.

The network computes four kinds of operations under encryption:

- **Linear maps** (convolutions, matrices, sums). They are exact and cheap. Neighbouring maps are
  folded into one.
- **Tables**: a function of one number, applied to every value. A composition of functions of the
  same value, such as `x * sigmoid(x)`, is one table. Tables take most of a run's time.
- **Products** of two values, place by place. Each product has a layer of its own.
- **Maxima** of two values, `relu(a - b) + b`.

Elements are **moved for free** at import: reshapes, slices and similar operators only change
where the next operator finds its inputs. If an operator needs another order, one window or
convolution moves the elements. If that is impossible, the operator becomes a matrix, of at most
16.8 million weights.

The **client** computes everything after the last linear map, in the clear after decryption. This
needs operators that are marked so below: softmax, labels, ArgMax, scikit-learn's probabilities.

The first axis of the input is the batch, and each image is computed by itself. An operator that
moves or mixes the batch axis is refused. The importer finds the axis of the channels by trying (N,
C, H, W) or (N, H, W, C), and (N, C, L) or (N, L, C). It takes the arrangement in which nothing has
to be moved. A channel has at most 32,768 values, with the zeros around it (180 x 180).

A table has a value everywhere, so a function whose definition has a gap is extended to all numbers:
`log` and `sqrt` of numbers below 0 are those of the nearest number that has one, and the reciprocal
of 0 is the largest number.

"""

MIDDLE: Final = """
## Out of reach

A model cannot have these operators before its last linear map. After it, the client computes the
operators marked with *.

| operators | reason |
|---|---|
"""

TREES: Final = """
## Decision trees

The operators of decision trees, forests and boosted trees (`TreeEnsembleClassifier`,
`TreeEnsembleRegressor`, `TreeEnsemble`) become one table between two matrices, whatever their depth
and number ([ADR 18](adr/0018-tests-of-trees-at-the-client.md)):

1. **The client makes the tests** of all trees on its own features, before encryption, and encrypts
   their truth values: `feature <= threshold`, each different test once. So no test is ever rounded,
   whatever the range of a feature. Scalers, choices of columns, and matrices such as those of
   principal components may stand before trees; the client computes them too. NaN passes a test only
   where the tree says so, as in ONNX.
2. **A matrix** counts, for each leaf, how many of the tests on its path came out right. A **table**
   gives 1 where all did, else 0. Its steps lie ten deviations of a run's noise from every count.
3. **A matrix** adds up what the reached leaves give, in a unit of about 1 / 28,000 of the largest
   sum that any input can have. Each tree is wrong by half a unit at most. Where all leaves are
   multiples of one number, as those of a forest with pure leaves, the sum is exact.

The modes BRANCH_LEQ, LT, GTE, GT, EQ, NEQ and MEMBER are read, the aggregates SUM and AVERAGE, and
the transforms NONE, LOGISTIC and SOFTMAX, which the client computes. MIN, MAX, SOFTMAX_ZERO and
PROBIT are refused. Missing values are refused, as for every model, so that it does not matter where
trees send them. All trees together may have 32,768 different tests, 32,768 leaves, and 16.8 million
weights in the first matrix: beyond, the message names `n_estimators`, `max_depth` and
`max_leaf_nodes`. The thresholds stand in the program, as all of a model does, and a client reads
them there.

A model may have several ensembles, such as those of a vote; then the weights of the sum have the
bits that `quantize` is asked for. A model that reads its input beside its trees as well is refused.

What was tried, besides `tests/test_trees.py`:

- **skl2onnx** 1.20 (`Model.from_sklearn`). Read: DecisionTree, RandomForest, ExtraTrees,
  GradientBoosting, VotingRegressor and StackingClassifier of trees. Refused: Bagging, whose export
  joins trees along the batch axis, and AdaBoost, which chooses by values before its end. Exports of
  HistGradientBoosting fail with onnx 1.23.
- **onnxmltools** 1.16. XGBClassifier and XGBRegressor of XGBoost 3.2, LGBMClassifier and
  LGBMRegressor of LightGBM 4.7: labels as onnxruntime's, numbers within 0.0003 of their range.
- **hummingbird** 0.4.12, a tree and a forest exported through torch. Refused: the strategy `gemm`
  multiplies from the left, so that the first axis is not the batch, and `tree_trav` and
  `perf_tree_trav` look up places that depend on values. Give the estimator itself.

Trees that are written as matrix products and comparisons, the GEMM strategy by hand, are read as
any network is. Their comparisons are tables of features of 8 bits, and may go wrong near a
threshold.
"""

CASES: Final = """
## ONNX's backend tests

`tests/test_onnx_backend.py` imports every case of `onnx.backend.test` ({kinds}) and
evaluates it in floats, with the client's part. Cases that are imported give the expected outputs;
the others are refused. Most cases are one operator on a small tensor whose first axis is not a
batch, with weights as inputs. Cases of several inputs are tried again with all but the first as
constants, and the table counts that form.

With onnx {version}: {right} of {count} cases are right, {refused} are refused, none is wrong.
The refused cases, by operator:

| operator | cases | reason |
|---|---|---|
"""


def before_cases() -> str:
    """The part of the page that the importer alone decides."""
    rows = [
        f"| {entry.kind} | {entry.becomes} | {entry.limits} "
        f"| {'yes' if entry.kind in ALLOWED else ''} |"
        for entry in sorted(OPERATORS, key=lambda entry: entry.kind)
    ]
    table = "\n".join(["## What is read", "",
                       "| operator | becomes | limits | client's at the end |",
                       "|---|---|---|---|", *rows, ""])  # fmt: skip
    return HEAD + table + MIDDLE + "\n".join(refusals()) + "\n" + TREES


def refusals() -> Iterable[str]:
    """A row for each reason."""
    by_reason: dict[str, list[str]] = {}
    read = {entry.kind for entry in OPERATORS}
    for kind, reason in REASONS.items():
        if kind not in read:
            by_reason.setdefault(reason, []).append(f"{kind}*" if kind in ALLOWED else kind)
    for reason, kinds in by_reason.items():
        yield f"| {', '.join(sorted(kinds))} | {reason} |"


def with_cases(outcomes: Sequence[Outcome]) -> str:
    """The part of the page about ONNX's own tests."""
    last = {(o.case.kind, o.case.name): o for o in outcomes}
    refused = [o for o in last.values() if o.fate == "refused"]
    rows = Counter(brief(o) for o in refused)
    head = CASES.format(
        kinds=", ".join(KINDS), version=onnx.__version__, count=len(last), refused=len(refused),
        right=sum(o.fate == "right" for o in last.values()),
    )  # fmt: skip
    return head + "".join(f"| {kind} | {count} | {why} |\n"
                          for (kind, why), count in sorted(rows.items()))  # fmt: skip


def brief(found: Outcome) -> tuple[str, str]:
    """The operator that a case was refused for, and the reason without what differs by case."""
    match = re.match(r"node .* \((\w+)\): (.*)", found.reason, re.DOTALL)
    kind, why = (match[1], match[2]) if match else ("(model)", found.reason)
    for pattern, word in NAMES.items():
        why = re.sub(pattern, word, why)
    why = re.split(r"[;:](?= )|, (?=supported|expected|of common|which|since|the most)", why)[0]
    return kind, why.strip()


NAMES: Final = {
    r"(?<=[Tt]he outputs )[\w, /]+(?= have| which|, which)": "..",
    r"(?<=[Tt]he output )\S+": "..",
    r"(?<=^input )\S+(?= has| is)": "..",
    r"(?<=^tensor )\S+": "..",
    r"(?<=^the input )\S+(?= has)": "..",
    r" \([^()]*(\([^()]*\)[^()]*)*\)": "",
    r"\[[^\]]*\]": "",
    r"(?<=^input )\d+, \S+(?=, holds)": "..",
    r"(?<![a-z_\d])\d+( x \d+)*( = \d+)?": "n",
}
"""Patterns of words that differ from case to case, and the text that replaces them."""


def page(outcomes: Sequence[Outcome]) -> str:
    return before_cases() + with_cases(outcomes)


if __name__ == "__main__":
    PAGE.write_text(page([outcome(case) for kind in KINDS for case in cases(kind)]), "utf-8")
