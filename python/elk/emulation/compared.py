"""Emulated outputs beside those of ONNX Runtime."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from elk import _core
from elk.emulation import reference
from elk.emulation.elements import packed

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto

    from elk.model.model import Model

Array = NDArray[Any]

# Of a result's type, the distance from one to the next number.
_STEP: Final = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}
_ROUNDINGS: Final = 8.0  # Allowed for each of the roundings that an output goes through.
# Operators whose results are some of their elements as they are, or as far apart at most.
_KEEPING_LEVELS: Final = frozenset({
    "Clip", "DequantizeLinear", "Flatten", "Identity", "MaxPool", "Relu", "Reshape", "Slice",
    "Squeeze", "Transpose", "Unsqueeze",
})  # fmt: skip
_QUANTIZERS: Final = ("DynamicQuantize", "QL", "Quantize")  # How types begin that round to levels.


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputCheck:
    """One output beside ONNX Runtime's.

    Attributes:
        name: The output.
        max_abs_error: The largest difference.
        max_rel_error: The same over the largest magnitude of ONNX Runtime's output.
        tolerance: What `max_rel_error` may be: from the element type, the longest sum and the
            number of operators; 0 for integers and truth values. One level more where the output
            is quantised.
    """

    name: str
    max_abs_error: float
    max_rel_error: float
    tolerance: float

    @property
    def passed(self) -> bool:
        """Whether the outputs agree."""
        return self.max_rel_error <= self.tolerance


def compared(
    model: Model,
    file: ModelProto,
    outputs: Mapping[str, Array],
    inputs: Mapping[str, Array],
    arrays: Mapping[str, Array],
) -> tuple[OutputCheck, ...]:
    """How emulated outputs compare with what ONNX Runtime computes from the same arrays.

    Args:
        model: The model.
        file: It, as it was read.
        outputs: What the emulator computed, by name.
        inputs: What it was given, by name.
        arrays: The elements of every tensor that no op makes, by name.
    """
    filled = _filled(file, arrays)
    wanted = reference.run(filled.SerializeToString(), inputs)
    return tuple(
        _check(model, name, outputs[name], right, _quantisation_step(filled.graph, name))
        for name, right in wanted.items()
    )


def _filled(proto: ModelProto, arrays: Mapping[str, Array]) -> ModelProto:
    """A copy of `proto` that holds the weights that its file does not."""
    import onnx  # noqa: PLC0415 - `import elk` stays small

    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    for tensor in copy.graph.initializer:
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            continue
        shape = tuple(tensor.dims)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        if tensor.name in arrays:
            found = packed(arrays[tensor.name], math.prod(shape))
            array = found.reshape(shape).astype(dtype)
        else:  # The tensor became a constant of an op, or nothing needs it.
            array = np.zeros(shape, dtype=dtype)
        tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
    return copy


def _quantisation_step(graph: GraphProto, name: str) -> float:
    """How far apart two neighbouring levels of a quantised output are; 0 where it is not quantised.

    Where a sum lies half-way between two levels, the order in which it is added up decides.
    """
    makers = {output: node for node in graph.node for output in node.output}
    step = 1.0
    while (node := makers.get(name)) is not None:
        if node.op_type == "DequantizeLinear":
            scale = _elements(graph, makers, node.input[1])
            step *= 0.0 if scale is None else float(np.max(np.abs(scale), initial=0.0))
        elif node.op_type not in _KEEPING_LEVELS:
            quantizes = node.op_type.startswith(_QUANTIZERS) and name == node.output[0]
            return step if quantizes else 0.0
        name = node.input[0]
    return 0.0


def _elements(graph: GraphProto, makers: Mapping[str, NodeProto], name: str) -> Array | None:
    """The elements of a constant of the graph."""
    import onnx  # noqa: PLC0415 - `import elk` stays small

    node = makers.get(name)
    if node is not None:
        held = [x.t for x in node.attribute if node.op_type == "Constant" and x.name == "value"]
    else:
        held = [x for x in graph.initializer if x.name == name]
    return onnx.numpy_helper.to_array(held[0]).astype(np.float64) if held else None


def _check(model: Model, name: str, got: Array, right: Array, step: float) -> OutputCheck:
    if got.shape != right.shape:
        return OutputCheck(name=name, max_abs_error=math.inf, max_rel_error=math.inf, tolerance=0.0)
    wide, target = got.astype(np.float64), right.astype(np.float64)
    same = (wide == target) | (np.isnan(wide) & np.isnan(target))
    with np.errstate(invalid="ignore"):
        apart = np.where(same, 0.0, np.abs(wide - target))
    largest = float(np.max(apart, initial=0.0))
    largest = math.inf if math.isnan(largest) else largest
    finite = target[np.isfinite(target)]
    scale = float(np.max(np.abs(finite), initial=0.0))
    relative = largest / scale if scale > 0.0 else largest
    rounded = _tolerance(model, got)
    return OutputCheck(
        name=name,
        max_abs_error=largest,
        max_rel_error=relative,
        tolerance=rounded + (step / scale if scale > 0.0 else step),
    )


def _tolerance(model: Model, array: Array) -> float:
    """Roundings grow with the square root of a sum's length, and with every op in a row."""
    name = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16"}.get(
        array.dtype.name
    )
    if name is None:
        return 0.0
    coarsest = max(
        (_STEP[op.compute.name] for op in model.graph.ops if op.compute.name in _STEP),
        default=_STEP[name],
    )
    longest = max(
        (
            math.prod(x.size for x in op.axes if x.role != _core.AxisRole.Parallel)
            for op in model.graph.ops
        ),
        default=1,
    )
    return (
        _ROUNDINGS
        * max(coarsest, _STEP[name])
        * (math.sqrt(longest) + math.sqrt(len(model.graph.ops)))
    )
