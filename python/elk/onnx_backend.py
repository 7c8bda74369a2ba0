"""ONNX's standard Backend: `prepare` plans a model on a chip, `run` emulates the plan.

As in other backends, the functions of the class are the module's, too.

Example:
    >>> elk.onnx_backend.supports_device("CPU")
    True
    >>> model = onnx.load("models/nerf.onnx", load_external_data=False)
    >>> elk.onnx_backend.prepare(model, bindings={"rows": 64}).plan.policy
    'basic'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper
from onnx.backend.base import Backend, BackendRep

from elk.errors import UnsupportedModelError
from elk.plan.plan import Plan
from elk.plan.planning import compile

Array = NDArray[Any]

__all__ = [
    "ElkBackend",
    "ElkRep",
    "is_compatible",
    "prepare",
    "run_model",
    "run_node",
    "supports_device",
]


class ElkRep(BackendRep):
    """A model that is planned on a chip.

    Attributes:
        plan: The plan; None until `run` where the values of inputs decide shapes.
    """

    def __init__(self, proto: onnx.ModelProto, options: Mapping[str, Any]) -> None:
        self.plan: Plan | None = None
        self._proto, self._options = proto, dict(options)
        inline = {x.name for x in proto.graph.initializer}
        self._names = [x.name for x in proto.graph.input if x.name not in inline]
        try:
            self.plan = compile(proto, **self._options)
        except UnsupportedModelError:
            if not self._names:
                raise

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Array, ...]:
        """The outputs in their order, emulated.

        Args:
            inputs: Arrays in the order of the model's inputs, or by name.
            kwargs: None are known.

        Raises:
            UnsupportedModelError: the model cannot be planned, even with its integers known.
            InvalidInputError: an operator has no kernel, or an input is missing.
        """
        del kwargs
        given = self._named(inputs)
        plan = self.plan
        if plan is None:
            plan = compile(_with_constants(self._proto, given), **self._options)
            given = {x: a for x, a in given.items() if a.dtype.kind not in "iub"}
        return tuple(plan.emulate(given).values())

    def _named(self, inputs: Any) -> dict[str, Array]:
        if isinstance(inputs, Mapping):
            return {name: np.asarray(array) for name, array in inputs.items()}
        arrays: Sequence[Any] = inputs if isinstance(inputs, (list, tuple)) else [inputs]
        return {n: np.asarray(a) for n, a in zip(self._names, arrays, strict=False)}


class ElkBackend(Backend):
    """Plans models and emulates the plans, by ONNX's interface.

    Example:
        >>> elk.onnx_backend.ElkBackend.supports_device("CUDA")
        False
    """

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether `model` can be planned."""
        try:
            cls.prepare(model, device, **kwargs)
        except ValueError:
            return False
        return True

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> ElkRep:
        """Plans a model on a small chip; keywords are those of `elk.compile`, and `chip`.

        Raises:
            InvalidInputError: the model cannot be planned; the message says why.
        """
        del device
        policy = {} if "options" in kwargs else {"policy": "basic"}
        return ElkRep(model, {"chip": "tiny", **policy, **kwargs})

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Only the processor that emulates."""
        return device == "CPU"


is_compatible = ElkBackend.is_compatible
prepare = ElkBackend.prepare
run_model = ElkBackend.run_model
run_node = ElkBackend.run_node
supports_device = ElkBackend.supports_device


def _with_constants(proto: onnx.ModelProto, given: Mapping[str, Array]) -> onnx.ModelProto:
    """The model with its inputs of integers as constants: they may decide shapes."""
    out = onnx.ModelProto()
    out.CopyFrom(proto)
    del out.graph.input[:]
    for value in proto.graph.input:
        if value.name in given and given[value.name].dtype.kind in "iub":
            out.graph.initializer.append(numpy_helper.from_array(given[value.name], value.name))
        else:
            out.graph.input.append(value)
    return out
