"""Running a plan with real numbers: arrays by name in, arrays by name out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elk import _core
from elk.emulation.compared import OutputCheck, compared
from elk.emulation.elements import numpy_type, unpacked
from elk.emulation.parts import EmulatedPlan, Tape, parts_of, run_parts
from elk.errors import InvalidInputError
from elk.frontend.read.bind import inputs_of_one_element

if TYPE_CHECKING:
    from onnx import ModelProto

    from elk.frontend.views.values import Value
    from elk.frontend.views.views import View
    from elk.model.model import Model

Array = NDArray[Any]


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
    fed = {**fed, **_bound(model, fed)}
    held = {name: np.asarray(array) for name, array in (weights or {}).items()}
    arrays = _given(model, fed, held)
    outputs, tapes = _run(plan, arrays)
    checks = compared(model, _file(model), outputs, fed, arrays) if check else ()
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


def _bound(model: Model, fed: Mapping[str, Array]) -> dict[str, Array]:
    """The inputs whose values were bound when the model was loaded: no others can be fed."""
    found = {}
    for name, like in inputs_of_one_element(_file(model).graph).items():
        if name not in model.bindings:
            continue
        found[name] = np.full(like.shape, model.bindings[name]).astype(like.dtype)
        if name in fed and np.any(fed[name] != found[name]):
            raise InvalidInputError(
                f"'{name}' is bound to {model.bindings[name]}, and fed {fed[name].tolist()}",
                code="emulate_input",
                remedy="leave it out, or load the model with another binding",
            )
    return found


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
            array = unpacked(known[0], tensor.dtype.name, math.prod(shape))
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
    shown = {t.name for value in model.outputs for piece in value.pieces for t in piece.tensors}
    for name in sorted(shown & inputs.keys() - arrays.keys()):  # No op reads these states.
        arrays[name] = inputs[name]
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
    pieces = [piece for value in plan.model.outputs for piece in value.pieces]
    seen = {t.name for piece in pieces for t in piece.tensors} - set(plan.model.constants)
    found, tapes = run_parts(parts_of(plan), plan.chip, plan.program, arrays, seen - set(arrays))
    known = {**plan.model.constants, **arrays, **found}
    names = [x.name for x in _file(plan.model).graph.output]
    outputs = {
        name: _assembled(value, known)
        for name, value in zip(names, plan.model.outputs, strict=True)
    }
    return outputs, tapes


def _looked_up(array: Array, view: View, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """The elements that a view of a tensor holds, in order, and which of them it has."""
    atoms = [atom for dim in view.dims for atom in dim]
    ones = (1,) * len(atoms)
    inside: Array = np.ones(ones, dtype=bool)
    index = []
    for d, size in enumerate(shape):
        at: Array = np.full(ones, view.offsets[d])
        for i, atom in enumerate(atoms):
            line = np.arange(atom.size) * atom.coefs[d]
            at = at + line.reshape([-1 if j == i else 1 for j in range(len(atoms))])
        inside = inside & (at >= 0) & (at < size)
        index.append(np.clip(at, 0, size - 1))
    found = array[tuple(index)] if index else array
    whole = [atom.size for atom in atoms]
    return np.broadcast_to(found, whole).reshape(-1), np.broadcast_to(inside, whole).reshape(-1)


def _assembled(value: Value, known: Mapping[str, Array]) -> Array:
    """A graph output: views of tensors put together."""
    out: Array | None = None
    for piece in value.pieces:
        full, inside = _looked_up(known[piece.tensor.name], piece.view, piece.tensor.shape)
        if piece.mask is not None:
            inside, _ = _looked_up(
                known[piece.mask.tensor.name], piece.mask.view, piece.mask.tensor.shape
            )
        out = full if out is None else np.where(inside, full, out)
    if out is None:
        return np.zeros(value.shape, dtype=numpy_type(value.dtype))
    return np.array(out.reshape(value.shape))  # A number stays one, without dimensions.
