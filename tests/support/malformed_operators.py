"""One-node models of every operator of ONNX, with inputs and attributes drawn at random."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import onnx
from malformed_graphs import EXTREMES, Cases, model, value
from onnx import TensorProto, helper

_KINDS = (TensorProto.FLOAT, TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL)
_SIZES = (1, 1, 2, 3, 4, 8)
_ARRAYS: tuple[Any, ...] = (
    np.asarray([1, 0]), np.asarray([2, 3]), np.asarray(1), np.asarray([-1]), np.asarray([1 << 62]),
    np.asarray([], "i8"), np.float32(0.5), np.asarray([1.0, 2.0], "f4"), np.asarray(True),
)  # fmt: skip


def operators(count: int, seed: int = 0) -> Cases:
    """`count` models for each operator in its newest version."""
    for schema in onnx.defs.get_all_schemas():
        name = f"{schema.domain}{'.' if schema.domain else ''}{schema.name}"
        rng = random.Random(f"{name}{seed}")
        for i in range(count):
            yield f"operator_{name}_{i}", _one(rng, schema).SerializeToString()


def _one(rng: random.Random, schema: Any) -> onnx.ModelProto:
    count = rng.randint(schema.min_input, min(schema.max_input, schema.min_input + 3))
    count = max(count + rng.choice([0, 0, 0, 0, -1, 1]), 0)
    names, inputs, constants = [], [], {}
    for i in range(count):
        name = f"i{i}"
        kind = rng.random()
        if kind < 0.1:
            name = ""
        elif kind < 0.3 and i > 0:
            constants[name] = rng.choice(_ARRAYS)
        else:
            sizes = [rng.choice(_SIZES) for _ in range(rng.choice([0, 1, 2, 2, 3, 4, 4, 5]))]
            inputs.append(value(name, *sizes, kind=rng.choice(_KINDS)))
        names.append(name)
    outputs = ["y", *(f"o{i}" for i in range(1, rng.randint(1, min(schema.max_output, 3) or 1)))]
    made = helper.make_node(schema.name, names, outputs, name="n", domain=schema.domain)
    for attribute in schema.attributes.values():
        if attribute.required or rng.random() < 0.4:
            made.attribute.append(_attribute(rng, attribute))
    domains = {schema.domain: schema.since_version} if schema.domain else {}
    newest = onnx.defs.onnx_opset_version()
    return model([made], inputs=inputs, constants=constants, opset=newest, domains=domains)


def _attribute(rng: random.Random, attribute: Any) -> onnx.AttributeProto:
    kind = int(attribute.type.value)
    number = rng.choice([0, 1, 1, 2, 3, -1, rng.choice(EXTREMES)])
    some: dict[int, Any] = {
        onnx.AttributeProto.FLOAT: rng.choice([0.0, 1.0, -1.0, 1e30]),
        onnx.AttributeProto.INT: number,
        onnx.AttributeProto.STRING: rng.choice(["", "ij,jk->ik", "SAME_UPPER", "linear", "sum"]),
        onnx.AttributeProto.FLOATS: [0.5] * rng.randint(0, 4),
        onnx.AttributeProto.INTS: [number] * rng.randint(0, 5),
        onnx.AttributeProto.STRINGS: ["tanh"] * rng.randint(0, 3),
        onnx.AttributeProto.TENSOR: onnx.numpy_helper.from_array(np.ones(2, "f4")),
    }
    if kind in some:
        return helper.make_attribute(attribute.name, some[kind], attr_type=kind)
    made = onnx.AttributeProto(name=attribute.name)
    made.ParseFromString(made.SerializeToString() + b"\xa0\x01" + bytes([kind]))  # The type.
    return made
