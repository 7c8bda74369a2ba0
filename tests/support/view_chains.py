"""Random chains of views, and an op that works on whole rows of what they show."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[Any]

# Types that read rows, with their results.
READERS = (
    "TopK", "CumSum", "ArgMax", "ArgMin", "Softmax", "LogSoftmax", "LayerNormalization",
    "ReduceSum", "ReduceMax", "ReduceL2", "Hardmax",
)  # fmt: skip
_MOST_ELEMENTS = 96


class _Chain:
    """A model that grows node by node, and the shape of what it shows."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.shape = tuple(rng.randint(1, 4) for _ in range(rng.randint(1, 3)))
        self.name = "x"

    def add(self, kind: str, shape: tuple[int, ...], *arrays: Any, **attrs: Any) -> None:
        """A view of the last value, of `shape`."""
        inputs = [self.name, *(self.constant(np.asarray(x, np.int64)) for x in arrays)]
        self.name, self.shape = f"v{len(self.nodes)}", shape
        self.nodes.append(helper.make_node(kind, inputs, [self.name], **attrs))

    def constant(self, array: Array) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def step(self) -> None:
        """One view at random."""
        rng, shape = self.rng, self.shape
        kind = rng.choice(("Reshape", "Transpose", "Tile", "Expand", "Slice", "Unsqueeze"))
        if kind == "Reshape":
            target = _split(rng, math.prod(shape))
            self.add(kind, target, target)
        elif kind == "Transpose":
            perm = rng.sample(range(len(shape)), len(shape))
            self.add(kind, tuple(shape[i] for i in perm), perm=perm)
        elif kind == "Tile":
            repeats = [rng.choice((1, 1, 2, 3)) for _ in shape]
            self.add(kind, tuple(n * r for n, r in zip(shape, repeats, strict=True)), repeats)
        elif kind == "Expand":
            target = tuple(rng.randint(1, 3) if n == 1 else n for n in shape)
            self.add(kind, target, target)
        elif kind == "Slice":
            axis = rng.randrange(len(shape))
            start, step = rng.randrange(shape[axis]), rng.choice((1, 1, 2, -1))
            end = -100 if step < 0 else 100
            count = len(range(shape[axis])[start : None if step < 0 else end : step])
            sizes = (*shape[:axis], count, *shape[axis + 1 :])
            self.add(kind, sizes, [start], [end], [axis], [step])
        elif len(shape) < 5:
            axis = rng.randint(0, len(shape))
            self.add(kind, (*shape[:axis], 1, *shape[axis:]), [axis])


def _split(rng: random.Random, size: int) -> tuple[int, ...]:
    """Factors of `size` in any order, ones among them."""
    out: list[int] = []
    while size > 1 and len(out) < 4:
        part = rng.choice([n for n in range(2, size + 1) if size % n == 0])
        out.append(part)
        size //= part
    out += [1] * rng.randint(0 if out else 1, 1)
    rng.shuffle(out)
    return (*out, size) if size > 1 else tuple(out)


def chain(reader: str, seed: int) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A model whose node of type `reader` sees its input through a chain of views, and a feed."""
    made = _Chain(random.Random(f"{reader}{seed}"))
    first = made.shape
    for _ in range(made.rng.randint(1, 5)):
        before = (made.name, made.shape, len(made.nodes), len(made.constants))
        made.step()
        if math.prod(made.shape) > _MOST_ELEMENTS:
            made.name, made.shape = before[:2]
            del made.nodes[before[2] :], made.constants[before[3] :]
    outputs = _read(made, reader)
    graph = helper.make_graph(
        made.nodes,
        "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, first)],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs],
        made.constants,
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    numbers = np.random.default_rng(seed).permutation(math.prod(first)).astype(np.float32)
    return proto, {"x": numbers.reshape(first) / 8}


def _read(made: _Chain, reader: str) -> list[tuple[str, int]]:
    """Adds the reader; its outputs."""
    rng, axis = made.rng, made.rng.randrange(len(made.shape))
    inputs = [made.name]
    attrs: dict[str, Any] = {"axis": axis}
    outputs: list[tuple[str, int]] = [("y", TensorProto.FLOAT)]
    if reader == "TopK":
        inputs.append(made.constant(np.asarray([rng.randint(1, made.shape[axis])])))
        outputs.append(("places", TensorProto.INT64))
        attrs["largest"] = rng.randint(0, 1)
    elif reader == "CumSum":
        inputs.append(made.constant(np.asarray(axis)))
        attrs = {"exclusive": rng.randint(0, 1), "reverse": rng.randint(0, 1)}
    elif reader.startswith("Reduce"):
        axes = rng.sample(range(len(made.shape)), rng.randint(1, len(made.shape)))
        inputs.append(made.constant(np.asarray(axes)))
        attrs = {"keepdims": rng.randint(0, 1)}
    elif reader == "LayerNormalization":
        inputs.append(made.constant(np.asarray([2.0], np.float32)))
    elif reader.startswith("Arg"):
        outputs = [("y", TensorProto.INT64)]
        attrs |= {"keepdims": rng.randint(0, 1), "select_last_index": rng.randint(0, 1)}
    names = [name for name, _ in outputs]
    made.nodes.append(helper.make_node(reader, inputs, names, reader, **attrs))
    return outputs
