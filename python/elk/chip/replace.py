"""What `Chip.replace` takes: names of keys, and what a change of one means for others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from numbers import Integral
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from elk.base import quantity
from elk.chip.check import nearest
from elk.chip.tables import Core, Energy, Hbm, Host, InterChip, Interconnect, default_port_rate
from elk.errors import InvalidInputError

_TABLES: dict[str, type[BaseModel]] = {
    "core": Core,
    "interconnect": Interconnect,
    "hbm": Hbm,
    "inter_chip": InterChip,
    "host": Host,
    "energy": Energy,
}
_WHOLE = ("name", "chips", *_TABLES)
# Keys that several tables have, and that nevertheless mean one of them.
_MEANT = {"topology": "interconnect"}


def changed(data: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of a chip, resolved in `data`, with `changes` made.

    Raises:
        InvalidInputError: A change names no key, several keys, or a key of a table that the chip
            does not have.
    """
    before = data
    after: dict[str, Any] = {k: dict(v) if isinstance(v, dict) else v for k, v in data.items()}
    placed = {name: place_of(name) for name in changes}
    _refuse_doubles(placed)
    for name, (table, key) in placed.items():
        if not key:
            after[table] = _whole(changes[name])
    for name, (table, key) in placed.items():
        if key:
            _set(after, table, key, (name, changes[name]))
    if "hbm_bandwidth" in changes:
        _share_bandwidth(after, changes["hbm_bandwidth"])
    named = {entry for entry in placed.values() if entry[1]}
    _follow_topology(before, after, named)
    _follow_defaults(before, after, named)
    return {key: value for key, value in after.items() if value is not None}


def _places() -> Iterator[tuple[str, str]]:
    for table, model in _TABLES.items():
        for key in model.model_fields:
            yield table, key


def field_at(place: tuple[str, str]) -> FieldInfo | None:
    """The field at a table and key; None for a whole table or top-level key."""
    table, key = place
    return _TABLES[table].model_fields[key] if key else None


def place_of(name: str) -> tuple[str, str]:
    """The table and key that `name` means; an empty key for a whole table or top-level key.

    Raises:
        InvalidInputError: It means none, or several.
    """
    if name in _WHOLE:
        return name, ""
    if name == "hbm_bandwidth":
        return "hbm", "bytes_per_s"
    exact = [(table, key) for table, key in _places() if name == f"{table}_{key}"]
    if exact:
        return exact[0]
    found = [(table, key) for table, key in _places() if name == key]
    if len(found) == 1:
        return found[0]
    if name in _MEANT:
        return _MEANT[name], name
    if found:
        names = ", ".join(f"{table}_{key}" for table, key in found)
        raise InvalidInputError(f"{name} is a key of several tables", remedy=f"say which: {names}")
    known = [key for _, key in _places()] + [f"{table}_{key}" for table, key in _places()]
    raise InvalidInputError(
        f"{name} is not a key of a chip",
        code="unknown_name",
        remedy=nearest(name, [*_WHOLE, "hbm_bandwidth", *dict.fromkeys(known)]),
    )


def _refuse_doubles(placed: Mapping[str, tuple[str, str]]) -> None:
    seen: dict[tuple[str, str], str] = {}
    for name, place in placed.items():
        other = seen.setdefault(place, name)
        if other != name:
            raise InvalidInputError(
                f"{other} and {name} change the same field", remedy="give one of them"
            )


def _whole(value: Any) -> Any:
    return value.model_dump(exclude_none=True) if isinstance(value, BaseModel) else value


def _set(after: dict[str, Any], table: str, key: str, change: tuple[str, Any]) -> None:
    name, value = change
    fields = after.get(table)
    if not isinstance(fields, dict):
        raise InvalidInputError(
            f"{name} changes [{table}], which the chip does not have",
            remedy=f"give the whole table: {table}={{...}}",
        )
    if name != "hbm_bandwidth":
        fields[key] = value


def _share_bandwidth(after: dict[str, Any], value: Any) -> None:
    try:
        total = quantity.parse(value, quantity.BYTES_PER_S)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"hbm_bandwidth {error.message}", code=error.code, remedy=error.remedy
        ) from None
    chips = after["chips"]
    after["hbm"]["bytes_per_s"] = total / chips if _is_count(chips) else total


def _follow_topology(
    before: Mapping[str, Any], after: dict[str, Any], named: set[tuple[str, str]]
) -> None:
    """Cores and HBM as the topology needs them, where `named` does not say how."""
    core, network, hbm = after["core"], after["interconnect"], after.get("hbm")
    if not isinstance(core, dict) or not isinstance(network, dict):
        return
    if network.get("topology") != "groups" and ("interconnect", "group_cores") not in named:
        network.pop("group_cores", None)
    if ("core", "grid") in named and ("core", "count") not in named:
        core.pop("count", None)
    if ("core", "count") in named and ("core", "grid") not in named:
        core.pop("grid", None)
    (grid, group), was = _shape(network), _shape(before["interconnect"])
    if (grid, group) != was and "grid" in core and ("core", "grid") not in named:
        core["count"] = math.prod(core.pop("grid")) * was[1]
    count: Any = core.get("count")
    if grid and "grid" not in core and _is_count(count) and int(count) % group == 0:
        core["grid"] = grid(int(core.pop("count")) // group)
    if bool(grid) != bool(was[0]) and isinstance(hbm, dict) and ("hbm", "position") not in named:
        hbm["position"] = "edges_all" if grid else "nodes"


def _shape(network: Mapping[str, Any]) -> tuple[Callable[[int], tuple[int, ...]] | None, int]:
    """What gives the grid that a network needs, if any, and the cores at each of its places."""
    group: Any = network.get("group_cores")
    return _GRIDS.get(str(network.get("topology"))), int(group) if _is_count(group) else 1


def _is_count(value: Any) -> bool:
    """Whether `value` counts something that a chip may have."""
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    return is_integer and 0 < int(value) <= 1 << 24


def _follow_defaults(
    before: Mapping[str, Any], after: dict[str, Any], named: set[tuple[str, str]]
) -> None:
    """Drops what was a default, so that it is derived again, and what one chip cannot have."""
    if after["chips"] == 1 and after.get("inter_chip") == before.get("inter_chip"):
        after["inter_chip"] = None
    hbm, inter_chip = after.get("hbm"), after.get("inter_chip")
    port = ("hbm", "port_bytes_per_s")
    if isinstance(hbm, dict) and "hbm" in before and port not in named:
        was_default = before["hbm"]["port_bytes_per_s"] == default_port_rate(before["hbm"])
        if was_default and hbm.get("port_bytes_per_s") == before["hbm"]["port_bytes_per_s"]:
            hbm.pop("port_bytes_per_s")
    ports = ("inter_chip", "port_cores")
    if isinstance(inter_chip, dict) and "inter_chip" in before and ports not in named:
        all_cores = before["core"].get("count") or math.prod(before["core"]["grid"])
        if inter_chip.get("port_cores") == before["inter_chip"]["port_cores"] == all_cores:
            inter_chip.pop("port_cores")


def squarest_grid(cores: int) -> tuple[int, int]:
    """The rows and columns nearest to a square, rows not fewer: 1,472 cores are 46 x 32."""
    cols = next(side for side in range(math.isqrt(cores), 0, -1) if cores % side == 0)
    return cores // cols, cols


def evenest_layers(cores: int) -> tuple[int, int, int]:
    """Layers of the squarest grid, no more of them than it is wide: 1,472 cores are 23 x 8 x 8."""
    layers = max(n for n in range(1, math.isqrt(cores) + 1) if n**3 <= cores and cores % n == 0)
    return (*squarest_grid(cores // layers), layers)


# The grid that a topology gives to a number of cores, or of groups.
_GRIDS: dict[str, Callable[[int], tuple[int, ...]]] = {
    "mesh2d": squarest_grid,
    "torus2d": squarest_grid,
    "mesh3d": evenest_layers,
    "groups": squarest_grid,
}
