"""Running a plan with real numbers: arrays by name in, arrays by name out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elk import _core
from elk.emulation import reference
from elk.emulation.elements import numpy_type
from elk.emulation.parts import EmulatedPlan, Tape, parts_of, run_parts
from elk.errors import InvalidInputError

if TYPE_CHECKING:
    from onnx import ModelProto

    from elk.frontend.views.values import Value
    from elk.model.model import Model

Array = NDArray[Any]

# Of a result's type, the distance from one to the next number.
_STEP: Final = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}
_ROUNDINGS: Final = 8.0  # Allowed for each of the roundings that an output goes through.


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputCheck:
    """One output beside ONNX Runtime's.

    Attributes:
        name: The output.
        max_abs_error: The largest difference.
        max_rel_error: The same over the largest magnitude of ONNX Runtime's output.
        tolerance: What `max_rel_error` may be: from the element type, the longest sum and the
            number of operators; 0 for integers and truth values.
    """

    name: str
    max_abs_error: float
    max_rel_error: float
    tolerance: float

    @property
    def passed(self) -> bool:
        """Whether the outputs agree."""
        return self.max_rel_error <= self.tolerance


class Emulation(Mapping[str, Array]):
    """The outputs of an emulated plan, by name.

    Attributes:
        checks: How they compare with ONNX Runtime's; empty unless asked for.
        tapes: For each chip what its cores received, in columns: `core`, `action` (of
            `elk._core.Action`), `op`, `step`, `operand`, `sender` (-1: all cores, -2: HBM,
            -3: another chip) and `bytes`.
    """

    def __init__(
        self,
        outputs: Mapping[str, Array],
        checks: tuple[OutputCheck, ...] = (),
        tapes: tuple[Tape, ...] = (),
    ) -> None:
        self._outputs = dict(outputs)
        self.checks = checks
        self.tapes = tapes

    @property
    def passed(self) -> bool:
        """Whether all outputs that were compared agree."""
        return all(check.passed for check in self.checks)

    def __getitem__(self, name: str) -> Array:
        return self._outputs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._outputs)

    def __len__(self) -> int:
        return len(self._outputs)

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name}: {array.shape}" for name, array in self._outputs.items())
        compared = ""
        if self.checks:
            worst = max(check.max_rel_error for check in self.checks)
            compared = (
                f"; {'agrees' if self.passed else 'DISAGREES'} with ONNX Runtime, {worst:.1e}"
            )
        return f"<Emulation {shapes}{compared}>"


def emulate(
    plan: EmulatedPlan,
    inputs: Mapping[str, ArrayLike],
    weights: Mapping[str, ArrayLike] | None,
    *,
    check: bool,
) -> Emulation:
    """What `Plan.emulate` does."""
    model = plan.model
    fed = {name: np.asarray(array) for name, array in inputs.items()}
    held = {name: np.asarray(array) for name, array in (weights or {}).items()}
    arrays = _given(model, fed, held)
    outputs, tapes = _run(plan, arrays)
    checks = _compared(model, outputs, fed, arrays) if check else ()
    return Emulation(outputs, checks, tapes)


def _file(model: Model) -> ModelProto:
    """The model as it was read, which those from another process may lack."""
    if model.proto is None:
        raise InvalidInputError(
            "the model has neither its ONNX file nor the elements of its weights: they are large, "
            "and stayed in the process that loaded it",
            code="emulate_input",
            remedy="load the model in the process that emulates its plans",
        )
    return model.proto


def _given(
    model: Model, inputs: Mapping[str, Array], weights: Mapping[str, Array]
) -> dict[str, Array]:
    """The elements of every tensor that no op makes."""
    fed = {x.name for x in _file(model).graph.input}
    unknown = sorted(set(inputs) - fed)
    if unknown:
        raise InvalidInputError(
            f"the model has no input {', '.join(map(repr, unknown))}; it has "
            f"{', '.join(map(repr, sorted(fed)))}",
            code="emulate_input",
        )
    arrays: dict[str, Array] = {}
    missing = []
    made = {
        x.tensor for op in model.graph.ops for x in op.operands if x.access == _core.Access.Write
    }
    for number, tensor in enumerate(model.graph.tensors):
        if number in made:
            continue
        name, shape = tensor.name, tuple(tensor.shape)
        known = [given[name] for given in (weights, inputs, model.constants) if name in given]
        if known:
            array = known[0]
            if math.prod(array.shape) != math.prod(shape):
                raise InvalidInputError(
                    f"'{name}' has the shape {list(array.shape)}, not {list(shape)}",
                    code="emulate_input",
                )
            arrays[name] = array.reshape(shape)
        elif name in fed:
            missing.append(name)
        else:
            arrays[name] = seeded(name, shape, tensor.dtype.name)
    if missing:
        raise InvalidInputError(
            f"inputs without a value: {', '.join(map(repr, sorted(missing)))}",
            code="emulate_input",
            remedy="give each of them an array, by name",
        )
    return arrays


def seeded(name: str, shape: tuple[int, ...], dtype: str) -> Array:
    """Random elements that follow from a weight's name; wide integers count from zero."""
    rng = np.random.default_rng([*name.encode()])
    kind = np.dtype(numpy_type(dtype))
    if dtype[0] in "iub":
        if dtype in {"i64", "i32"}:
            return np.arange(math.prod(shape), dtype=kind).reshape(shape)
        return rng.integers(0, 2 if dtype == "bool" else 8, shape).astype(kind)
    fan = shape[-2] if len(shape) > 1 and shape[-2] > 1 else 4
    return (rng.standard_normal(shape, dtype=np.float32) / math.sqrt(fan)).astype(kind)


def _run(plan: EmulatedPlan, arrays: dict[str, Array]) -> tuple[dict[str, Array], tuple[Tape, ...]]:
    seen = {piece.tensor.name for value in plan.model.outputs for piece in value.pieces}
    found, tapes = run_parts(parts_of(plan), plan.chip, plan.program, arrays, seen - set(arrays))
    known = {**plan.model.constants, **arrays, **found}
    names = [x.name for x in _file(plan.model).graph.output]
    outputs = {
        name: _assembled(value, known)
        for name, value in zip(names, plan.model.outputs, strict=True)
    }
    return outputs, tapes


def _assembled(value: Value, known: Mapping[str, Array]) -> Array:
    """A graph output: views of tensors put together."""
    out: Array | None = None
    for piece in value.pieces:
        atoms = [atom for dim in piece.view.dims for atom in dim]
        ones = (1,) * len(atoms)
        inside: Array = np.ones(ones, dtype=bool)
        index = []
        for d, size in enumerate(piece.tensor.shape):
            at: Array = np.full(ones, piece.view.offsets[d])
            for i, atom in enumerate(atoms):
                line = np.arange(atom.size) * atom.coefs[d]
                at = at + line.reshape([-1 if j == i else 1 for j in range(len(atoms))])
            inside = inside & (at >= 0) & (at < size)
            index.append(np.clip(at, 0, size - 1))
        array = known[piece.tensor.name]
        found = array[tuple(index)] if index else array
        full = np.broadcast_to(found, [atom.size for atom in atoms])
        out = full if out is None else np.where(inside, full, out)
    if out is None:
        return np.zeros(value.shape, dtype=numpy_type(value.dtype))
    return np.array(out.reshape(value.shape))  # A number stays one, without dimensions.


def _compared(
    model: Model,
    outputs: Mapping[str, Array],
    inputs: Mapping[str, Array],
    arrays: Mapping[str, Array],
) -> tuple[OutputCheck, ...]:
    wanted = reference.run(_filled(_file(model), arrays).SerializeToString(), inputs)
    return tuple(_check(model, name, outputs[name], right) for name, right in wanted.items())


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
            array = arrays[tensor.name].reshape(shape).astype(dtype)
        else:  # The tensor became a constant of an op, or nothing needs it.
            array = np.zeros(shape, dtype=dtype)
        tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
    return copy


def _check(model: Model, name: str, got: Array, right: Array) -> OutputCheck:
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
    return OutputCheck(
        name=name, max_abs_error=largest, max_rel_error=relative, tolerance=_tolerance(model, got)
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
