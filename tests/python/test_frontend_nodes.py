"""ONNX's own test models: what is not refused computes the numbers that ONNX expects."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import numpy as np
import pytest
from each_case import each
from elk.errors import ElkError
from graph_reference import evaluate
from onnx_cases import are_tensors, array_of, cases, data_of, feeds_of, outcome_of, proto_of

pytestmark = pytest.mark.xdist_group("onnx_cases")  # One process makes and loads the cases.
# Relative and absolute differences that are allowed in the result's type.
LOOSE = {"float16": (1e-3, 1e-2), "bfloat16": (2e-2, 5e-2)}


def numbers_of(kind: str, case: Any) -> str:
    """Runs one case: 'right', or why there is nothing to compare."""
    proto, found = proto_of(case), outcome_of(kind, case.name)
    if found.model is None or proto is None:
        return "refused"
    given, wanted = data_of(case, proto)
    if not wanted or not are_tensors([*given, *wanted]):
        return "not tensors"
    if any(t.dtype.name == "f8" for t in found.model.graph.tensors):
        return "eight bits of which kind is not in the graph"
    if any(op.function == "random" for op in found.model.graph.ops):
        return "random"
    results = evaluate(found.model, feeds_of(case, proto), proto)
    for got, right in zip(results, map(array_of, wanted), strict=True):
        relative, absolute = LOOSE.get(right.dtype.name, (1e-3, 1e-3))
        assert got.shape == right.shape
        np.testing.assert_allclose(
            got.astype(right.dtype).astype(np.float64),
            right.astype(np.float64),
            rtol=max(case.rtol, relative),
            atol=absolute,
        )
    return "right"


# How many cases of each kind are right, at least; the others are refused or have no numbers.
RIGHT = {"node": 1643, "simple": 10, "pytorch-converted": 82, "pytorch-operator": 35}


@pytest.mark.slow
@pytest.mark.timeout(600)
@each("kind", RIGHT)
def test_all_cases_are_right_or_refused(kind: str) -> None:
    wrong: dict[str, str] = {}
    found: Counter[str] = Counter()
    for name, case in cases(kind).items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[numbers_of(kind, case)] += 1
        except (ElkError, AssertionError) as error:
            wrong[name] = str(error).strip().splitlines()[0]
    assert wrong == {}
    assert found["right"] >= RIGHT[kind], found
