"""How large a model may be before it is refused: bounds on work and memory, all in one place."""

from __future__ import annotations

import operator
from dataclasses import dataclass, fields
from typing import SupportsIndex, cast

from elk.errors import InvalidInputError, LimitError

# Beyond these, sums and products that the core forms of sizes might not fit 64 bits.
_MOST = {"rank": 32, "dimension": 1 << 50, "tensor_bytes": 1 << 50, "subgraph_depth": 32}
_MOST_OF_ANY = 1 << 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a model may have at most; one that has more is refused with a `LimitError`.

    Each limit is checked before the memory is taken or the work is done that it bounds. The
    defaults let every published model through; raise one for a model that is meant to be larger.

    Example:
        >>> elk.load_model("models/nerf.onnx", bindings={"rows": 8}, limits=elk.Limits(nodes=20))
        <Model nerf(rows=8): 13 ops, 48.4 KiB of weights, 0.0 GFLOP, 5 x 2 ops from op 1 on>

    Attributes:
        file_bytes: Bytes of the file. Larger files hold weights, which can be external data.
        memory_bytes: Bytes that the parsed file takes, tensor data aside, and as many again for
            the elements of folded tensors.
        nodes: Nodes of all graphs, functions inlined and loops unrolled.
        initializers: Initializers, inputs and outputs of all graphs.
        operands: Inputs of one node; also its outputs, and its attributes.
        rank: Dimensions of one tensor.
        dimension: Positions of one dimension.
        tensor_bytes: Bytes of one tensor, wherever it lies.
        folded_elements: Elements of a tensor that is computed while the model is read.
        folded_total: Elements that folding reads in all; of one tensor `folded_elements` count.
        subgraph_depth: Graphs within graphs, and functions that call functions.
        name_length: Characters of one name or dimension expression.
        plan_bytes: Bytes of a plan or trace file, unpacked.
    """

    file_bytes: int = 2_000_000_000
    memory_bytes: int = 256 << 20
    nodes: int = 200_000
    initializers: int = 400_000
    operands: int = 1_024
    rank: int = 16
    dimension: int = 1 << 40
    tensor_bytes: int = 1 << 40
    folded_elements: int = 1 << 20
    folded_total: int = 1 << 30
    subgraph_depth: int = 32
    name_length: int = 1_024
    plan_bytes: int = 1 << 30

    def __post_init__(self) -> None:
        for field in fields(self):
            _check(field.name, getattr(self, field.name))

    def check(self, limit: str, found: int, what: str, place: str | None = None) -> None:
        """Refuses `found` of what the field called `limit` bounds.

        Args:
            limit: The name of a field.
            found: How many there are, or how many there would be.
            what: What is counted, as the subject of a sentence.
            place: Where it is written.

        Raises:
            LimitError: There are more than the limit.

        Example:
            >>> elk.Limits().check("rank", 4, "a tensor's dimensions")
        """
        most = getattr(self, limit)
        if found > most:
            raise LimitError(
                f"{what} must be at most {most:,} (limit '{limit}'), got {found:,}",
                place=place,
                remedy=f"check the model; if it is meant, pass limits=elk.Limits({limit}=...), "
                f"or --limit {limit}=...",
            )


def _check(name: str, value: object) -> None:
    most = _MOST.get(name, _MOST_OF_ANY)
    try:
        number = -1 if isinstance(value, bool) else operator.index(cast("SupportsIndex", value))
    except TypeError:
        number = -1
    if not 1 <= number <= most:
        raise InvalidInputError(
            f"limit '{name}' must be an integer from 1 to {most:,}, got {value!r}",
            code="invalid_limit",
            place=f"limits.{name}",
            remedy=f"leave it out for {Limits.__dataclass_fields__[name].default:,}",
        )


DEFAULT = Limits()
