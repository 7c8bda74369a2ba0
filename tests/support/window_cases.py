"""Windows of every kind: convolutions and pools, their results beside ONNX Runtime's."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import elk
import numpy as np
import onnx
from emulated_ops import emulate_ops
from numpy.typing import NDArray
from onnx import TensorProto, helper

Array = NDArray[Any]

KINDS = ("Conv", "MaxPool", "AveragePool", "LpPool", "ConvTranspose")
_POOLS = KINDS[1:4]
_AUTO = ("SAME_UPPER", "SAME_LOWER", "VALID")
# Of a spatial dimension: how long it is, and the kernel, stride, dilation and pads of its windows.
_LINES = tuple(
    (size, kernel, stride, dilation, low, high)
    for size, kernel, stride, dilation in itertools.product((1, 5, 6), (1, 2, 3), (1, 2, 3), (1, 2))
    for low, high in ((0, 0), (1, 1), (0, 2), (2, 1), (3, 0))
)


@dataclass(frozen=True)
class WindowCase:
    """One node with windows.

    Attributes:
        kind: Its operator type.
        sizes: The sizes of the input: batch, channels, and spatial dimensions.
        kernel: The sizes of a window.
        attrs: The other attributes.
        channels: Of the result; of a pool as many as of the input.
        bias: Whether a convolution has one.
    """

    kind: str
    sizes: tuple[int, ...]
    kernel: tuple[int, ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    channels: int = 0
    bias: bool = False

    def __str__(self) -> str:
        attrs = ", ".join(f"{name}={value}" for name, value in self.attrs.items())
        return f"{self.kind} of {list(self.sizes)}, kernel {list(self.kernel)}, {attrs}"


def listed() -> Iterator[WindowCase]:
    """Windows along one dimension: pools of all kinds, convolutions, transposed ones."""
    return filter(_is_defined, _listed())


def _listed() -> Iterator[WindowCase]:
    for size, kernel, stride, dilation, low, high in _LINES:
        steps = {"strides": [stride], "dilations": [dilation]}
        for kind in KINDS:
            yield from _of_kind(kind, (1, 2, size), (kernel,), {**steps, "pads": [low, high]})
        if low == high == 0 and dilation == 1:
            for auto, kind in itertools.product(_AUTO, KINDS):
                yield from _of_kind(kind, (1, 2, size), (kernel,), {**steps, "auto_pad": auto})


def _of_kind(
    kind: str, sizes: tuple[int, ...], kernel: tuple[int, ...], attrs: dict[str, Any]
) -> Iterator[WindowCase]:
    if kind in {"Conv", "ConvTranspose"}:
        yield WindowCase(kind, sizes, kernel, {**attrs, "group": 1}, 3, bias=True)
        return
    for ceil in (0, 1):
        given = {**attrs, "ceil_mode": ceil}
        if kind == "AveragePool":
            for counted in (0, 1):
                yield WindowCase(kind, sizes, kernel, {**given, "count_include_pad": counted})
        else:
            yield WindowCase(kind, sizes, kernel, given)


def drawn(count: int, seed: int = 0) -> Iterator[WindowCase]:
    """`count` random ones of one to three dimensions, with uneven pads and strides."""
    rng = random.Random(seed)
    found = (case for _ in itertools.count() if _is_defined(case := _drawn(rng)))
    return itertools.islice(found, count)


def _drawn(rng: random.Random) -> WindowCase:
    rank = rng.choice((1, 2, 2, 3))
    kind = rng.choice(KINDS)
    kernel = tuple(rng.randint(1, 3) for _ in range(rank))
    attrs: dict[str, Any] = {
        "strides": [rng.randint(1, 3) for _ in range(rank)],
        "dilations": [rng.randint(1, 2) for _ in range(rank)],
    }
    if rng.random() < 0.2:
        attrs["auto_pad"] = rng.choice(_AUTO)
        attrs["strides"] = [rng.randint(1, k) for k in kernel]
    else:
        most = [k - 1 if kind in _POOLS else 3 for k in kernel]
        attrs["pads"] = [rng.randint(0, n) for n in most * 2]
    channels, bias, inputs = 0, False, rng.choice((1, 2, 4))
    if kind in {"Conv", "ConvTranspose"}:
        attrs["group"] = rng.choice([g for g in (1, 2, 4) if inputs % g == 0])
        channels, bias = attrs["group"] * rng.randint(1, 2), rng.random() < 0.5
    else:
        attrs["ceil_mode"] = rng.randint(0, 1)
    if kind == "AveragePool":
        attrs["count_include_pad"] = rng.randint(0, 1)
    if kind == "ConvTranspose" and rng.random() < 0.5:
        attrs["output_padding"] = [rng.randint(0, s - 1) for s in attrs["strides"]]
    sizes = (rng.randint(1, 2), inputs, *(rng.randint(1, 7) for _ in range(rank)))
    return WindowCase(kind, sizes, kernel, attrs, channels, bias)


def _is_defined(case: WindowCase) -> bool:
    """Whether ONNX says what a case is, and ONNX Runtime computes that.

    Left out are windows that are larger than the padded input; windows of pools that lie in the
    padding alone, which ONNX Runtime refuses; and what `auto_pad` does to windows that are dilated
    (ONNX Runtime pads as if they were not) or apart (it finds negative padding).
    """
    rank = len(case.kernel)
    pads = case.attrs.get("pads", [0] * (2 * rank))
    reach = [(k - 1) * d + 1 for k, d in zip(case.kernel, case.attrs["dilations"], strict=True)]
    padded = [n + pads[i] + pads[rank + i] for i, n in enumerate(case.sizes[2:])]
    if str(case.attrs.get("auto_pad")).startswith("SAME"):
        strides = zip(case.kernel, case.attrs["strides"], strict=True)
        return max(case.attrs["dilations"]) == 1 and all(k >= s for k, s in strides)
    if case.kind == "ConvTranspose":
        return True
    narrow = case.kind in _POOLS and any(p >= k for p, k in zip(pads, case.kernel * 2, strict=True))
    return not narrow and all(r <= n for r, n in zip(reach, padded, strict=True))


def proto_of(case: WindowCase) -> onnx.ModelProto:
    """The model of a case: its input is `x`, its result `y`."""
    rng = np.random.default_rng(5)
    arrays: dict[str, Array] = {}
    attrs = {**case.attrs, "kernel_shape": list(case.kernel)}
    if case.channels:
        groups = case.attrs["group"]
        pair = (case.channels, case.sizes[1] // groups)
        if case.kind == "ConvTranspose":
            pair = (case.sizes[1], case.channels // groups)
        arrays["w"] = rng.standard_normal((*pair, *case.kernel)).astype(np.float32)
        if case.bias:
            arrays["b"] = rng.standard_normal(case.channels).astype(np.float32)
    node = helper.make_node(case.kind, ["x", *arrays], ["y"], name="n", **attrs)
    graph = helper.make_graph(
        [node],
        "windows",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(case.sizes))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def feed_of(case: WindowCase) -> Array:
    """Numbers for the input, none of them zero and many below."""
    rng = np.random.default_rng(7)
    return np.asarray(rng.standard_normal(case.sizes) - 0.5, np.float32)


def reference(proto: onnx.ModelProto, x: Array) -> Array | None:
    """What ONNX Runtime computes; None where it refuses."""
    import onnxruntime  # type: ignore[import-untyped]  # noqa: PLC0415 no stubs, and it is slow

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(proto.SerializeToString(), options)
        return np.asarray(session.run(None, {"x": x})[0])
    except Exception:  # ONNX Runtime's errors have no common type.
        return None


def difference(case: WindowCase, *, placed: bool = False) -> str:
    """How ELK's result differs from ONNX Runtime's; empty where it does not.

    Args:
        case: The node.
        placed: Whether the node is planned and run on the chip `tiny`, not by its kernels alone.
    """
    proto, x = proto_of(case), feed_of(case)
    right = reference(proto, x)
    try:
        if placed:
            plan = elk.compile(proto, "tiny", policy="basic", threads=1)
            got = plan.emulate({"x": x})["y"]
        else:
            (got,) = emulate_ops(elk.load_model(proto), {"x": x})
    except elk.ElkError as error:
        return "" if right is None else f"{case}: {error.message.splitlines()[-1]}"
    if right is None:
        return f"{case}: ONNX Runtime refuses it, ELK gives {got.shape}"
    if case.kind == "MaxPool":  # The maximum of nothing is the lowest number there.
        right = np.where(right == np.finfo(np.float32).min, -np.inf, right)
    if got.shape != right.shape:
        return f"{case}: {list(got.shape)}, ONNX Runtime gives {list(right.shape)}"
    if not np.allclose(got, right, rtol=1e-4, atol=1e-5, equal_nan=True):
        return f"{case}: numbers differ by {np.abs(got - right).max()}"
    return ""
