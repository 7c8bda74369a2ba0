"""The card of a run: how long it took, how its time divides, and what held it up."""

from __future__ import annotations

import html
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from elk.base.readable import deviation, duration, share
from elk.document.schema import PlanDocument
from elk.report.card import NAME_LENGTH, TOP_OPS, against, html_row, of_bound
from elk.run.measured import Measured


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCard:
    """What is worth seeing of a run at one glance.

    Attributes:
        title: Model, chip, policy and fidelity.
        facts: Pairs of a label and a value.
        top: The operators that took longest: share, time, count, name and what they stalled on.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    top: tuple[tuple[str, ...], ...]

    @property
    def text(self) -> str:
        """The card as plain text."""
        width = max(len(label) for label, _ in self.facts)
        lines = [self.title, *(f"  {label.ljust(width)}  {value}" for label, value in self.facts)]
        lines.append("  top operators")
        widths = [max(map(len, column)) for column in zip(*self.top, strict=True)]
        for row in self.top:
            cells = [cell.rjust(size) for cell, size in zip(row[:3], widths, strict=False)]
            lines.append("    " + "  ".join([*cells, row[3].ljust(widths[3]), row[4]]).rstrip())
        return "\n".join(lines)

    @property
    def html(self) -> str:
        """The card as HTML, every name escaped."""
        facts = "".join(html_row(fact) for fact in self.facts)
        top = "".join(html_row(row) for row in self.top)
        return (
            f"<div><b>{html.escape(self.title)}</b><table>{facts}</table>"
            f"<details><summary>top operators</summary><table>{top}</table></details></div>"
        )


def run_card(run: Measured, plan: PlanDocument) -> RunCard:
    """The card of a run."""
    model, chip = plan["model"]["name"], plan["chip"]["name"]
    return RunCard(
        title=(
            f"{model[:NAME_LENGTH]} on {chip[:NAME_LENGTH]}: {plan['policy']}, simulated, "
            f"{run.fidelity}"
        ),
        facts=tuple(_facts(run, plan)),
        top=tuple(_top(run, plan)),
    )


def _facts(run: Measured, plan: PlanDocument) -> list[tuple[str, str]]:
    total_s, bounds = run.latency_s, plan["bounds"]
    forecast_s = plan["predicted"]["total_s"]
    used = ", ".join(f"{name} {100 * part:.1f} %" for name, part in run.utilisation.items())
    split = ", ".join(f"{name} {share(ps, run.total_ps)}" for name, ps in run.split_ps.items())
    stalls = ", ".join(f"{reason} {duration(s)}" for reason, s in run.stalls().items())
    facts = [
        ("latency", f"{duration(total_s)} (simulated; forecast {deviation(forecast_s, total_s)})"),
        ("of ideal", against("ideal", bounds["ideal_s"], total_s)),
        ("of bound", of_bound("lower bound", bounds, total_s)),
        ("split", split),
        ("used", used),
        ("stalls", stalls),
        ("queue", _queue(run)),
    ]
    if run.energy_j is not None:
        parts = ", ".join(f"{name} {joules:.3g} J" for name, joules in run.energy_parts_j.items())
        facts.append(("energy", f"{run.energy_j:.3g} J: {parts}"))
        power = f"{run.power_w:.4g} W on average, {run.peak_power_w:.4g} W in one execute at most"
        facts.append(("power", power))
    return facts


def _queue(run: Measured) -> str:
    """How many preloads and stores were under way at a time."""
    queue = run.queue()
    lasted = np.diff(queue["time_ps"], append=run.total_ps)
    mean = float(queue["length"] @ lasted) / max(run.total_ps, 1)
    return f"{mean:.1f} preloads and stores on average, up to {queue['length'].max(initial=0):,}"


def _top(run: Measured, plan: PlanDocument) -> list[tuple[str, ...]]:
    """Operators with the same Pareto front as one row, the most expensive first."""
    columns, reasons = run.columns, run._reasons_ps
    took_ps = columns["execute_end_ps"] - columns["execute_begin_ps"] + columns["waited_ps"]
    members: defaultdict[int, list[int]] = defaultdict(list)
    for i, row in enumerate(plan["ops"]):
        members[row["front"]].append(i)
    took = {front: int(took_ps[ids].sum()) for front, ids in members.items()}
    rows: list[tuple[str, ...]] = []
    for front in sorted(took, key=lambda f: (-took[f], f))[:TOP_OPS]:
        ids = members[front]
        rows.append(
            (
                share(took[front], run.total_ps),
                duration(took[front] / 1e12),
                f"{len(ids)} x",
                plan["ops"][ids[0]]["name"][:NAME_LENGTH],
                max(reasons, key=lambda reason: int(reasons[reason][ids].sum())),
            )
        )
    return rows
