"""`elk.Limits.folded_elements` holds for every part of the front end that makes constants."""

from __future__ import annotations

import elk
import numpy as np
import pytest
from each_case import each
from onnx_graphs import floats, ints, model_of, node, one

# A model, and how many elements of its largest constant are worked out while it is read.
NEEDS = {
    "positions": (one("Resize", "x - s", [2, 9], {"s": floats(1, 1.5)}), 13),
    "weights": (one("Resize", "x - s", [9], {"s": floats(1.5)}, mode="linear"), 26),
    "a matrix": (one("Resize", "x - s", [40], {"s": floats(0.25)}, mode="cubic", antialias=1), 400),
    "roots": (one("DFT", "x", [1, 6, 1], {}), 72),
    "frames": (one("STFT", "x s - l", [1, 64, 1], {
        "s": np.array(1), "l": np.array(4)}, onesided=1), 244),
    "rows": (one("Trilu", "x", [30, 20], {}), 30),
    "classes": (one("Hardmax", "x", [2, 21], {}), 21),
    "a diagonal": (one("EyeLike", "x", [5, 7], {}), 35),
    "backwards": (one("Slice", "x a b c d", [33], {
        "a": ints(-1), "b": ints(-99), "c": ints(0), "d": ints(-1)}), 33),
    "reflected": (one("Pad", "x p", [9], {"p": ints(4, 4)}, mode="reflect"), 17),
    "a first state": (one("RNN", "x w r", [2, 4, 3], {
        "w": np.ones((1, 5, 3), np.float32), "r": np.ones((1, 5, 5), np.float32)}, hidden_size=5),
        20),
}  # fmt: skip


@each("name", NEEDS)
def test_a_constant_of_just_as_many_elements_is_made_and_of_one_more_refused(name: str) -> None:
    proto, needed = NEEDS[name]
    elk.load_model(proto, limits=elk.Limits(folded_elements=needed))
    with pytest.raises(elk.UnsupportedModelError, match=r"limit 'folded_elements'"):
        elk.load_model(proto, limits=elk.Limits(folded_elements=needed - 1))


def test_a_raised_limit_lets_larger_constants_through() -> None:
    proto = one("DFT", "x", [1, 1024, 1], {})  # 2,097,152 roots
    with pytest.raises(elk.UnsupportedModelError, match="at most 1,048,576 are computed"):
        elk.load_model(proto)
    assert elk.load_model(proto, limits=elk.Limits(folded_elements=1 << 21)).graph.ops


def test_views_of_known_values_stay_known_up_to_the_limit() -> None:
    nodes = [node("Reshape", "k s", "v"), node("Expand", "x v", "y")]
    proto = model_of(nodes, {"x": [1]}, ["y"], {"k": ints(2, 3).reshape(2, 1), "s": ints(2)})
    assert elk.load_model(proto, limits=elk.Limits(folded_elements=2)).graph.ops
    with pytest.raises(elk.UnsupportedModelError, match="limit 'folded_elements'"):
        elk.load_model(proto, limits=elk.Limits(folded_elements=1))
