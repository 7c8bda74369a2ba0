"""The hardware that a plan is made for: cores, their network, memories."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping
from numbers import Integral
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationError, model_validator

from elk import _core
from elk.base import quantity
from elk.chip.check import ChipError, complaint_of_core, complaints_of_pydantic, unit_of
from elk.chip.confidence import Confidence, flat
from elk.chip.replace import changed
from elk.chip.tables import (
    SCHEMA,
    Core,
    Count,
    Energy,
    Hbm,
    Host,
    InterChip,
    Interconnect,
    Published,
    Table,
    Text,
)
from elk.chip.write import write_tables
from elk.errors import InvalidInputError


class Chip(Table):
    """A machine of equal chips, valid from the moment it exists.

    Example:
        >>> elk.chips.get("tiny").replace(hbm_bandwidth="128 GB/s").hbm.bytes_per_s
        128000000000.0

    Attributes:
        name: What reports call it.
        chips: Chips of the machine.
        core: The cores of one chip.
        interconnect: The network of one chip.
        hbm: The memory of one chip; None where models live in SRAM.
        inter_chip: The network between chips; None if, and only if, there is one chip.
        host: The link to the host.
        energy: What work and idling cost, where that is known.
        streaming: The preset of the same chip that keeps weights in memory off the chip: what to
            take for a model that SRAM does not hold; None where there is no such preset.
        published: Totals as the vendor gives them, which `elk chip check` compares.
        confidence: Fields that are recalled or assumed.

    The last three are no part of the machine, and so neither of `to_dict` nor of what makes two
    chips equal.
    """

    name: Text = Field(examples=["my-chip"])
    chips: Count = Field(1, examples=[4])
    core: Core
    interconnect: Interconnect
    hbm: Hbm | None = None
    inter_chip: InterChip | None = None
    host: Host
    energy: Energy | None = None
    streaming: Text | None = Field(None, exclude=True, examples=["wse2-streaming"])
    published: Published | None = Field(None, exclude=True)
    confidence: Confidence | None = Field(None, exclude=True)

    def __init__(self, /, **tables: Any) -> None:
        """Makes a chip from its tables: dictionaries or models.

        Raises:
            InvalidInputError: A key, a type, a unit or a value is wrong; the message lists all.
        """
        try:
            super().__init__(**tables)
        except ValidationError as error:
            raise ChipError.of(complaints_of_pydantic(error, type(self))) from None

    @model_validator(mode="before")
    @classmethod
    def _resolve(cls, data: Any) -> Any:
        return _resolved(data) if isinstance(data, dict) else data

    @model_validator(mode="after")
    def _check(self) -> Self:
        try:
            self.to_core()
        except InvalidInputError as error:
            raise ChipError.of([complaint_of_core(error.message, type(self))]) from None
        if self.confidence:
            self.confidence.check(flat(self.to_dict()))
        return self

    def __eq__(self, other: object) -> bool:
        return self.to_dict() == other.to_dict() if isinstance(other, Chip) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.name, self.chips, self.core, self.interconnect, self.hbm))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Chip:
        """The chip that `to_dict` wrote, as the `chip` key of a plan holds it.

        Numbers are SI; texts with a unit are read too.

        Example:
            >>> tiny = elk.chips.get("tiny")
            >>> elk.Chip.from_dict(tiny.to_dict()) == tiny
            True

        Raises:
            InvalidInputError: `data` describes no possible chip.
        """
        return cls(**data)

    def to_dict(self) -> dict[str, Any]:
        """Every resolved field, as SI numbers; tables that the chip does not have are left out.

        Example:
            >>> elk.chips.get("tiny").to_dict()["core"]["sram_bytes"]
            65536
        """
        tables = self.model_dump(mode="json", exclude_none=True)
        return {key: tables[key] for key in type(self).model_fields if key in tables}

    def __reduce__(self) -> tuple[Callable[..., Chip], tuple[dict[str, Any]]]:
        """What is pickled: `to_dict`, and what that leaves out."""
        tables = self.to_dict()
        for key, field in type(self).model_fields.items():
            value = getattr(self, key)
            if field.exclude and value is not None:
                dumped = isinstance(value, Table)
                tables[key] = value.model_dump(mode="json", exclude_none=True) if dumped else value
        return type(self).from_dict, (tables,)

    def replace(self, **changes: Any) -> Chip:
        """A chip that differs in `changes` only.

        Every key of `to_dict` has its own name here (`sram_bytes`, `remote_access_blocks`), with
        its table in front where two tables share it (`hbm_latency_s`); a table may be replaced
        whole (`energy={...}`, `hbm=None`). Besides:

        - `hbm_bandwidth` is that of all chips together, `hbm_bytes_per_s` that of one.
        - `topology="mesh2d"` gives cores that have a count the squarest grid, with HBM on all its
          edges, as do `"mesh3d"` and `"groups"` with `group_cores`; `topology="all_to_all"` undoes
          that.
        - What was a default follows what it depends on: ports of HBM modules their rate, port
          cores the count. With `chips=1` the network between chips goes.

        Quantities are texts with a unit ("24 TB/s") or SI numbers. What changes is no longer
        marked in `confidence`; `published` and `streaming`, which speak of the chip as it was, go.

        Example:
            >>> elk.chips.get("ipu-pod4-hbm").replace(topology="mesh2d").core.grid
            (46, 32)

        Raises:
            InvalidInputError: A key is unknown or ambiguous, or the result is no possible chip.
        """
        before = self.to_dict()
        made = Chip(**changed(before, changes))
        if self.confidence is None:
            return made
        old, new = flat(before), flat(made.to_dict())
        kept = self.confidence.within(key for key in new if new[key] == old.get(key))
        return made.model_copy(update={"confidence": kept})

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the chip as a file that `elk.load_chip` reads: TOML, YAML or JSON by its suffix.

        Every field is written, with its unit; `streaming`, `published` and marks of `confidence`
        are kept. A tile model that is a file is named relative to the folder of `path`.

        Example:
            >>> elk.chips.get("tiny").replace(name="mine").save("mine.yaml")
            >>> elk.load_chip("mine.yaml").name
            'mine'

        Raises:
            ChipFileError: The file cannot be written, or its suffix is none of these formats.
        """
        write_tables(tables_of(self), Path(fspath(path)))

    def to_core(self) -> _core.Chip:
        """The core's own struct, validated."""
        return _core.Chip(
            name=self.name,
            chips=self.chips,
            core=self.core.to_core(self.interconnect.group_cores),
            interconnect=self.interconnect.to_core(),
            hbm=self.hbm.to_core() if self.hbm else None,
            inter_chip=self.inter_chip.to_core() if self.inter_chip else None,
            host_bytes_per_s=self.host.bytes_per_s,
            energy=self.energy.to_core() if self.energy else None,
        )

    @property
    def total_cores(self) -> int:
        """Cores of the whole machine."""
        return self.chips * self.core.cores

    def delivery(self) -> _core.Delivery:
        """What limits preloads into one chip, in bytes a second.

        Example:
            >>> elk.chips.get("ipu-pod4-hbm-mesh").delivery().bound_by
            'injection'

        Raises:
            InvalidInputError: The chip has no HBM.
        """
        return _core.delivery(self.to_core())

    @property
    def bisection_bytes_per_s(self) -> float:
        """Rate from one half of a chip's cores to the other, where the fewest links lead across.

        Example:
            >>> elk.chips.get("ipu-pod4-hbm-mesh").bisection_bytes_per_s
            176000000000.0
        """
        # The core answers for chips with HBM; whichever it is, the bisection is the network's.
        return _core.delivery(
            self.model_copy(update={"hbm": self.hbm or _ANY_HBM}).to_core()
        ).bisection_bytes_per_s

    def __repr__(self) -> str:
        return f"Chip({self.name!r}: {', '.join(self.summary().values())})"

    __str__ = __repr__

    def summary(self) -> dict[str, str]:
        """The chip in a few words, by subject."""
        core, network = self.core, self.interconnect
        cores = f"{core.cores}" if core.grid is None else " x ".join(map(str, core.grid))
        groups = f" groups of {network.group_cores}" if network.group_cores else ""
        several = f"{self.chips} chips of " if self.chips > 1 else ""
        link = quantity.show(network.link_bytes_per_s, quantity.BYTES_PER_S)
        lines = {
            "cores": f"{several}{cores}{groups} cores",
            "SRAM": f"{quantity.show(core.sram_bytes, quantity.BYTES)} SRAM each",
            "network": f"{network.topology} at {link}",
            "HBM": "no HBM",
        }
        if self.hbm:
            rate = quantity.show(self.hbm.bytes_per_s * self.chips, quantity.BYTES_PER_S)
            lines["HBM"] = f"HBM {rate} in all"
        return lines

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(key)}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for key, value in self.summary().items()
        )
        return f"<table><caption><b>{html.escape(self.name)}</b></caption>{rows}</table>"


def tables_of(chip: Chip) -> dict[str, Any]:
    """What a file says of `chip`: all keys, quantities as texts that read back exactly."""
    tables: dict[str, Any] = {"schema": SCHEMA}
    for key, value in chip.to_dict().items():
        inner = isinstance(value, dict)
        tables[key] = (
            {name: _written(leaf, (key, name)) for name, leaf in value.items()} if inner else value
        )
    if chip.streaming:
        tables = (
            {key: tables[key] for key in ("schema", "name")}
            | {"streaming": chip.streaming}
            | tables
        )
    if chip.published:
        totals = chip.published.model_dump(mode="json", exclude_none=True)
        tables["published"] = {
            name: _written(total, ("published", name)) for name, total in totals.items()
        }
    if chip.confidence:
        marks = chip.confidence.model_dump(mode="json")
        tables["confidence"] = {level: names for level, names in marks.items() if names}
    return tables


def _written(value: Any, path: tuple[str, ...]) -> Any:
    unit = unit_of(Chip, path)
    return quantity.show_exactly(value, unit) if unit else value


_ANY_HBM = Hbm.model_validate(
    {
        "modules": 1,
        "bytes_per_s": 1e9,
        "latency_s": 0.0,
        "channels": 1,
        "outstanding_bytes": 1024,
        "capacity_bytes": 1024,
        "position": "nodes",
    }
)


def _resolved(data: Mapping[str, Any]) -> dict[str, Any]:
    """`data` with the default that follows from another table, and cores said in one way."""
    tables = dict(data)
    core = tables.get("core")
    if isinstance(core, Core):
        core = core.model_dump(exclude_none=True)
    cores: Any = None
    if isinstance(core, dict):
        cores, grid, group = core.get("count"), core.get("grid"), _group_cores(tables)
        if isinstance(grid, list | tuple) and all(map(_is_integer, grid)):
            if group is not None:
                tables["core"] = {"count": math.prod(grid) * group} | core
            elif cores == math.prod(grid):
                tables["core"] = {key: value for key, value in core.items() if key != "count"}
            cores = math.prod(grid) * (group or 1)
    inter_chip = tables.get("inter_chip")
    if isinstance(inter_chip, dict) and "port_cores" not in inter_chip:
        tables["inter_chip"] = inter_chip | {"port_cores": cores if _is_integer(cores) else 1}
    return tables


def _group_cores(tables: Mapping[str, Any]) -> int | None:
    """Cores of a group, where there are groups and their table says how many."""
    network = tables.get("interconnect")
    if isinstance(network, Interconnect):
        return network.group_cores
    cores: Any = network.get("group_cores") if isinstance(network, dict) else None
    return int(cores) if _is_integer(cores) else None


def _is_integer(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
