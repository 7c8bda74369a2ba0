"""The card of a plan: how long it takes, how near that is to what is possible, and what binds."""

from __future__ import annotations

import html
from collections import defaultdict
from dataclasses import dataclass
from typing import Final

import numpy as np

from elk import _core
from elk.base.policies import FORECASTS
from elk.base.readable import amount, duration, rate, share
from elk.chip.chip import Chip
from elk.document.schema import BoundsRow, OpRow, PlanDocument
from elk.report.explain import constraints, parts, waits_s
from elk.report.shards import between_chips, is_sharded, layer
from elk.report.sram import memory_by_role, sram_room

TOP_OPS: Final = 8  # rows of operators on a card
NAME_LENGTH: Final = 120  # letters of a name on a card
_LIMITS: Final = {
    "hbm": "the modules' ports and outstanding requests",
    "injection": "the links of the nodes that HBM is attached to",
    "edge_cut": "the links that leave the nodes that HBM is attached to",
    "crossing": "the links across the middle of a chip",
    "receive": "the receive ports of the cores",
}
_CORNERS: Final = {"hbm_s": "HBM", "execute_s": "execution", "link_s": "links"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What is worth seeing of a plan at one glance.

    Attributes:
        title: Model, chip and policy.
        facts: Pairs of a label and a value.
        top: The operators that take longest: share, time, count, name and what binds.
        layer: How one layer is split over chips that share the model: an axis or a collective, and
            the operators or the tensor; empty elsewhere.
        notes: Sentences about what limits the chip and how far the numbers can be trusted.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    top: tuple[tuple[str, ...], ...]
    layer: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]

    @property
    def text(self) -> str:
        """The card as plain text."""
        width = max(len(label) for label, _ in self.facts)
        lines = [self.title, *(f"  {label.ljust(width)}  {value}" for label, value in self.facts)]
        lines.append("  top operators")
        columns = list(zip(*self.top, strict=True))
        widths = [max(map(len, column)) for column in columns]
        for row in self.top:
            *numbers, name, binds = row
            cells = [cell.rjust(size) for cell, size in zip(numbers, widths, strict=False)]
            lines.append("    " + "  ".join([*cells, name.ljust(widths[-2]), binds]).rstrip())
        return "\n".join([*lines, *self._layer(), *(f"  note: {note}" for note in self.notes)])

    def _layer(self) -> list[str]:
        if not self.layer:
            return []
        width = max(len(axis) for axis, _ in self.layer)
        rows = [f"    {axis.ljust(width)}  {names}" for axis, names in self.layer]
        return ["  one layer, and what is split over the chips", *rows]

    @property
    def html(self) -> str:
        """The card as HTML, every name escaped."""
        facts = "".join(html_row(fact) for fact in self.facts)
        top = "".join(html_row(row) for row in self.top)
        layer = "".join(html_row(row) for row in self.layer)
        shards = (
            f"<details><summary>one layer over the chips</summary><table>{layer}</table></details>"
            if layer
            else ""
        )
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        return (
            f"<div><b>{html.escape(self.title)}</b><table>{facts}</table>"
            f"<details><summary>top operators</summary><table>{top}</table></details>"
            f"{shards}<ul>{notes}</ul></div>"
        )


def card(document: PlanDocument) -> Card:
    """The card of a plan."""
    model, chip = document["model"], document["chip"]
    pod = f", {document['pod']}" if int(chip.get("chips") or 1) > 1 else ""
    return Card(
        title=(
            f"{model['name'][:NAME_LENGTH]} on {chip['name'][:NAME_LENGTH]}: "
            f"{document['policy']}{pod}"
        ),
        facts=tuple(_facts(document)),
        top=tuple(_top(document)),
        layer=layer(document) if is_sharded(document) else (),
        notes=tuple(_notes(document)),
    )


def _facts(document: PlanDocument) -> list[tuple[str, str]]:
    bounds, total_s = document["bounds"], document["predicted"]["total_s"]
    corners = {name: bounds[key] for key, name in _CORNERS.items()}  # type: ignore[literal-required]
    binds = max(corners, key=lambda name: corners[name])
    ops = document["ops"]
    return [
        (
            "latency",
            f"{duration(total_s)} (forecast; host transfers besides: "
            f"{duration(document['host_s'])})",
        ),
        *_near(document),
        ("binds", f"{binds}: " + ", ".join(f"{n} {duration(s)}" for n, s in corners.items())),
        *_hbm(document),
        *([("between chips", between_chips(document))] if is_sharded(document) else []),
        *_sram(document),
        (
            "model",
            f"{len(ops):,} operators{_repeat(document)}, {len(document['fronts']):,} different",
        ),
        ("schedule", _schedule(document)),
        ("plans", _search(document)),
        ("tile times", _trust(ops)),
    ]


def _near(document: PlanDocument) -> list[tuple[str, str]]:
    """How near the latency is to what is possible; of another objective, what it costs and saves.

    The bounds are of latency: they say nothing of what energy is possible.
    """
    bounds, total_s = document["bounds"], document["predicted"]["total_s"]
    aimed = document["search"].get("aimed")
    if aimed is None:
        name = "lower bound, by sampled tile rates,"
        return [
            ("of ideal", against("ideal", bounds["ideal_s"], total_s)),
            ("of bound", of_bound(name, bounds, total_s)),
        ]
    return [
        ("objective", document["search"]["objective"]),
        (
            "energy",
            f"{aimed['energy_j']:.3g} J (forecast; the plan for latency takes "
            f"{aimed['latency_plan_energy_j']:.3g} J and {duration(aimed['latency_plan_s'])})",
        ),
    ]


def against(name: str, least_s: float, total_s: float) -> str:
    """A time as a share of another: `94.2 % (ideal 1.630 ms / latency)`."""
    return f"{share(least_s, total_s)} ({name} {duration(least_s)} / latency)"


def of_bound(name: str, bounds: BoundsRow, total_s: float) -> str:
    """A time against the lower bound, or why the bound is withheld."""
    withheld = bounds.get("withheld")
    return f"withheld: {withheld}" if withheld else against(name, bounds["lower_bound_s"], total_s)


def _hbm(document: PlanDocument) -> list[tuple[str, str]]:
    hbm = document["chip"].get("hbm")
    if not hbm:
        return []
    peak = float(hbm["bytes_per_s"]) * int(document["chip"].get("chips") or 1)
    read = sum(row["preload"]["hbm_bytes"] for row in document["ops"] if row["preload"])
    used = share(read, peak * document["predicted"]["total_s"])
    return [("HBM", f"{used} of {rate(peak)} used, {amount(read)} read")]


def _sram(document: PlanDocument) -> list[tuple[str, str]]:
    if not document["buffers"]:
        return [("SRAM", "no buffers: a forecast, not a program that runs")]
    peak = int(np.sum([*memory_by_role(document).values()], axis=0).max())
    room = sram_room(document["chip"])
    return [("SRAM", f"peak {amount(peak)} of {amount(room)} a core, {share(peak, room)}")]


def _repeat(document: PlanDocument) -> str:
    repeat = document["repeat"]
    return f" ({repeat['count']} x {repeat['period']} repeated)" if repeat else ""


def _schedule(document: PlanDocument) -> str:
    policy, origin = document["policy"], document["origin"]
    own = f"{policy} alone: {duration(document['raw_s'])}"
    if origin == policy:
        return own
    return f"{origin}'s, which is no slower ({own})"


def _search(document: PlanDocument) -> str:
    search, fronts = document["search"], document["fronts"]
    held = sum(fronts[row["front"]].get("given", False) for row in document["ops"])
    given = f"; {held:,} operators take plans that were handed in" if held else ""
    asked = constraints(search.get("min_core_share", 0.0), search.get("max_padding", 0.0))
    return (
        f"{search['plans_complete']:,} complete, {search['plans_filtered']:,} filtered ({asked}), "
        f"{search['plans_pareto']:,} on Pareto fronts; preload orders tried: "
        f"{search['orders_tried']:,}{_orders(document)}{given}"
    )


def _orders(document: PlanDocument) -> str:
    """What became of the search for an order of preloads, where there was one."""
    orders = document["search"].get("orders")
    if orders is None or orders["generated"] == 0:
        return ""
    more = "" if orders["complete"] else ", more are valid"
    return (
        f" ({orders['pruned']:,} pruned{more}); a preload is {orders['edit_distance']:.1f} places "
        "from the order of executes"
    )


def _trust(ops: list[OpRow]) -> str:
    total = sum(row["execute"]["compute_s"] for row in ops)
    outside = sum(row["execute"]["compute_s"] * row["execute"]["extrapolated"] for row in ops)
    borrowed = sum(row["execute"]["compute_s"] for row in ops if row["borrowed"])
    return (
        f"{share(outside, total)} extrapolated{_beyond(ops)}, "
        f"{share(borrowed, total)} borrowed from a neighbour"
    )


def _beyond(ops: list[OpRow]) -> str:
    """Which operators' tiles lie beyond the fitted range, those that compute longest first.

    Operators with the same Pareto front go by the name of the first.
    """
    took: defaultdict[int, float] = defaultdict(float)
    members: defaultdict[int, list[str]] = defaultdict(list)
    for row in ops:
        if row["execute"]["extrapolated"] > 0.0:
            took[row["front"]] += row["execute"]["compute_s"] * row["execute"]["extrapolated"]
            members[row["front"]].append(row["name"][:NAME_LENGTH])
    longest = sorted(took, key=lambda front: (-took[front], front))
    names = [f"{len(members[front])} x {members[front][0]}" for front in longest[:TOP_OPS]]
    if len(longest) > TOP_OPS:
        names.append(f"{len(longest) - TOP_OPS} more kinds")
    return f" ({', '.join(names)})" if names else ""


def _top(document: PlanDocument) -> list[tuple[str, ...]]:
    """Operators with the same Pareto front as one row, the most expensive first."""
    waits = waits_s(document)
    took: defaultdict[int, float] = defaultdict(float)
    spent: defaultdict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    members: defaultdict[int, list[OpRow]] = defaultdict(list)
    for row, times, wait in zip(document["ops"], document["predicted"]["ops"], waits, strict=True):
        begin, end = times["execute"]
        took[row["front"]] += end - begin + wait
        members[row["front"]].append(row)
        alone = parts(row)
        contention = max(0.0, end - begin - sum(alone.values()))
        spent[row["front"]]["compute"] += alone["compute"]
        spent[row["front"]]["link"] += alone["link"] + contention
        spent[row["front"]]["HBM"] += wait
    total_s = document["predicted"]["total_s"]
    rows: list[tuple[str, ...]] = []
    for front in sorted(took, key=lambda f: (-took[f], f))[:TOP_OPS]:
        binds = max(spent[front], key=lambda key: spent[front][key])
        name = members[front][0]["name"][:NAME_LENGTH]
        count = f"{len(members[front])} x"
        rows.append((share(took[front], total_s), duration(took[front]), count, name, binds))
    return rows


def _notes(document: PlanDocument) -> list[str]:
    notes = []
    if document["policy"] in FORECASTS:
        notes.append(f"{document['policy']} makes forecasts, which no chip runs: see elk policies")
    if document["search"].get("stopped"):
        notes.append("the search was stopped: this is the best plan that it had found")
    elif document["policy"] == "elk-full" and document["search"]["orders_tried"] <= 1:
        notes.append("no other order of preloads is valid here")
    if any(x.get("indirect") for row in document["ops"] for x in row["operands"]):
        notes.append("rows picked by a computed index are expected to be spread uniformly")
    if document["pod"] != document["search"].get("pod", document["pod"]):
        notes.append("the cores of all chips as one machine are faster than any sharding found")
    notes.extend(delivery_notes(Chip.from_dict(document["chip"])))
    return notes


def delivery_notes(chip: Chip) -> list[str]:
    """What keeps HBM data from reaching the cores at the HBM's rate."""
    if chip.hbm is None:
        return []
    limits = _core.delivery(chip.to_core())
    peak = chip.hbm.bytes_per_s
    if limits.bytes_per_s >= peak:
        return []
    limit = _LIMITS.get(limits.bound_by, limits.bound_by)
    return [
        f"HBM delivery into a chip is bound by {limit}: {rate(limits.bytes_per_s)} of {rate(peak)}"
    ]


def html_row(cells: tuple[str, ...]) -> str:
    """A row of an HTML table, every cell escaped."""
    return "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"
