"""ONNX's own test models, and what becomes of each of them.

A plan needs shapes that are numbers. Inputs whose values decide shapes (the shape of a Reshape, the
k of a TopK) are given as constants where a case is refused without: such cases are told apart.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from elk.errors import ElkError, UnsupportedModelError
from elk.model.model import Model, load_model
from numpy.typing import NDArray
from onnx import numpy_helper

Array = NDArray[Any]

KINDS = ("node", "real", "simple", "pytorch-converted", "pytorch-operator")
_REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
# ONNX's own stand-ins for published models, whose weights are constants in the graph.
_LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
# The inputs, by position, whose values decide shapes, for each type that has any.
DECIDING: dict[str, tuple[int, ...]] = {
    "AffineGrid": (1,), "BlackmanWindow": (0,), "CenterCropPad": (1,), "Col2Im": (1, 2),
    "ConstantOfShape": (0,), "CumProd": (1,), "CumSum": (1,), "DFT": (1, 2), "Dropout": (1, 2),
    "Expand": (1,), "HammingWindow": (0,), "HannWindow": (0,), "If": (0,), "Loop": (0, 1),
    "MaxUnpool": (2,), "MelWeightMatrix": (0, 1, 2, 3, 4), "OneHot": (1,), "Pad": (1, 3),
    "Range": (0, 1, 2), "Reshape": (1,), "Resize": (1, 2, 3), "STFT": (1, 3),
    "Slice": (1, 2, 3, 4), "Split": (1,), "Squeeze": (1,), "Tile": (1,), "TopK": (1,),
    "Unsqueeze": (1,), "Upsample": (1,), **{f"Reduce{x}": (1,) for x in _REDUCTIONS},
}  # fmt: skip


@cache
def cases(kind: str = "node") -> dict[str, Any]:
    """The cases of one kind by name."""
    from onnx.backend.test import loader  # noqa: PLC0415 it builds all cases, in seconds

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return {case.name: case for case in loader.load_model_tests(kind=kind)}


def proto_of(case: Any) -> onnx.ModelProto | None:
    """The model of a case; None where it would have to be fetched from elsewhere."""
    if case.model is not None:
        proto: onnx.ModelProto = case.model
        return proto
    path = Path(case.model_dir or _LIGHT / f"light_{case.name.removeprefix('test_')}.onnx")
    path = path / "model.onnx" if path.is_dir() else path
    return onnx.load(path, load_external_data=False) if path.exists() else None


def array_of(x: Any) -> Array:
    return np.asarray(numpy_helper.to_array(x) if isinstance(x, onnx.TensorProto) else x)


def data_of(case: Any, proto: onnx.ModelProto) -> tuple[list[Any], list[Any]]:
    """The inputs and outputs of a case: tensors, or what is none; nothing where it has none."""
    if case.data_sets:
        given, wanted = case.data_sets[0]
        return list(given), list(wanted)
    if not case.model_dir:
        return [], []
    folder = Path(case.model_dir) / "test_data_set_0"
    return _read(folder, "input", _inputs(proto)), _read(folder, "output", proto.graph.output)


def _inputs(proto: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    """The inputs of a model that have no value in the file."""
    inline = {x.name for x in proto.graph.initializer}
    return [x for x in proto.graph.input if x.name not in inline]


def are_tensors(values: list[Any]) -> bool:
    """Whether all of `values` are tensors."""
    return not any(isinstance(x, (list, dict, type(None))) for x in values)


def feeds_of(case: Any, proto: onnx.ModelProto) -> dict[str, Array]:
    """The inputs of a case that are tensors; none where it comes without."""
    names = [x.name for x in _inputs(proto)]
    return {
        name: array_of(x)
        for name, x in zip(names, data_of(case, proto)[0], strict=False)
        if are_tensors([x])
    }


def _read(folder: Path, what: str, values: Iterable[onnx.ValueInfoProto]) -> list[Any]:
    """The values of a case that lie in files; None for those that are no tensors."""
    out: list[Any] = []
    for i, value in enumerate(values):
        path = folder / f"{what}_{i}.pb"
        tensor = onnx.TensorProto()
        if value.type.HasField("tensor_type") and path.exists():
            tensor.ParseFromString(path.read_bytes())
        out.append(tensor if tensor.data_type else None)
    return out


def deciding(name: str, proto: onnx.ModelProto) -> set[str]:
    """The inputs of a case whose values decide shapes.

    A case whose node is replaced by others has the inputs of the one that it was made from.
    """
    base = cases().get(name.partition("_expanded")[0])
    source = proto if base is None else base.model
    places = {x.name: i for i, x in enumerate(source.graph.input)}
    found = set()
    for node in source.graph.node:
        for slot in DECIDING.get(node.op_type, ()):
            if slot < len(node.input) and node.input[slot] in places:
                found.add(places[node.input[slot]])
    return {x.name for i, x in enumerate(proto.graph.input) if i in found}


def with_constants(
    proto: onnx.ModelProto, feeds: Mapping[str, Array], names: set[str]
) -> onnx.ModelProto:
    """The model with the inputs called `names` as constants, as exporters write them."""
    out = onnx.ModelProto()
    out.CopyFrom(proto)
    del out.graph.input[:]
    for value in proto.graph.input:
        if value.name in names:
            out.graph.initializer.append(numpy_helper.from_array(feeds[value.name], value.name))
        else:
            out.graph.input.append(value)
    return out


@dataclass(frozen=True)
class Outcome:
    """What became of a case.

    Attributes:
        model: The model; None where it is refused.
        constants: Whether inputs that decide shapes had to be constants.
        reason: Why it is refused.
    """

    model: Model | None
    constants: bool = False
    reason: str = ""

    @property
    def kind(self) -> str:
        """planned, view, folded, opaque or refused."""
        if self.model is None:
            return "refused"
        ops = [op for op in self.model.graph.ops if op.onnx_type != "Copy"]
        if any(op.kind.name == "Opaque" for op in ops):
            return "opaque"
        if ops:
            return "planned"
        return "view" if self.model.facts.views else "folded"

    @property
    def op_kinds(self) -> set[str]:
        """The kinds of its ops."""
        return set() if self.model is None else set(self.model.facts.ops_by_kind)


def _spelled(error: ElkError) -> str:
    """The reason of a refusal: of the last node, if it lists several."""
    return error.message.splitlines()[-1].rpartition("): ")[2].strip() or error.message


def outcome(case: Any) -> Outcome:
    """Loads a case: as it stands, then with constants where they decide shapes."""
    proto = proto_of(case)
    if proto is None:
        return Outcome(None, reason="its file is not part of the onnx package")
    feeds = feeds_of(case, proto)
    reason: ElkError
    try:
        return Outcome(load_model(proto))
    except ElkError as error:
        reason = error
    if not isinstance(reason, UnsupportedModelError):
        return Outcome(None, reason=_spelled(reason))
    numbers = {name for name, x in feeds.items() if x.dtype.kind in "iub"}
    tries = [
        deciding(case.name, proto) & set(feeds),
        numbers - {x.name for x in proto.graph.input[:1]},
    ]
    for names in filter(None, tries):
        try:
            return Outcome(load_model(with_constants(proto, feeds, names)), constants=True)
        except ElkError as error:
            reason = error
    return Outcome(None, reason=_spelled(reason))


@cache
def outcome_of(kind: str, name: str) -> Outcome:
    """What became of a case, which several tests ask."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return outcome(cases(kind)[name])


def is_numeric(proto: onnx.ModelProto | None) -> bool:
    """Whether all inputs and outputs are tensors of numbers or truth values."""
    if proto is None:
        return False
    return all(
        value.type.HasField("tensor_type")
        and value.type.tensor_type.elem_type not in {0, onnx.TensorProto.STRING}
        for value in (*proto.graph.input, *proto.graph.output)
    )


def type_of(case: Any, proto: onnx.ModelProto | None) -> str:
    """The operator type that a case is about: of its node, or of the one it was made from."""
    if proto is None:
        return "real models"
    base = cases().get(case.name.partition("_expanded")[0])
    nodes = (proto if base is None else base.model).graph.node
    own = [x for x in nodes if x.op_type not in {"Constant", "Identity"}] or list(nodes)
    node = own[0] if len(own) == 1 else own[-1]
    return node.op_type if node.domain in {"", "ai.onnx"} else f"{node.domain}.{node.op_type}"
