"""Models that are wrong in one way each, and small sound ones to damage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F32 = TensorProto.FLOAT
I64 = TensorProto.INT64
Cases = Iterator[tuple[str, bytes]]
EXTREMES = (0, -1, -2, 1 << 31, (1 << 63) - 1, -(1 << 63))


def value(name: str, *sizes: int | str, kind: int = F32) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, list(sizes))


def result(name: str) -> onnx.ValueInfoProto:
    """An output of a type, and of no shape."""
    return helper.make_tensor_value_info(name, F32, None)


def model(
    nodes: list[onnx.NodeProto],
    *,
    inputs: list[onnx.ValueInfoProto] | None = None,
    outputs: list[onnx.ValueInfoProto] | None = None,
    constants: dict[str, Any] | None = None,
    opset: int = 20,
    domains: dict[str, int] | None = None,
) -> onnx.ModelProto:
    """A model that nothing has checked; its input is x[2, 3] and its output y, unless given."""
    made = onnx.ModelProto(ir_version=10)
    made.graph.name = "g"
    made.graph.node.extend(nodes)
    made.graph.input.extend([value("x", 2, 3)] if inputs is None else inputs)
    made.graph.output.extend([result("y")] if outputs is None else outputs)
    for name, array in (constants or {}).items():
        made.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    for domain, version in {"": opset, **(domains or {})}.items():
        made.opset_import.add(domain=domain, version=version)
    return made


def node(kind: str, inputs: str, outputs: str, **attrs: Any) -> onnx.NodeProto:
    return helper.make_node(kind, inputs.split(), outputs.split(), name=kind.lower(), **attrs)


def graph(nodes: list[onnx.NodeProto], output: str, *inputs: onnx.ValueInfoProto) -> Any:
    return helper.make_graph(nodes, "body", list(inputs), [result(output)])


def sound() -> dict[str, onnx.ModelProto]:
    """Small models of many kinds, most of which load."""
    return {name: _with_output(made) for name, made in _sound().items()}


def _with_output(made: onnx.ModelProto) -> onnx.ModelProto:
    """`made` with the type and rank of its output as ONNX infers them."""
    for output in made.graph.output:
        output.ClearField("type")
    return onnx.shape_inference.infer_shapes(made)


def _sound() -> dict[str, onnx.ModelProto]:
    x = "x"
    inner = graph([node("Relu", x, "a")], "a"), graph([node("Neg", x, "b")], "b")
    quantized = [
        node("QuantizeLinear", "x s z", "q"),
        node("DequantizeLinear", "q s z", "y"),
    ]
    image = [value("x", 1, 4, 8, 8)]
    return {
        "relu": model([node("Relu", x, "y")], inputs=[value(x, "n", 3)]),
        "matmul": model([node("MatMul", "x w", "y")], constants={"w": np.ones((3, 4), "f4")}),
        "conv": model(
            [node("Conv", "x w", "y", kernel_shape=[3, 3], pads=[1, 1, 1, 1], group=2)],
            inputs=image,
            constants={"w": np.ones((4, 2, 3, 3), "f4")},
        ),
        "pool": model([node("MaxPool", x, "y", kernel_shape=[2, 2], strides=[2, 2])], inputs=image),
        "slice": model(
            [node("Slice", "x b e a", "y")],
            constants={"b": [0], "e": [2], "a": [1]},
        ),
        "reshape": model([node("Reshape", "x s", "y")], constants={"s": [3, -1]}),
        "expand": model([node("Expand", "x s", "y")], constants={"s": [4, 2, 3]}),
        "tile": model([node("Tile", "x r", "y")], constants={"r": [2, 2]}),
        "pad": model([node("Pad", "x p", "y")], constants={"p": [1, 1, 1, 1]}),
        "gather": model([node("Gather", "x i", "y", axis=1)], constants={"i": [0, 2]}),
        "split": model([node("Split", x, "y z", axis=1, num_outputs=2)]),
        "concat": model([node("Concat", "x x", "y", axis=0)]),
        "transpose": model([node("Transpose", x, "y", perm=[1, 0])]),
        "reduce": model([node("ReduceMean", "x a", "y")], constants={"a": [1]}),
        "softmax": model([node("Softmax", x, "y", axis=-1)]),
        "layernorm": model([node("LayerNormalization", "x w", "y")], constants={"w": [1.0] * 3}),
        "groupnorm": model(
            [node("GroupNormalization", "x w w", "y", num_groups=2)],
            inputs=image,
            constants={"w": np.ones(4, "f4")},
            opset=21,
        ),
        "attention": model(
            [node("Attention", "q q q", "y", q_num_heads=2, kv_num_heads=2)],
            inputs=[value("q", 1, 4, 8)],
            opset=23,
        ),
        "einsum": model([node("Einsum", "x x", "y", equation="ij,kj->ik")]),
        "range": model(
            [node("Range", "a b c", "r"), node("Add", "x r", "y")],
            constants={"a": np.float32(0), "b": np.float32(3), "c": np.float32(1)},
        ),
        "topk": model([node("TopK", "x k", "y i", axis=1)], constants={"k": [2]}),
        "if": model(
            [node("If", "c", "y", then_branch=inner[0], else_branch=inner[1])],
            constants={"c": np.asarray(True)},
        ),
        "loop": loop(3),
        "function": functions({"F": ["Exp", "Neg"]}),
        "quantized": model(quantized, constants={"s": np.float32(0.1), "z": np.uint8(3)}),
        "resize": model(
            [helper.make_node("Resize", ["x", "", "s"], ["y"], name="resize")],
            inputs=image,
            constants={"s": np.asarray([1, 1, 2, 2], "f4")},
        ),
        "where": model(
            [node("Greater", "x k", "c"), node("Where", "c x k", "y")],
            constants={"k": np.float32(0)},
        ),
        "cast": model([node("Cast", x, "y", to=10)]),
        "shape": model(
            [node("Shape", x, "s"), node("ConstantOfShape", "s", "z"), node("Add", "x z", "y")]
        ),
        "symbols": model(
            [node("Add", "x z", "y")], inputs=[value(x, "a + b", 3), value("z", "2*a", "c")]
        ),
    }


def loop(trips: int) -> onnx.ModelProto:
    """A Loop that adds x to a carried value `trips` times."""
    body = helper.make_graph(
        [node("Add", "v x", "w"), node("Identity", "c", "d")],
        "body",
        [value("i", kind=I64), value("c", kind=TensorProto.BOOL), value("v", 2, 3)],
        [value("d", kind=TensorProto.BOOL), value("w", 2, 3)],
    )
    constants = {"trips": np.int64(trips), "go": np.asarray(True)}
    return model([node("Loop", "trips go x", "y", body=body)], constants=constants)


def functions(bodies: dict[str, list[str]], *, of: str = "F") -> onnx.ModelProto:
    """Local functions, each a chain of operators; a name of `bodies` calls that function."""
    made = model([helper.make_node(of, ["x"], ["y"], domain="local")], domains={"local": 1})
    for name, chain in bodies.items():
        steps = [
            helper.make_node(
                kind, [f"v{i}"], [f"v{i + 1}"], domain="local" if kind in bodies else ""
            )
            for i, kind in enumerate(chain)
        ]
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid("local", 1)]
        made.functions.append(
            helper.make_function("local", name, ["v0"], [f"v{len(chain)}"], steps, opsets)
        )
    return made


def edited(name: str, edit: Callable[[onnx.ModelProto], object]) -> bytes:
    """The small model `name` after `edit`."""
    made = sound()[name]
    edit(made)
    return bytes(made.SerializeToString())


def _names() -> Cases:
    def renamed(made: onnx.ModelProto, text: str) -> None:
        made.graph.node[0].input[0] = made.graph.input[0].name = text

    for name, text in (("long", "n" * 100_000), ("zero", "a\0b"), ("line", "a\nb")):
        yield f"name_{name}", edited("relu", lambda m, t=text: renamed(m, t))  # type: ignore[misc]
    plain = edited("relu", lambda m: renamed(m, "abcdefgh"))
    for junk in (b"\xff\xfe\xfd\xfcxxxx", b"abc\xed\xa0\x80de", b"\x80" * 8, b"\xc0\x80______"):
        yield f"name_not_utf8_{junk.hex()}", plain.replace(b"abcdefgh", junk)
    for field in (b"relu", b"Relu"):
        data = sound()["relu"].SerializeToString()
        yield f"field_not_utf8_{field.decode()}", data.replace(field, b"\xff\xfe\xfd\xfc")
    yield "dangling_input", edited("relu", lambda m: m.graph.node[0].input.__setitem__(0, "no"))
    yield "dangling_output", edited("relu", lambda m: m.graph.output.append(result("absent")))
    yield "no_output", edited("relu", lambda m: m.graph.ClearField("output"))
    yield "no_node", edited("relu", lambda m: m.graph.ClearField("node"))
    yield "empty_names", edited("relu", lambda m: renamed(m, ""))
    yield "output_twice", edited("relu", lambda m: m.graph.output.append(result("y")))
    yield "input_twice", edited("relu", lambda m: m.graph.input.append(m.graph.input[0]))
    yield "node_twice", edited("relu", lambda m: m.graph.node.append(m.graph.node[0]))
    yield (
        "initializer_twice",
        edited("matmul", lambda m: m.graph.initializer.append(m.graph.initializer[0])),
    )
    yield (
        "self_cycle",
        model([node("Add", "x y", "y")]).SerializeToString(),
    )
    yield (
        "cycle",
        model([node("Add", "x b", "a"), node("Relu", "a", "b"), node("Relu", "b", "y")])
        .SerializeToString(),
    )  # fmt: skip
    yield (
        "sparse",
        edited("matmul", lambda m: m.graph.sparse_initializer.add().values.CopyFrom(
            m.graph.initializer.pop()
        )),
    )  # fmt: skip


def _versions() -> Cases:
    for opset in (0, -1, 1, 2, 5, 8, 999, 1 << 40, (1 << 63) - 1):
        for name in ("relu", "softmax", "slice"):
            yield (
                f"opset_{opset}_{name}",
                edited(name, lambda m, v=opset: setattr(m.opset_import[0], "version", v)),  # type: ignore[misc]
            )
    for version in (0, 1, 2, 3, 4, 99, 1 << 62):
        yield (
            f"ir_{version}",
            edited("matmul", lambda m, v=version: setattr(m, "ir_version", v)),  # type: ignore[misc]
        )
    yield "no_opset", edited("relu", lambda m: m.ClearField("opset_import"))
    yield "opset_twice", edited("relu", lambda m: m.opset_import.add(domain="", version=7))
    for domain in ("com.microsoft", "ai.onnx.ml", "no such", "ai.onnx", "x" * 5000):
        yield (
            f"domain_{domain[:14]}",
            edited("relu", lambda m, d=domain: setattr(m.graph.node[0], "domain", d)),  # type: ignore[misc]
        )
        yield (
            f"domain_imported_{domain[:14]}",
            model(
                [helper.make_node("Relu", ["x"], ["y"], domain=domain)], domains={domain: 1}
            ).SerializeToString(),
        )


def _recursive() -> Cases:
    yield "function_calls_itself", functions({"F": ["F"]}).SerializeToString()
    yield "functions_in_a_ring", functions({"F": ["G"], "G": ["F"]}).SerializeToString()
    yield "function_absent", functions({"G": ["Exp"]}).SerializeToString()
    chain = {f"F{i}": [f"F{i + 1}"] for i in range(10_000)} | {"F10000": ["Exp"]}
    yield "functions_10000_deep", functions(chain, of="F0").SerializeToString()
    bomb = {f"F{i}": [f"F{i + 1}"] * 8 for i in range(20)} | {"F20": ["Exp"]}
    yield "functions_8_to_the_20", functions(bomb, of="F0").SerializeToString()
    twice = functions({"F": ["Exp"]})
    twice.functions.append(twice.functions[0])
    yield "function_twice", twice.SerializeToString()
    for key in ("input", "output", "node", "opset_import"):
        made = functions({"F": ["Exp", "Neg"]})
        made.functions[0].ClearField(key)
        yield f"function_without_{key}", made.SerializeToString()
    for depth in (20, 31, 33, 60, 10_000):
        yield f"if_{depth}_deep", nested(depth)
    for levels in (50, 10_000):
        data = b"\x0a\x00"
        for _ in range(levels):
            data = _field(4, _field(1, data))  # TypeProto.sequence_type.elem_type
        typed = sound()["relu"].SerializeToString()
        yield f"type_{levels}_deep", typed + _field(7, _field(11, _field(2, data)))


def nested(depth: int) -> bytes:
    """An If in a branch of an If, `depth` times, written byte by byte: no library nests so far."""
    graph_bytes = model([node("Relu", "x", "y")]).graph.SerializeToString()
    for _ in range(depth):
        branches = [
            _field(1, name) + _field(6, graph_bytes) + b"\xa0\x01\x05"
            for name in (b"then_branch", b"else_branch")[: 2 if depth < 12 else 1]
        ]
        body = _field(1, b"c") + _field(2, b"y") + _field(4, b"If")
        inner = _field(1, body + b"".join(_field(5, branch) for branch in branches))
        graph_bytes = inner + _field(2, b"g") + _field(12, result("y").SerializeToString())
    made = sound()["relu"]
    made.graph.CopyFrom(onnx.GraphProto())
    return bytes(made.SerializeToString()) + _field(7, graph_bytes)


def _field(number: int, content: bytes) -> bytes:
    """A length-delimited protobuf field."""
    out, rest = bytearray([number << 3 | 2]), len(content)
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes(out) + bytes([rest]) + content


def graphs() -> Cases:
    """All of this file."""
    yield from _names()
    yield from _versions()
    yield from _recursive()
