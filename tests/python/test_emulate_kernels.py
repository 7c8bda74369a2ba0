"""The tile kernels compute what ONNX's own test models expect, whole and in tiles."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from elk import _core
from elk.errors import ElkError
from emulated_ops import emulate_ops, kernel_gaps
from onnx_cases import (
    are_tensors,
    array_of,
    cases,
    data_of,
    feeds_of,
    outcome,
    proto_of,
)

pytestmark = pytest.mark.xdist_group("onnx_cases")  # One process makes and loads the cases.
# Relative and absolute differences that are allowed in the result's type.
LOOSE = {"float16": (2e-3, 1e-2), "bfloat16": (2e-2, 5e-2)}


def whole(op: _core.Op) -> list[int]:
    return [1] * len(op.axes)


def in_parts(op: _core.Op) -> list[int]:
    """Every axis in up to three tiles, none of them equal to its neighbours where that goes."""
    return [3 if axis.size > 3 else 2 for axis in op.axes]


def numbers_of(case: Any, cut: Any) -> str:
    """Runs one case: 'right', or why there is nothing to compare."""
    proto, found = proto_of(case), outcome(case)
    if found.model is None or proto is None:
        return "refused"
    given, wanted = data_of(case, proto)
    if not wanted or not are_tensors([*given, *wanted]):
        return "not tensors"
    if gaps := kernel_gaps(found.model.graph):
        return gaps[0]
    results = emulate_ops(found.model, feeds_of(case, proto), cut)
    for got, right in zip(results, map(array_of, wanted), strict=True):
        relative, absolute = LOOSE.get(right.dtype.name, (1e-3, 1e-3))
        assert (got.shape, got.dtype) == (right.shape, right.dtype)
        np.testing.assert_allclose(
            got.astype(right.dtype).astype(np.float64),
            right.astype(np.float64),
            rtol=max(case.rtol, relative),
            atol=absolute,
        )
    return "right"


def assert_right(names: Iterable[str], cut: Any, enough: int) -> None:
    """At least so many of the named cases are right, none is wrong, and the others are refused."""
    wrong: dict[str, str] = {}
    found: Counter[str] = Counter()
    for name in names:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[numbers_of(cases("node")[name], cut)] += 1
        except (ElkError, AssertionError) as error:
            wrong[name] = str(error).strip().splitlines()[0]
    assert wrong == {}
    assert found["right"] >= enough, found


@pytest.mark.slow
def test_kernels_compute_what_onnx_expects() -> None:
    # Names begin with types, of which each has one case so.
    of_type = {name.split("_")[1]: name for name in cases("node")}
    assert_right(of_type.values(), in_parts, len(of_type) // 2)


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("cut", [whole, in_parts])
def test_so_does_each_of_them(cut: Any) -> None:
    assert_right(cases("node"), cut, 1576)
