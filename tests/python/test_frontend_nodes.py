"""ONNX's own node tests: what is not refused computes the numbers that ONNX expects."""

from __future__ import annotations

import warnings
from collections import Counter
from functools import lru_cache
from typing import Any

import numpy as np
import onnx
import pytest
from elk.errors import ElkError, ModelFileError, UnsupportedModelError
from elk.model import Model, load_model
from graph_reference import evaluate
from numpy.typing import NDArray
from onnx import numpy_helper

Array = NDArray[Any]


@lru_cache(maxsize=1)
def cases() -> dict[str, Any]:
    from onnx.backend.test import loader  # noqa: PLC0415 it builds all cases, in seconds

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return {case.name: case for case in loader.load_model_tests(kind="node")}


def fixed(proto: onnx.ModelProto, feeds: dict[str, Array]) -> onnx.ModelProto:
    """The model with all integer inputs but the first as constants, as exporters write them."""
    out = onnx.ModelProto()
    out.CopyFrom(proto)
    del out.graph.input[:]
    for i, value in enumerate(proto.graph.input):
        if i > 0 and feeds[value.name].dtype.kind in "ib":
            out.graph.initializer.append(numpy_helper.from_array(feeds[value.name], value.name))
        else:
            out.graph.input.append(value)
    return out


def array_of(x: Any) -> Array:
    return np.asarray(numpy_helper.to_array(x) if isinstance(x, onnx.TensorProto) else x)


def loaded(proto: onnx.ModelProto, feeds: dict[str, Array]) -> Model | None:
    """The model, with constants if it needs them; None if it is refused."""
    try:
        return load_model(proto)
    except UnsupportedModelError:
        try:
            return load_model(fixed(proto, feeds))
        except (UnsupportedModelError, ModelFileError):
            return None
    except ModelFileError:
        return None


def outcome(case: Any) -> str:
    """Runs one case: 'right', or why there is nothing to compare."""
    given, wanted = case.data_sets[0]
    if any(isinstance(x, (list, dict, type(None))) for x in (*given, *wanted)):
        return "not tensors"
    arrays = [array_of(x) for x in given]
    feeds = dict(zip((x.name for x in case.model.graph.input), arrays, strict=True))
    model = loaded(case.model, feeds)
    if model is None:
        return "refused"
    if any(t.dtype.name in {"bf16", "f8", "i4", "u4"} for t in model.graph.tensors):
        return "not numpy's numbers"
    for got, right in zip(evaluate(model, feeds), map(array_of, wanted), strict=True):
        loose = 1e-2 if right.dtype == np.float16 else 1e-3
        np.testing.assert_allclose(
            got.astype(right.dtype), right, rtol=max(case.rtol, 1e-3), atol=loose
        )
    return "right"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_all_node_cases_are_right_or_refused() -> None:
    wrong: dict[str, str] = {}
    found: Counter[str] = Counter()
    for name, case in cases().items():
        if not case.data_sets:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[outcome(case)] += 1
        except (ElkError, AssertionError) as error:
            wrong[name] = str(error).strip().splitlines()[0]
    assert wrong == {}
    assert found["right"] > 1150
