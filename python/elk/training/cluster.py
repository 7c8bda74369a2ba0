"""Clusters of GPUs: nodes of equal devices, and what kernels and links reach on them."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from elk.base import quantity
from elk.chip.check import ChipError, complaints_of_pydantic
from elk.chip.chip import Chip
from elk.chip.confidence import Confidence, flat
from elk.chip.tables import Count, Rate, Size, Table, Text, Time
from elk.errors import InvalidInputError

SCHEMA: Final = "elk.cluster/1"

_Flops = Annotated[
    float,
    BeforeValidator(lambda value: quantity.parse(value, quantity.FLOPS_PER_S)),
    quantity.FLOPS_PER_S,
]


def _share(value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1:
        return float(value)
    raise InvalidInputError(f"must be above 0 and at most 1, got {value!r}")


def _positive(value: Any) -> int:
    counted = quantity.count(value)
    if counted < 1:
        raise InvalidInputError(f"must be at least 1, got {value!r}")
    return counted


def _above_zero(value: float) -> float:
    if value <= 0:
        raise InvalidInputError(f"must be above 0, got {value!r}")
    return value


_Share = Annotated[float, BeforeValidator(_share)]
_Positive = Annotated[Count, BeforeValidator(_positive)]
_Speed = Annotated[Rate, AfterValidator(_above_zero)]


class ClusterGpu(Table):
    """The devices of one node, all alike.

    Attributes:
        count: Devices of a node.
        flops_per_s: Dense products of 16 bits, a multiply-add counted as two.
        memory_bytes: Memory of a device.
        memory_bytes_per_s: Its rate.
        units: Units that compute side by side.
        tile: Rows and columns of a product's result that a unit computes at a time.
        product_share: The share of the peak that large products reach.
        memory_share: The share of the memory's rate that kernels reach.
        launch_s: The time that each kernel takes besides.
    """

    count: _Positive = Field(examples=[8])
    flops_per_s: Annotated[_Flops, AfterValidator(_above_zero)] = Field(examples=["312 TFLOP/s"])
    memory_bytes: Annotated[Size, AfterValidator(_above_zero)] = Field(examples=["80 GB"])
    memory_bytes_per_s: _Speed = Field(examples=["2039 GB/s"])
    units: _Positive = Field(examples=[108])
    tile: tuple[_Positive, _Positive] = Field(examples=[[256, 128]])
    product_share: _Share = Field(examples=[0.74])
    memory_share: _Share = Field(examples=[0.9])
    launch_s: Time = Field(examples=["5 us"])


class ClusterLinks(Table):
    """The links of a device within its node, or between nodes.

    Attributes:
        bytes_per_s: What a device reaches each way.
        latency_s: What a step of a collective takes besides.
    """

    bytes_per_s: _Speed = Field(examples=["235 GB/s"])
    latency_s: Time = Field(examples=["5 us"])


class Cluster(Table):
    """Nodes of equal GPUs, each joined to all others of its node and of other nodes.

    Attributes:
        name: What reports call it.
        nodes: Nodes of the cluster.
        gpu: The devices of one node.
        inside: Links within a node.
        between: Links between nodes; what devices of a node send there shares theirs.
        confidence: Fields that are recalled or assumed.

    Example:
        >>> elk.clusters.get("dgx-a100").devices
        4480
    """

    name: Text = Field(examples=["my-cluster"])
    nodes: _Positive = Field(examples=[16])
    gpu: ClusterGpu
    inside: ClusterLinks
    between: ClusterLinks
    confidence: Confidence | None = Field(None, exclude=True)

    def __init__(self, /, **tables: Any) -> None:
        """Makes a cluster from its tables: dictionaries or models.

        Raises:
            InvalidInputError: A key, a type, a unit or a value is wrong; the message lists all.
        """
        try:
            super().__init__(**tables)
        except ValidationError as error:
            wrong = complaints_of_pydantic(error, type(self), "a cluster file")
            raise ChipError.of(wrong) from None
        if self.confidence:
            self.confidence.check(flat(self.to_dict()))
        self.to_chip()  # The rules of rates and sizes are the core's.

    @property
    def devices(self) -> int:
        """GPUs of all nodes."""
        return self.nodes * self.gpu.count

    def to_dict(self) -> dict[str, Any]:
        """Every field, as SI numbers.

        Example:
            >>> elk.clusters.get("dgx-a100").to_dict()["gpu"]["count"]
            8
        """
        return self.model_dump(mode="json", exclude_none=True)

    def replace(self, **changes: Any) -> Cluster:
        """A cluster with other tables: those given, with the keys given in them.

        Example:
            >>> elk.clusters.get("dgx-a100").replace(gpu={"memory_bytes": "40 GB"}).gpu.memory_bytes
            40000000000

        Raises:
            InvalidInputError: a key is unknown, or the result is no possible cluster.
        """
        tables = self.to_dict()
        for key, value in changes.items():
            both = isinstance(tables.get(key), dict) and isinstance(value, dict)
            tables[key] = {**tables[key], **value} if both else value
        return Cluster(**tables)

    def to_chip(self) -> Chip:
        """The machine that is simulated: nodes are chips, GPUs cores, and memory their SRAM."""
        many = self.nodes > 1
        return Chip(
            name=self.name,
            chips=self.nodes,
            core={
                "count": self.gpu.count,
                "sram_bytes": self.gpu.memory_bytes,
                "reserved_bytes": 0,
                "clock_hz": 1e9,
                "sram_bytes_per_s": self.gpu.memory_bytes_per_s,
                "remote_access_blocks": False,
                "tile_model": "a100",
            },
            interconnect={
                "topology": "all_to_all",
                "link_bytes_per_s": self.inside.bytes_per_s,
                "hop_latency_s": 0,
                "sync_latency_s": self.inside.latency_s,
                "fragment_latency_s": 0,
                "multicast": False,
                "overlaps_compute": True,
            },
            inter_chip={
                "bytes_per_s": self.between.bytes_per_s * self.gpu.count,
                "latency_s": 0,
                "sync_latency_s": self.between.latency_s,
                "port_cores": self.gpu.count,
                "topology": "all_to_all",
            }
            if many
            else None,
            host={"bytes_per_s": 1e9},
        )
