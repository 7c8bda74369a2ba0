"""More than 1,000 malformed ONNX files, the same on every run."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from malformed_graphs import (
    EXTREMES,
    Cases,
    edited,
    graphs,
    loop,
    model,
    node,
    result,
    sound,
    value,
)
from malformed_operators import operators
from onnx import TensorProto, helper
from onnx_cases import cases as cases_of_onnx
from onnx_cases import proto_of

MODELS = Path(__file__).parents[2] / "models"
_DAMAGED = ("resnet18", "whisper-tiny-encoder", "nerf", "mixtral-8x7b-2layers-decode")
_TYPES = (0, 8, 14, 15, 21, 23, 99, -1, 1, 7, 9, 10)  # Texts, complex, packed, unknown, plain.


def cases(share: int = 1) -> Cases:
    """Names that differ, and the bytes of a model each; one in `share` of those drawn at random."""
    yield from graphs()
    yield from _sizes()
    yield from _types()
    yield from _bombs()
    yield from _attributes()
    yield from _files()
    yield from operators(4 // share)
    yield from mutants(800 // share)
    for name, made in sound().items():
        yield f"sound_{name}", made.SerializeToString()
        yield from _cut(name, made.SerializeToString(), 4 // share)
        yield from _flipped(name, made.SerializeToString(), 8 // share)
        yield from _mutated(name, made, 12 // share)
    for name in _DAMAGED:
        data = (MODELS / f"{name}.onnx").read_bytes()
        yield from _cut(name, data, 20 // share)
        yield from _flipped(name, data, 50 // share)
        yield from _spliced(name, data, 10 // share)


def _sizes() -> Cases:
    sizes = (*EXTREMES, 1 << 40, (1 << 40) + 1, 1 << 62)
    for size in sizes:
        for name in ("relu", "conv", "reshape"):
            yield (
                f"input_size_{size}_{name}",
                edited(name, lambda m, n=size: setattr(  # type: ignore[misc]
                    m.graph.input[0].type.tensor_type.shape.dim[0], "dim_value", n
                )),
            )  # fmt: skip
        yield (
            f"initializer_size_{size}",
            edited("matmul", lambda m, n=size: m.graph.initializer[0].dims.__setitem__(0, n)),  # type: ignore[misc]
        )
        yield (
            f"output_size_{size}",
            model([node("Relu", "x", "y")], outputs=[value("y", 2, size)]).SerializeToString(),
        )
    for rank in (0, 1, 17, 64, 100, 100_000):
        yield (
            f"rank_{rank}",
            model([node("Relu", "x", "y")], inputs=[value("x", *[1] * rank)]).SerializeToString(),
        )
    for text in ("a" * 5000, "(" * 300, "-" * 900 + "a", "+".join("a" * 500), "9" * 20 + "*a",
                 "a//0", "a/(b-b)", "floor(a, b)", "min(a)", "max()", "a**9", "1_0", "1if 2",
                 "\0", "a\nb", "\u0663", "True", "a - 5", "a%0", "9" * 5000, "a*a*a*a" * 80,
                 "4611686018427387904*a", "lambda: 0", "a if b else c", "f'{a}'"):  # fmt: skip
        yield (
            f"expression_{text[:12]!r}_{len(text)}",
            model([node("Relu", "x", "y")], inputs=[value("x", text, 3)]).SerializeToString(),
        )


def _types() -> Cases:
    for kind in _TYPES:
        yield (
            f"input_type_{kind}",
            edited("relu", lambda m, k=kind: setattr(  # type: ignore[misc]
                m.graph.input[0].type.tensor_type, "elem_type", k
            )),
        )  # fmt: skip
        yield (
            f"initializer_type_{kind}",
            edited("matmul", lambda m, k=kind: setattr(m.graph.initializer[0], "data_type", k)),  # type: ignore[misc]
        )
        yield f"cast_type_{kind}", model([node("Cast", "x", "y", to=kind)]).SerializeToString()
        made = model([node("Sub", "x z", "y")], inputs=[value("x", 2), value("z", 2, kind=kind)])
        yield f"mixed_types_{kind}", made.SerializeToString()
    for key in ("sequence_type", "map_type", "optional_type", "sparse_tensor_type"):
        made = sound()["relu"]
        getattr(made.graph.input[0].type, key).SetInParent()
        yield f"input_{key}", made.SerializeToString()
    yield "input_no_type", edited("relu", lambda m: m.graph.input[0].ClearField("type"))
    for field in ("raw_data", "float_data", "int32_data", "dims", "data_type"):
        made = sound()["matmul"]
        made.graph.initializer[0].ClearField(field)
        yield f"initializer_without_{field}", made.SerializeToString()
        extra = _with_data(sound()["matmul"], field)
        yield f"initializer_with_{field}", extra.SerializeToString()


def _with_data(made: onnx.ModelProto, field: str) -> onnx.ModelProto:
    tensor = made.graph.initializer[0]
    if field == "raw_data":
        tensor.raw_data = b"odd"
    elif field == "data_type":
        tensor.data_type = TensorProto.STRING
    elif field == "dims":
        tensor.dims.extend([7] * 3)
    else:
        getattr(tensor, field).extend([1] * 5)
    return made


def _bombs() -> Cases:
    big = 10**9
    for name, kind, inputs, constants in (
        ("constant_of_shape", "ConstantOfShape", "s", {"s": [big, big]}),
        ("constant_of_shape_wide", "ConstantOfShape", "s", {"s": [1 << 62, 4]}),
        ("constant_of_shape_negative", "ConstantOfShape", "s", {"s": [-1, 4]}),
        ("constant_of_shape_ranks", "ConstantOfShape", "s", {"s": [1] * 5000}),
        ("expand", "Expand", "x s", {"s": [big, 2, 3]}),
        ("expand_far", "Expand", "x s", {"s": [1 << 62, 1 << 62, 2, 3]}),
        ("expand_known", "Expand", "k s", {"k": [1.0], "s": [big, big]}),
        ("tile", "Tile", "x s", {"s": [big, big]}),
        ("tile_known", "Tile", "k s", {"k": [1.0, 2.0], "s": [1 << 40]}),
        ("tile_negative", "Tile", "x s", {"s": [-1, 2]}),
        ("tile_overflow", "Tile", "x s", {"s": [1 << 62, 1 << 62]}),
        ("range", "Range", "a b c", {"a": 0, "b": 1 << 62, "c": 1}),
        ("range_zero", "Range", "a b c", {"a": 0, "b": 9, "c": 0}),
        ("range_nan", "Range", "a b c", {"a": 0.0, "b": float("nan"), "c": 1.0}),
        ("range_inf", "Range", "a b c", {"a": 0.0, "b": float("inf"), "c": 1.0}),
        ("range_tiny", "Range", "a b c", {"a": 0.0, "b": 1.0, "c": 1e-300}),
        ("range_vector", "Range", "a b c", {"a": [0, 1], "b": [1], "c": [1]}),
        ("pad", "Pad", "x p", {"p": [big, big, big, big]}),
        ("pad_far", "Pad", "x p", {"p": [1 << 62] * 4}),
        ("pad_cut", "Pad", "x p", {"p": [-9, 0, 0, 0]}),
        ("resize", "Resize", "x x r", {"r": np.asarray([1e18, 1e18], "f4")}),
        ("resize_nan", "Resize", "x x r", {"r": np.asarray([float("nan")] * 2, "f4")}),
        ("one_hot", "OneHot", "i d v", {"i": [0], "d": 1 << 40, "v": [0.0, 1.0]}),
        ("reshape", "Reshape", "x s", {"s": [1 << 62, -1]}),
        ("reshape_ranks", "Reshape", "x s", {"s": [2, 3] + [1] * 10_000}),
        ("unsqueeze_ranks", "Unsqueeze", "x a", {"a": list(range(2, 5000))}),
        ("gather_far", "Gather", "x i", {"i": [1 << 62]}),
        ("gather_many", "Gather", "x i", {"i": np.zeros((1000, 1000), "i8")}),
        ("slice_far", "Slice", "x b e", {"b": [-(1 << 63)], "e": [(1 << 63) - 1]}),
        ("topk", "TopK", "x k", {"k": [1 << 62]}),
        ("eyelike", "EyeLike", "x", {}),
        ("random", "RandomNormal", "", {}),
        ("blackman", "BlackmanWindow", "n", {"n": 1 << 50}),
        ("dft", "DFT", "x n", {"n": 1 << 50}),
        ("matmul_shapes", "MatMul", "x k", {"k": [[1.0]]}),
        ("nonzero", "NonZero", "k", {"k": np.ones((64, 1024), "f4")}),
    ):  # fmt: skip
        arrays = {key: _typed(content) for key, content in constants.items()}
        yield f"bomb_{name}", model([node(kind, inputs, "y")], constants=arrays).SerializeToString()
    for trips in (0, -1, 10**6, 10**9, (1 << 63) - 1):
        yield f"loop_{trips}_trips", loop(trips).SerializeToString()
    yield from _many()


def _typed(content: Any) -> Any:
    if isinstance(content, np.ndarray):
        return content
    array = np.asarray(content)
    return array.astype("f4") if array.dtype == np.float64 else array


def _many() -> Cases:
    """Much of something: bombs that are sums, not single nodes."""
    held = [node("ConstantOfShape", "s", f"c{i}") for i in range(2000)]
    total = helper.make_node("Sum", [f"c{i}" for i in range(1000)], ["y"])
    yield (
        "bomb_2000_constants",
        model([*held, total], constants={"s": [1 << 20]}).SerializeToString(),
    )
    doubled = [node("Concat", f"v{i} v{i}", f"v{i + 1}", axis=0) for i in range(60)]
    doubled[-1].output[0] = "y"
    yield "bomb_doubling", model(doubled, inputs=[value("v0", 2, 3)]).SerializeToString()
    sums = [node("ReduceSum", "big", f"s{i}") for i in range(5000)]
    summed = [node("ConstantOfShape", "s", "big"), *sums, node("Neg", "s7", "y")]
    yield "bomb_folding_5000", model(summed, constants={"s": [1 << 20]}).SerializeToString()
    known = model(doubled, inputs=[], constants={"v0": [1.0, 2.0]})
    yield "bomb_doubling_known", known.SerializeToString()
    wide = helper.make_node("Concat", ["x"] * 100_000, ["y"], axis=0)
    yield "inputs_100000", model([wide]).SerializeToString()
    parts = helper.make_node("Split", ["x"], [f"o{i}" for i in range(100_000)], axis=0)
    yield "outputs_100000", model([parts]).SerializeToString()
    same = [helper.make_node("Relu", ["x"], [f"v{i}"], name="same") for i in range(3000)]
    yield "same_name_3000", model([*same, node("Neg", "x", "y")]).SerializeToString()
    unknown = [helper.make_node("NoSuch", ["x"], [f"v{i}"], domain="d") for i in range(3000)]
    made = model([*unknown, node("Neg", "x", "y")], domains={"d": 1})
    yield "refused_3000", made.SerializeToString()
    steps = [helper.make_node("Add", ["x", "x"], ["x1"])] + [
        helper.make_node("Mul", [f"x{i}", f"x{i}"], [f"x{i + 1}"]) for i in range(1, 2000)
    ]
    outputs = [result("x2000")]
    yield "chain_2000", model(steps, outputs=outputs).SerializeToString()
    # Two bytes each: a node, an attribute, an initializer, an input and a text that hold nothing.
    for name, tag in (
        ("nodes", b"\x0a\x00"),
        ("initializers", b"\x2a\x00"),
        ("inputs", b"\x5a\x00"),
    ):
        body = tag * 3_000_000
        yield f"empty_{name}_3000000", b"\x3a" + _length(body) + body
    # Models below the size from which files are looked at before they are parsed.
    small = sound()["relu"].SerializeToString()
    for field in onnx.GraphProto.DESCRIPTOR.fields:
        if field.message_type is not None:
            body = bytes([field.number << 3 | 2, 0]) * 2_000_000
            if field.number < 16:
                yield f"empty_{field.name}_2000000", small + b"\x3a" + _length(body) + body
    for field in onnx.ModelProto.DESCRIPTOR.fields:
        if field.message_type is not None and field.number < 16:
            yield (
                f"empty_{field.name}_in_model",
                small + bytes([field.number << 3 | 2, 0]) * 2_000_000,
            )
    yield "empty_functions_in_model", small + b"\xca\x01\x00" * 1_300_000
    yield "empty_training_in_model", small + b"\xa2\x01\x00" * 1_300_000
    yield "empty_opsets_in_model", small + b"\x42\x00" * 2_000_000
    inner = b"\x2a\x00" * 3_000_000
    body = b"\x0a" + _length(inner) + inner
    yield "empty_attributes_3000000", b"\x3a" + _length(body) + body


def _length(content: bytes) -> bytes:
    out, rest = bytearray(), len(content)
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*out, rest])


def _attributes() -> Cases:
    """Every attribute of every small model made extreme, absent, of another type."""
    for name, made in sound().items():
        for i, attribute in enumerate(made.graph.node[0].attribute):
            for new in (*EXTREMES, float("nan"), float("inf"), "text", b"\xff", [], [1 << 62] * 9):
                copy = onnx.ModelProto()
                copy.CopyFrom(made)
                target = copy.graph.node[0].attribute[i]
                if isinstance(new, int) and target.type == onnx.AttributeProto.INTS:
                    target.ints[:] = [new] * len(target.ints)
                else:
                    fresh = helper.make_attribute(
                        attribute.name, new, attr_type=7 if new == [] else None
                    )
                    target.CopyFrom(fresh)
                yield f"attribute_{name}_{attribute.name}_{str(new)[:22]}", copy.SerializeToString()
            copy = onnx.ModelProto()
            copy.CopyFrom(made)
            del copy.graph.node[0].attribute[i]
            yield f"attribute_{name}_{attribute.name}_absent", copy.SerializeToString()


def _files() -> Cases:
    yield "empty", b""
    junk = {
        "text": b"no model at all\n" * 99,
        "zeros": b"\0" * 4096,
        "ones": b"\xff" * 4096,
        "zip": b"PK\x03\x04" + b"\0" * 60,
        "zeros_5MB": b"\0" * 5_000_000,
        "ones_5MB": b"\xff" * 5_000_000,
    }
    for name, data in junk.items():
        yield f"junk_{name}", data
    rng = random.Random(3)
    for i in range(40):
        yield f"junk_random_{i}", rng.randbytes(rng.randrange(1, 2000))


def _cut(name: str, data: bytes, count: int) -> Cases:
    for i in range(count):
        at = len(data) * (i + 1) // (count + 1)
        yield f"cut_{name}_{at}", data[:at]


def _flipped(name: str, data: bytes, count: int) -> Cases:
    rng = random.Random(name)
    for i in range(count):
        flipped = bytearray(data)
        for _ in range(1 + i % 3):
            flipped[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        yield f"flipped_{name}_{i}", bytes(flipped)


def _spliced(name: str, data: bytes, count: int) -> Cases:
    rng = random.Random(name)
    for i in range(count):
        start, size = rng.randrange(len(data)), rng.randrange(1, 64)
        new = (b"", b"\0" * size, data[start : start + size] * 2, rng.randbytes(size))[i % 4]
        yield f"spliced_{name}_{i}", data[:start] + new + data[start + size :]


def _mutated(name: str, made: onnx.ModelProto, count: int) -> Cases:
    """Messages of the parsed model changed at random, so that the result still parses."""
    rng = random.Random(name)
    for i in range(count):
        copy = onnx.ModelProto()
        copy.CopyFrom(made)
        for _ in range(1 + i % 3):
            mutate(rng, copy)
        yield f"mutated_{name}_{i}", copy.SerializeToString()


def mutate(rng: random.Random, made: onnx.ModelProto) -> None:
    spots = list(_spots(made))
    parent, field = rng.choice(spots)
    old = getattr(parent, field.name)
    if field.message_type is not None:
        parent.ClearField(field.name)
    elif field.cpp_type == field.CPPTYPE_STRING:
        new: Any = rng.choice(["", "x", "y", "w", "no"])
        _set(parent, field.name, old, new.encode() if field.type == field.TYPE_BYTES else new)
    elif field.cpp_type in {field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE}:
        _set(parent, field.name, old, rng.choice([float("nan"), float("inf"), -1.0, 1e30]))
    else:
        choices = [*EXTREMES, 1, 2, 5, 100]
        if field.cpp_type == field.CPPTYPE_ENUM:
            choices = sorted(field.enum_type.values_by_number)
        elif field.cpp_type == field.CPPTYPE_INT32:
            choices = [0, 1, 2, 3, 5, 7, 16]
        _set(parent, field.name, old, rng.choice(choices))


def mutate_count(rng: random.Random, made: onnx.ModelProto) -> None:
    """A repeated field of `made` gets an element more, one less, or its elements swapped."""
    spots = [(x, field) for x, field in _spots(made) if field.is_repeated]
    if not spots:
        return
    parent, field = rng.choice(spots)
    items = getattr(parent, field.name)
    at = rng.randrange(len(items))
    change = rng.randrange(4)
    if change == 0:
        del items[at]
    elif change < 3:
        items.extend([items[at]] * rng.choice([1, 1, 1, 2, 7]))
    elif field.message_type is None:
        items[at], items[0] = items[0], items[at]


def mutants(count: int, seed: int = 0) -> Cases:
    """`count` mutants of small sound models, of every operator, and of ONNX's own test models."""
    sources = [(name, made.SerializeToString()) for name, made in sound().items()]
    sources += [(name, data) for name, data in operators(1, seed)]
    sources += [
        (name, proto.SerializeToString())
        for name, case in cases_of_onnx("node").items()
        if (proto := proto_of(case)) is not None
    ]
    rng = random.Random(seed)
    for i in range(count):
        name, data = sources[rng.randrange(len(sources))]
        copy = onnx.ModelProto.FromString(data)
        for _ in range(rng.choice([1, 1, 2, 3])):
            rng.choice([mutate, mutate_count])(rng, copy)
        yield f"mutant_{i}_{name}", copy.SerializeToString()


def _set(parent: Any, name: str, old: Any, new: Any) -> None:
    if isinstance(old, (int, float, str, bytes)):
        setattr(parent, name, new)
    elif old:
        old[-1] = new


def _spots(message: Any) -> Iterator[tuple[Any, Any]]:
    """Every field that is set, of `message` and of all messages in it."""
    waiting = [message]
    while waiting:
        current = waiting.pop()
        for field, found in current.ListFields():
            yield current, field
            if field.message_type is not None:
                waiting.extend([found] if hasattr(found, "ListFields") else found)
