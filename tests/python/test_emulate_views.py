"""What works on rows sees them through any chain of views as ONNX Runtime does."""

from __future__ import annotations

from typing import Any

import elk
import numpy as np
import onnx
import pytest
from elk import _core
from emulated_ops import emulate_ops
from view_chains import READERS, Array, chain


def whole(op: _core.Op) -> list[int]:
    return [1] * len(op.axes)


def in_parts(op: _core.Op) -> list[int]:
    """The axes that may be cut in two; rows stay whole."""
    return [2 if axis.role == _core.AxisRole.Parallel else 1 for axis in op.axes]


def reference(proto: onnx.ModelProto, feeds: dict[str, Array]) -> list[Array]:
    onnxruntime: Any = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options)
    return [np.asarray(x) for x in session.run(None, feeds)]


@pytest.mark.slow
def test_a_reader_of_rows_takes_any_chain_of_views(subtests: pytest.Subtests) -> None:
    for reader in READERS:
        with subtests.test(reader=reader):
            for seed in range(12):
                proto, feeds = chain(reader, seed)
                wanted = reference(proto, feeds)
                model = elk.load_model(proto)
                for cut in (whole, in_parts):
                    for got, right in zip(emulate_ops(model, feeds, cut), wanted, strict=True):
                        assert got.shape == right.shape, seed
                        np.testing.assert_allclose(
                            got, right, rtol=1e-4, atol=1e-5, err_msg=str(seed)
                        )


@pytest.mark.slow
def test_a_plan_of_a_chain_of_views_computes_what_onnx_runtime_does(
    subtests: pytest.Subtests,
) -> None:
    for reader in READERS:
        with subtests.test(reader=reader):
            for seed in range(100, 102):
                proto, feeds = chain(reader, seed)
                plan = elk.compile(proto, "tiny", policy="basic", threads=1)
                assert not plan.check()
                assert plan.emulate(feeds, check=True).passed, seed
