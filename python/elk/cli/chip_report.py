"""What `elk chip check` says of a chip: its tile model, its network, what limits preloads."""

from __future__ import annotations

import math
import textwrap
from typing import Any

import typer

from elk._core import Delivery
from elk.base.quantity import BYTES, BYTES_PER_S, show
from elk.chip.chip import Chip
from elk.chip.published import busy_w, compare
from elk.cli.output import print_table
from elk.tile.tilemodel import AnalyticModel, FittedModel, find_record

_WIDTH = 100

_LIMITS = {
    "hbm": "rate of its modules, their ports and what they keep in flight",
    "injection": "one link of each node that a module is attached to",
    "edge_cut": "links from those nodes on, for data that all cores share evenly",
    "crossing": "straight cuts of the grid, for data striped over modules on both sides",
    "receive": "receive ports of all cores",
}

_TOTALS = {
    "matrix_flops_per_s": "matrix products",
    "memory_bytes_per_s": "memory",
    "sram_bytes": "SRAM",
}


def as_json(chip: Chip) -> dict[str, Any]:
    """The report as data: rates in bytes a second, sizes in bytes.

    Raises:
        InvalidInputError: The chip names a tile model that cannot be read.
    """
    record = find_record(chip.core.tile_model)
    delivery = chip.delivery() if chip.hbm else None
    return {
        "name": chip.name,
        "valid": True,
        "tile_model": {"name": record.name, "kind": record.kind, "source": record.source},
        "sram_bytes": chip.core.sram_bytes * chip.total_cores,
        "network": {
            "topology": chip.interconnect.topology,
            "bisection_bytes_per_s": chip.bisection_bytes_per_s,
        },
        "delivery": _limits(chip, delivery) if delivery else None,
        "published": _published(chip),
        "power_w": _power(chip),
        "confidence": chip.confidence.model_dump(mode="json") if chip.confidence else None,
    }


def print_report(chip: Chip) -> None:
    """Prints the report.

    Raises:
        InvalidInputError: The chip names a tile model that cannot be read.
    """
    record = find_record(chip.core.tile_model)
    typer.echo(f"{chip!r} is valid")
    sram = show(chip.core.sram_bytes * chip.total_cores, BYTES)
    typer.echo(f"SRAM: {sram} in all")
    typer.echo(_wrapped(f"tile model: {record.name}, {_origin(record)}"))
    if chip.hbm:
        _print_delivery(chip, chip.delivery())
    else:
        rate = show(chip.bisection_bytes_per_s, BYTES_PER_S)
        typer.echo(f"no HBM: models live in SRAM; bisection {rate} each way")
    _print_published(chip)
    _print_power(chip)
    for words, names in (
        ("low confidence", chip.confidence.low if chip.confidence else ()),
        ("assumed", chip.confidence.assumed if chip.confidence else ()),
    ):
        if names:
            typer.echo(_wrapped(f"{words}: {', '.join(names)}"))


def _origin(record: FittedModel | AnalyticModel) -> str:
    """Where the times of a tile model come from."""
    if isinstance(record, AnalyticModel):
        return f"analytic, not profiled: {record.source}"
    rows = sum(kernel.rows for kernel in record.kernels)
    return f"fitted to {rows:,} rows of a profile" if rows else record.source


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _published(chip: Chip) -> dict[str, Any] | None:
    """The totals of one chip that are published, beside what it comes to."""
    if chip.published is None:
        return None
    totals = {
        total.name: {
            "published": total.published,
            "here": total.here,
            "error": total.error,
            "differs": total.differs,
        }
        for total in compare(chip)
    }
    return {"source": chip.published.source, "note": chip.published.note, "totals": totals}


def _power(chip: Chip) -> dict[str, float | None] | None:
    """Watts of one chip, idle and with all units at their peak, and its TDP."""
    if chip.energy is None:
        return None
    tdp_w = chip.published.tdp_w if chip.published else None
    return {"static": chip.energy.static_w, "busy": busy_w(chip), "tdp": tdp_w}


def _print_power(chip: Chip) -> None:
    power = _power(chip)
    if power is None:
        return
    tdp = f"; TDP {power['tdp']:g} W" if power["tdp"] else ""
    idle, busy = f"{power['static']:.4g} W idle", f"{power['busy']:.4g} W"
    peak = "with matrix units and memory at their peak"
    typer.echo(_wrapped(f"power by its coefficients: {idle}, {busy} {peak}{tdp}"))


def _print_published(chip: Chip) -> None:
    if chip.published is None or not chip.published.totals():
        return
    totals = compare(chip)
    several = " of one chip" if chip.chips > 1 else ""
    listed = ", ".join(f"{_TOTALS[t.name]} {show(t.published, t.unit)}" for t in totals)
    typer.echo(_wrapped(f"published{several}: {listed} ({chip.published.source})"))
    for total in totals:
        if total.differs:
            than = "more" if total.error > 0.0 else "less"
            here = f"{_TOTALS[total.name]} {show(total.here, total.unit)} here"
            typer.echo(f"  differs: {here}, {100 * abs(total.error):.1f} % {than}")
    if chip.published.note:
        typer.echo(_wrapped(f"  note: {chip.published.note}"))


def _limits(chip: Chip, delivery: Delivery) -> dict[str, float | str | None]:
    return {
        "hbm_bytes_per_s": delivery.hbm_bytes_per_s,
        "injection_bytes_per_s": delivery.injection_bytes_per_s,
        "edge_cut_bytes_per_s": delivery.edge_cut_bytes_per_s,
        "crossing_bytes_per_s": delivery.crossing_bytes_per_s,
        "receive_bytes_per_s": delivery.receive_bytes_per_s,
        "bisection_bytes_per_s": delivery.bisection_bytes_per_s,
        "bytes_per_s": delivery.bytes_per_s,
        "total_bytes_per_s": delivery.bytes_per_s * chip.chips,
        "bound_by": delivery.bound_by,
        "nodes": _nodes(chip, delivery),
    }


def _nodes(chip: Chip, delivery: Delivery) -> int | None:
    """To how many nodes of a chip modules are attached; None where they have their own."""
    injection = delivery.injection_bytes_per_s
    if math.isinf(injection):
        return None
    return round(injection / chip.interconnect.link_bytes_per_s)


def _print_delivery(chip: Chip, delivery: Delivery) -> None:
    def rate(bytes_per_s: float) -> str:
        return "no limit" if math.isinf(bytes_per_s) else show(bytes_per_s, BYTES_PER_S)

    meanings = dict(_LIMITS)
    nodes = _nodes(chip, delivery)
    if nodes is not None:
        several = f"each of the {nodes} nodes" if nodes > 1 else "the node"
        meanings["injection"] = f"one link of {several} that modules are attached to"
    rows = [
        [name.replace("_", " "), rate(getattr(delivery, f"{name}_bytes_per_s")), meaning]
        for name, meaning in meanings.items()
    ]
    bisection = "each way between two halves of the cores, for data that both need"
    typer.echo("into one chip:")
    print_table(
        [*rows, ["bisection", rate(delivery.bisection_bytes_per_s), bisection]], indent="  "
    )
    total = show(delivery.bytes_per_s * chip.chips, BYTES_PER_S)
    bound = delivery.bound_by.replace("_", " ")
    at_edges = chip.hbm is not None and chip.hbm.position != "nodes" and bound != "hbm"
    where = "at its edges, " if at_edges else ""
    several = f" ({total} in all)" if chip.chips > 1 else ""
    typer.echo(
        f"bound {where}by {bound}: preloads bring {rate(delivery.bytes_per_s)} into a chip{several}"
    )
