"""The tables of a chip file: cores, their network, memories."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictStr,
    model_validator,
)

from elk import _core
from elk.base import quantity
from elk.errors import InvalidInputError

SCHEMA = "elk.chip/1"

Size = Annotated[
    int, BeforeValidator(lambda value: quantity.parse(value, quantity.BYTES)), quantity.BYTES
]
Rate = Annotated[
    float,
    BeforeValidator(lambda value: quantity.parse(value, quantity.BYTES_PER_S)),
    quantity.BYTES_PER_S,
]
Time = Annotated[
    float, BeforeValidator(lambda value: quantity.parse(value, quantity.SECONDS)), quantity.SECONDS
]
Frequency = Annotated[
    float, BeforeValidator(lambda value: quantity.parse(value, quantity.HERTZ)), quantity.HERTZ
]
Picojoules = Annotated[
    float,
    BeforeValidator(lambda value: quantity.parse(value, quantity.PICOJOULES)),
    quantity.PICOJOULES,
]
Watts = Annotated[
    float, BeforeValidator(lambda value: quantity.parse(value, quantity.WATTS)), quantity.WATTS
]


def _encodable(text: str) -> str:
    """`text`, which must have no half of a pair of surrogates: nothing could write it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInputError(
            f"must be text that UTF-8 can hold, got {text!a}", remedy="write it in plain letters"
        ) from None
    return text


Text = Annotated[StrictStr, AfterValidator(_encodable)]
Count = Annotated[int, BeforeValidator(quantity.count)]
Topology = Literal["all_to_all", "mesh2d", "torus2d", "ring", "mesh3d", "groups"]
Position = Literal["nodes", "edges_left_right", "edges_all"]

_TOPOLOGIES = {
    "all_to_all": _core.Topology.AllToAll,
    "mesh2d": _core.Topology.Mesh2d,
    "torus2d": _core.Topology.Torus2d,
    "ring": _core.Topology.Ring,
    "mesh3d": _core.Topology.Mesh3d,
    "groups": _core.Topology.Groups,
}
_POSITIONS = {
    "nodes": _core.HbmPosition.Nodes,
    "edges_left_right": _core.HbmPosition.EdgesLeftRight,
    "edges_all": _core.HbmPosition.EdgesAll,
}


class Table(BaseModel):
    """A table of a chip file: frozen, and no key but its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def default_port_rate(hbm: Mapping[str, Any]) -> float:
    """Rate of one module's port where none is given: its share, in bytes a second.

    Not a number where the fields it follows from are missing: they have a complaint of their own.
    """
    modules = hbm.get("modules") or math.nan
    return float(hbm.get("bytes_per_s", math.nan) / modules)


class Core(Table):
    """The cores of one chip, all alike.

    Attributes:
        count: Cores of one chip; None where `grid` says it.
        grid: Rows and columns of cores on a mesh or a torus, on a mesh3d with layers after them;
            rows and columns of groups; None elsewhere.
        sram_bytes: SRAM of one core.
        reserved_bytes: The part of it that plans may not use.
        clock_hz: Clock frequency.
        sram_bytes_per_s: Rate of the SRAM port of one core.
        remote_access_blocks: Whether a byte that arrives or leaves delays the compute unit.
        tile_model: The tile-time model of these cores.
    """

    count: Count | None = Field(None, examples=[1472])
    grid: tuple[Count, ...] | None = Field(None, min_length=2, max_length=3, examples=[[46, 32]])
    sram_bytes: Size
    reserved_bytes: Size = 8192
    clock_hz: Frequency
    sram_bytes_per_s: Rate = Field(examples=["21.3 GB/s"])
    remote_access_blocks: StrictBool
    tile_model: Text = Field(examples=["ipu-mk2"])

    @property
    def cores(self) -> int:
        """Cores of one chip."""
        return self.count if self.count is not None else math.prod(self.grid or (0,))

    @model_validator(mode="after")
    def _has_cores(self) -> Self:
        if self.count is None and self.grid is None:
            raise InvalidInputError(
                "must say how many cores there are",
                remedy="add count = 1472, or grid = [46, 32] on a mesh or torus, for example",
            )
        return self

    def to_core(self, group_cores: int | None = None) -> _core.Core:
        """The core's own struct, of cores that lie in groups of so many, if they do."""
        rows, cols, *layers = self.grid or (0, 0)
        if layers and group_cores:
            raise InvalidInputError(
                f"core.grid must be [rows, cols] of groups, got {list(self.grid or ())}"
            )
        depth = layers[0] if layers else group_cores or 0
        fields = self.model_dump(exclude={"count", "grid"})
        return _core.Core(count=self.cores, rows=rows, cols=cols, depth=depth, **fields)


class Interconnect(Table):
    """The network of one chip.

    Attributes:
        topology: How cores are connected.
        group_cores: Cores of a group, each of which reaches every other through its ports; None
            where there are no groups.
        link_bytes_per_s: Rate of one core's send port and of its receive port on all-to-all and
            within a group, of each directed link elsewhere.
        hop_latency_s: Latency of a hop over a link.
        sync_latency_s: Cost of one exchange, whatever its bytes.
        fragment_latency_s: Cost of one contiguous run received from one sender.
        multicast: Whether a sender reaches several receivers with one transfer.
        overlaps_compute: Whether a core computes while it exchanges.
        native_shift: Whether a shift needs no local copy.
        node_ports: Ports of a node into a mesh, torus or ring, and as many out of it, each as fast
            as a link; None: one for each of its links. `play_transfers` and the fidelity `flows`
            count them.
    """

    topology: Topology
    group_cores: Count | None = Field(None, examples=[8])
    link_bytes_per_s: Rate
    hop_latency_s: Time
    sync_latency_s: Time
    fragment_latency_s: Time
    multicast: StrictBool
    overlaps_compute: StrictBool = False
    native_shift: StrictBool = False
    node_ports: Count | None = None

    @model_validator(mode="after")
    def _has_groups(self) -> Self:
        if (self.topology == "groups") != (self.group_cores is not None):
            raise InvalidInputError(
                "must have group_cores if, and only if, its topology is groups",
                remedy="add group_cores = 8, for example, or leave it out on other topologies",
            )
        return self

    def to_core(self) -> _core.Interconnect:
        """The core's own struct."""
        fields = self.model_dump(exclude={"topology", "group_cores"})
        return _core.Interconnect(topology=_TOPOLOGIES[self.topology], **fields)


class Hbm(Table):
    """The memory modules of one chip.

    Attributes:
        modules: Modules of one chip.
        bytes_per_s: Rate of one chip's modules together, between refreshes.
        port_bytes_per_s: Rate of one module's port; by default its share of `bytes_per_s`.
        latency_s: Latency of a read after the HBM was idle.
        channels: Channels of one module.
        refresh_interval_s: Time between refreshes; 0 for none.
        refresh_stall_s: How long a refresh stops the HBM.
        outstanding_bytes: Bytes that one channel may have in flight.
        capacity_bytes: Bytes of one chip's modules together.
        position: Where modules are attached; "nodes" of their own on all-to-all.
    """

    modules: Count = Field(examples=[4])
    bytes_per_s: Rate = Field(examples=["4 TB/s"])
    port_bytes_per_s: Rate = Field(default_factory=default_port_rate, examples=["1 TB/s"])
    latency_s: Time = Field(examples=["100 ns"])
    channels: Count = Field(examples=[16])
    refresh_interval_s: Time = Field(0.0, examples=["3.9 us"])
    refresh_stall_s: Time = Field(0.0, examples=["390 ns"])
    outstanding_bytes: Size = Field(examples=["16 KiB"])
    capacity_bytes: Size = Field(examples=["96 GB"])
    position: Position

    def to_core(self) -> _core.Hbm:
        """The core's own struct."""
        fields = self.model_dump(exclude={"position"})
        return _core.Hbm(position=_POSITIONS[self.position], **fields)


class InterChip(Table):
    """The network between chips.

    Attributes:
        bytes_per_s: Rate of one chip and direction.
        latency_s: Latency of a transfer between chips.
        sync_latency_s: Cost of a synchronisation across chips.
        port_cores: Cores of one chip that reach other chips; by default all.
        topology: How chips are connected.
    """

    bytes_per_s: Rate = Field(examples=["160 GB/s"])
    latency_s: Time = Field(examples=["500 ns"])
    sync_latency_s: Time = Field(examples=["111 ns"])
    port_cores: Count = Field(examples=[1472])
    topology: Literal["all_to_all", "ring", "mesh2d"]

    def to_core(self) -> _core.InterChip:
        """The core's own struct."""
        fields = self.model_dump(exclude={"topology"})
        return _core.InterChip(topology=_TOPOLOGIES[self.topology], **fields)


class Host(Table):
    """The link to the host: bytes a second in one direction."""

    bytes_per_s: Rate = Field(examples=["16 GB/s"])


class Energy(Table):
    """What work costs, in picojoules, and what idling costs, in watts a chip."""

    pj_per_flop: Picojoules
    pj_per_sram_byte: Picojoules
    pj_per_link_byte_hop: Picojoules
    pj_per_hbm_byte: Picojoules
    pj_per_inter_chip_byte: Picojoules
    static_w: Watts

    def to_core(self) -> _core.Energy:
        """The core's own struct."""
        return _core.Energy(**self.model_dump())


def _total(unit: quantity.Unit) -> BeforeValidator:
    """A quantity above zero, or none."""

    def parsed(value: object) -> int | float | None:
        if value is None:
            return None
        number = quantity.parse(value, unit)
        if number > 0:
            return number
        raise InvalidInputError(
            f"must be above zero, got {value!r}", remedy="leave out what is not published"
        )

    return BeforeValidator(parsed)


class Published(Table):
    """Totals of one chip as a source gives them; no part of the machine that is planned for.

    Attributes:
        matrix_flops_per_s: Dense f16 or bf16 matrix products, a multiply-add counted as two.
        memory_bytes_per_s: Rate of the memory that models live in: HBM, else SRAM.
        sram_bytes: SRAM of all cores.
        tdp_w: The power that it is cooled for; nothing here is compared with it.
        source: Who says so.
        note: Why the chip that is planned for differs, if it does.
    """

    matrix_flops_per_s: Annotated[
        float | None, _total(quantity.FLOPS_PER_S), quantity.FLOPS_PER_S
    ] = None
    memory_bytes_per_s: Annotated[
        float | None, _total(quantity.BYTES_PER_S), quantity.BYTES_PER_S
    ] = None
    sram_bytes: Annotated[int | None, _total(quantity.BYTES), quantity.BYTES] = None
    tdp_w: Annotated[float | None, _total(quantity.WATTS), quantity.WATTS] = None
    source: Text = Field(examples=["the vendor's data sheet"])
    note: Text | None = Field(None, examples=["one row of cores dispatches"])

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.tdp_w is None and not self.totals():
            raise InvalidInputError(
                "must give a total", remedy='write sram_bytes = "20 MiB", for example'
            )
        return self

    def totals(self) -> dict[str, float]:
        """The totals that are published, by field, but for `tdp_w`."""
        given = self.model_dump(exclude={"tdp_w", "source", "note"}, exclude_none=True)
        return {name: float(value) for name, value in given.items()}
