"""Nodes of ONNX Runtime's operators, with numbers to feed them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

Array = NDArray[Any]
DOMAIN = "com.microsoft"
RNG = np.random.default_rng(7)


def real(*shape: int, dtype: str = "f4") -> Array:
    return RNG.standard_normal(shape).astype(dtype)


def unsigned(*shape: int) -> Array:
    return RNG.integers(0, 256, shape).astype("u1")


def seven_bits(*shape: int) -> Array:
    """Sums of products of two larger bytes saturate in ONNX Runtime where a CPU has no VNNI."""
    return RNG.integers(-63, 64, shape).astype("i1")


def positive(*shape: int) -> Array:
    return RNG.uniform(0.01, 0.1, shape).astype("f4")


@dataclass(frozen=True)
class Case:
    """One node.

    Attributes:
        kind: Its type.
        inputs: Its inputs by name; None where one is left out.
        attrs: Its attributes.
        outputs: The names of its outputs, with blanks between them; `-` for one left out.
        constants: The inputs that are initializers; a `*` for all but the first.
        domain: Its domain.
        right: Its first output of the inputs, where ONNX Runtime's CPU has no kernel for it.
        types: Element types of outputs that are not of the first input's.
        shapes: Shapes that the file declares.
    """

    kind: str
    inputs: Mapping[str, Array | None]
    attrs: dict[str, Any] = field(default_factory=dict)
    outputs: str = "y"
    constants: str = ""
    domain: str = DOMAIN
    right: Callable[..., Array] | None = None
    types: dict[str, int] = field(default_factory=dict)
    shapes: Mapping[str, list[int]] = field(default_factory=dict)

    @property
    def held(self) -> set[str]:
        """The names of the initializers."""
        names = [name for name, array in self.inputs.items() if array is not None]
        return set(names[1:] if self.constants == "*" else self.constants.split())

    @property
    def fed(self) -> dict[str, Array]:
        """The inputs that are no initializers."""
        return {
            name: array
            for name, array in self.inputs.items()
            if array is not None and name not in self.held
        }

    def model(self, opset: int = 21) -> onnx.ModelProto:
        """A model of this node alone."""
        read = [name if array is not None else "" for name, array in self.inputs.items()]
        names = [name if name != "-" else "" for name in self.outputs.split()]
        node = helper.make_node(self.kind, read, names, name="n", domain=self.domain, **self.attrs)
        first = next(x for x in self.inputs.values() if x is not None)
        usual = helper.np_dtype_to_tensor_dtype(first.dtype)
        outputs = [
            helper.make_tensor_value_info(x, self.types.get(x, usual), self.shapes.get(x))
            for x in names
            if x
        ]
        inputs = [
            helper.make_tensor_value_info(
                x, helper.np_dtype_to_tensor_dtype(a.dtype), self.shapes.get(x, a.shape)
            )
            for x, a in self.fed.items()
        ]
        held = [
            numpy_helper.from_array(a, x)
            for x, a in self.inputs.items()
            if a is not None and x in self.held
        ]
        graph = helper.make_graph([node], "one", inputs, outputs, held)
        sets = [helper.make_opsetid("", opset), helper.make_opsetid(DOMAIN, 1)]
        return helper.make_model(graph, opset_imports=sets, ir_version=10)


def product(
    bits: int, block: int, deep: int, zeros: str = "", *, bias: bool = False, dtype: str = "f4"
) -> Case:
    """MatMulNBits with zero points that are packed, floats, or none."""
    columns, blocks = 24, -(-deep // block)
    points = {
        "": None,
        "packed": unsigned(columns, -(-blocks * bits // 8)),
        "float": RNG.uniform(0, 1 << bits, (columns, blocks)).astype(dtype),
    }
    inputs = {
        "x": real(1, 2, deep, dtype=dtype),
        "w": unsigned(columns, blocks, block * bits // 8),
        "scales": positive(columns, blocks).astype(dtype),
        "zeros": points[zeros],
        "order": None,
        "bias": real(columns, dtype=dtype) if bias else None,
    }
    attrs = {"K": deep, "N": columns, "bits": bits, "block_size": block}
    return Case("MatMulNBits", inputs, attrs, constants="*")


def grouped(  # noqa: PLR0913 each is one thing that its cache may be
    *, batch: int = 1, new: int = 1, past: int = 16, packed: bool = False,
    lengths: list[int] | None = None, total: int | None = None, extra: str = "",
    heads: tuple[int, int, int] = (4, 2, 16), shared: bool = False, **attrs: Any,
) -> Case:  # fmt: skip
    """GroupQueryAttention. `extra` names further inputs: `bias`, `sink`, `places`."""
    count, kept, size = heads
    total = total or past + new
    lengths = lengths or [total] * batch
    widths = (count + 2 * kept,) if packed else (count, kept, kept)
    rows = [real(batch, new, n * size) for n in widths]
    caches = [real(batch, kept, past, size) if past else None for _ in range(2)]
    starts = [max(n - new, 0) for n in lengths]
    for cache in caches:
        for row, start in enumerate(starts):
            if cache is not None:
                cache[row, :, start:] = 0.0  # ONNX Runtime leaves zeros behind the rows in use.
    rotary = attrs.get("do_rotary", 0)
    angles = RNG.uniform(0, 6, (64, size // 2)).astype("f4")
    places = np.array([[start + i for i in range(new)] for start in starts], "i8")
    inputs: dict[str, Array | None] = {
        "query": rows[0], "key": None if packed else rows[1], "value": None if packed else rows[2],
        "past_key": caches[0], "past_value": caches[1],
        "lengths": np.array(lengths, "i4") - 1, "total": np.array(total, "i4"),
        "cos": np.cos(angles) if rotary else None, "sin": np.sin(angles) if rotary else None,
        "places": places if "places" in extra else None,
        "bias": real(1, count, new, total) if "bias" in extra else None,
        "sink": real(count) if "sink" in extra else None,
    }  # fmt: skip
    while list(inputs.values())[-1] is None:
        inputs.popitem()
    attrs = {"num_heads": count, "kv_num_heads": kept, **attrs}
    outputs = "y present_key present_value"
    rooms = {x: [batch, kept, max(past, total), size] for x in outputs.split()[1:]}
    held = "cos sin sink"
    return Case("GroupQueryAttention", inputs, attrs, outputs, held, shapes=rooms if shared else {})


def layer(*, past: int = 32, external: bool = False, domain: str = "") -> onnx.ModelProto:
    """A decoder layer as onnxruntime-genai writes it: norms, packed products, grouped attention.

    Its weights lie in the file, or outside of it.
    """
    width, heads, kept, size, block = 64, 4, 2, 16, 32
    nodes: list[onnx.NodeProto] = []
    tensors: list[onnx.TensorProto] = []

    def held(name: str, array: Array) -> str:
        tensor = numpy_helper.from_array(array, name)
        if external:
            tensor.ClearField("raw_data")
            tensor.data_location = onnx.TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value="absent.bin")
        tensors.append(tensor)
        return name

    def own(kind: str, read: list[str], made: list[str], **attrs: Any) -> None:
        attrs = {"domain": DOMAIN, **attrs}
        nodes.append(helper.make_node(kind, read, made, name=made[0], **attrs))

    def four_bits(x: str, y: str, columns: int) -> None:
        packed = held(f"{y}_bits", unsigned(columns, width // block, block // 2))
        read = [x, packed, held(f"{y}_scales", positive(columns, width // block))]
        own("MatMulNBits", read, [y], K=width, N=columns, bits=4, block_size=block)

    own("SimplifiedLayerNormalization", ["x", held("g1", positive(width))], ["n"], domain=domain)
    for name, count in (("q", heads), ("k", kept), ("v", kept)):
        four_bits("n", name, count * size)
    caches = [f"{x}.0.{part}" for x in ("past_key_values", "present") for part in ("key", "value")]
    turns = [held(name, positive(64, size // 2)) for name in ("cos", "sin")]
    read = ["q", "k", "v", *caches[:2], "seqlens", "total", *turns]
    some = {"num_heads": heads, "kv_num_heads": kept, "do_rotary": 1}
    own("GroupQueryAttention", read, ["a", *caches[2:]], **some)
    four_bits("a", "o", width)
    own("SkipSimplifiedLayerNormalization", ["x", "o", held("g2", positive(width))],
        ["y", "", "", "sum"], epsilon=1e-5)  # fmt: skip
    box, one, whole = (1, kept, past, size), onnx.TensorProto.FLOAT, onnx.TensorProto.INT32
    inputs = [helper.make_tensor_value_info("x", one, (1, 1, width))]
    inputs += [helper.make_tensor_value_info(x, one, box) for x in caches[:2]]
    inputs += [helper.make_tensor_value_info("seqlens", whole, (1,))]
    inputs += [helper.make_tensor_value_info("total", whole, ())]
    outputs = [helper.make_tensor_value_info(x, one, None) for x in ("y", "sum", *caches[2:])]
    graph = helper.make_graph(nodes, "layer", inputs, outputs, tensors)
    sets = [helper.make_opsetid("", 21), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=10)
