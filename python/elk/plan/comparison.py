"""All policies on one model and chip, simulated and put side by side."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack

from elk.base.choices import one_of
from elk.base.policies import BUILT_UP, built_up
from elk.base.readable import deviation, duration, share
from elk.chip import presets
from elk.errors import InvalidInputError
from elk.plan.options import ComparedKeywords, Options, as_model, asked
from elk.plan.plan import Plan
from elk.plan.planning import compile as compile_plan
from elk.report import plots
from elk.report.card import html_row
from elk.run.measured import SPLIT
from elk.run.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from onnx import ModelProto

    from elk.chip.chip import Chip
    from elk.model.model import Model

_USED: Final = ("hbm", "links")
_HEADS: Final = (
    "policy", "latency", "speed-up", "of ideal", "of bound", *SPLIT, "HBM used", "links used",
    "forecast",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow:
    """One policy: its plan and its run.

    Attributes:
        policy: The policy.
        plan: Its plan.
        run: That plan on the simulator.
        ideal_s: The ideal's time, in seconds, the same in every row.
    """

    policy: str
    plan: Plan
    run: Run
    ideal_s: float

    @property
    def of_ideal(self) -> float:
        """The ideal's time over this one's."""
        return self.ideal_s / self.run.latency_s

    @property
    def of_bound(self) -> float:
        """The lower bound over this one's time; 0.0 where the bound is withheld."""
        return self.plan.bounds.lower_bound_s / self.run.latency_s

    def to_dict(self) -> dict[str, Any]:
        """The row as plain data: seconds, shares from 0 to 1, joules and watts (None: unknown)."""
        return {
            "policy": self.policy,
            "latency_s": self.run.latency_s,
            "of_ideal": self.of_ideal,
            "of_bound": self.of_bound,
            "split_ps": self.run.split_ps,
            "utilisation": self.run.utilisation,
            "forecast_s": self.plan.latency_s,
            "forecast_error": self.plan.forecast_error(),
            "energy_j": self.run.energy_j,
            "power_w": self.run.power_w,
        }


@dataclass(frozen=True, eq=False, repr=False, slots=True, kw_only=True)
class Comparison:
    """Policies side by side. Print it, show it, or `.plot("breakdown")` it.

    Attributes:
        model: The model's name.
        chip: The chip's name.
        rows: One for each policy.
        ideal_s: The forecast for a chip that has memory and interconnect twice, in seconds: the
            least of the plans' ideals, as another policy finds other plans.
        lower_bound_s: What no plan is faster than, in seconds: the least of the plans' bounds, as
            another policy may look at other ways to share a model. 0.0 where one is withheld.
    """

    model: str
    chip: str
    rows: tuple[ComparisonRow, ...]
    ideal_s: float
    lower_bound_s: float

    def __getitem__(self, policy: str) -> ComparisonRow:
        """The row of a policy.

        Raises:
            InvalidInputError: it was not compared; the message lists those that were.
        """
        known = {row.policy: row for row in self.rows}
        return known[one_of("policy", policy, tuple(known))]

    @property
    def text(self) -> str:
        """The table as plain text."""
        cells = [_HEADS, *self._cells()]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in cells
        ]
        return "\n".join([self._title(), *lines])

    def to_dict(self) -> dict[str, Any]:
        """The table as plain data: times in seconds, shares from 0 to 1."""
        return {
            "model": self.model,
            "chip": self.chip,
            "ideal_s": self.ideal_s,
            "lower_bound_s": self.lower_bound_s,
            "policies": [row.to_dict() for row in self.rows],
        }

    def plot(self, kind: str = "breakdown", ax: Axes | None = None) -> Axes:
        """Draws the comparison with matplotlib.

        Args:
            kind: `breakdown`: each policy's time, stacked by preload, execute, overlapped and
                interconnect, with the ideal and the bound as lines. `utilisation`: how much of HBM,
                links, matrix and vector units each policy uses. They are Figure 18 of the ELK
                paper, its part (a) and its parts (b) to (d).
            ax: Where to draw; a new figure without it.

        Raises:
            InvalidInputError: there is no such kind.
            MissingPackageError: matplotlib is not installed.
        """
        title = f"{self.model} on {self.chip}"
        if one_of("kind", kind, ("breakdown", "utilisation")) == "utilisation":
            return plots.plot_used(
                title, {row.policy: row.run.utilisation for row in self.rows}, ax
            )
        bars = {row.policy: row.run.split_ps for row in self.rows}
        lines = {"ideal": self.ideal_s, "lower bound": self.lower_bound_s}
        lines = {name: seconds for name, seconds in lines.items() if seconds > 0}
        return plots.plot_breakdown(title, bars, lines, ax)

    def _title(self) -> str:
        return (
            f"{self.model} on {self.chip}, simulated: ideal {duration(self.ideal_s)}, "
            f"lower bound {duration(self.lower_bound_s) if self.lower_bound_s else 'withheld'}"
        )

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in _HEADS)
        rows = "".join(html_row(row) for row in self._cells())
        title = html.escape(self._title())
        return f"<div><b>{title}</b><table><tr>{head}</tr>{rows}</table></div>"

    def _cells(self) -> list[tuple[str, ...]]:
        first_s = self.rows[0].run.latency_s
        return [_cells(row, first_s) for row in self.rows]

    def __repr__(self) -> str:
        found = ", ".join(f"{row.policy} {duration(row.run.latency_s)}" for row in self.rows)
        return f"Comparison({self.model!r} on {self.chip!r}: {found})"


def compare(
    model: Model | ModelProto | bytes | str | Path,
    chip: Chip | str | Path,
    *,
    bindings: Mapping[str, int] | None = None,
    policies: Iterable[str] | None = None,
    fidelity: str = "auto",
    options: Options | None = None,
    **keywords: Unpack[ComparedKeywords],
) -> Comparison:
    """Plans a model under several policies and runs every plan on the simulator.

    Args:
        model: As in `elk.compile`.
        chip: As in `elk.compile`.
        bindings: As in `elk.compile`.
        policies: Those to compare, in the order of the table; None: all that propose on the chip.
            Not `ideal`, which cannot run and which every row is held against.
        fidelity: As in `Plan.simulate`.
        options: As in `elk.compile`; each row has its own policy in place of the record's.
        keywords: As in `elk.compile`, but for `policy`.

    Raises:
        InvalidInputError: an option, the model or the chip is wrong; the message says which.
        InfeasibleError: an operator fits the chip in no plan; the message says by how much.
        KeyboardInterrupt: Ctrl-C, even where the plan under way has a best so far.

    Example:
        >>> table = elk.compare("models/nerf.onnx", "tiny", bindings={"rows": 64})
        >>> [row.policy for row in table.rows]
        ['basic', 'static', 'elk-dyn', 'elk-full']
    """
    named = built_up(presets.find(chip).to_core()) if policies is None else policies
    chosen = tuple(one_of("policies", policy, BUILT_UP) for policy in named)
    if not chosen:
        raise InvalidInputError("policies must name at least one policy")
    if "policy" in keywords:
        raise TypeError("compare() has no keyword 'policy'; it takes policies=[...]")
    how = asked(options, keywords)
    loaded = as_model(model, bindings, how)
    how = replace(how, weights=None, state=None, limits=None)  # The loaded model has them.
    plans = []
    for policy in chosen:
        plan = compile_plan(loaded, chip, options=replace(how, policy=policy))
        if plan.stopped:
            raise KeyboardInterrupt
        plans.append(plan)
    ideal_s = min(plan.bounds.ideal_s for plan in plans)
    rows = [
        ComparisonRow(
            policy=plan.policy, plan=plan, run=plan.simulate(fidelity=fidelity), ideal_s=ideal_s
        )
        for plan in plans
    ]
    fastest_s = min(row.run.latency_s for row in rows)
    for row in rows:
        row.plan._content.hold_against(fastest_s)
    return Comparison(
        model=loaded.name,
        chip=rows[0].plan.chip.name,
        rows=tuple(rows),
        ideal_s=ideal_s,
        lower_bound_s=min(row.plan.bounds.lower_bound_s for row in rows),
    )


def _cells(row: ComparisonRow, first_s: float) -> tuple[str, ...]:
    run = row.run
    return (
        row.policy,
        duration(run.latency_s),
        f"{first_s / run.latency_s:.2f} x",
        f"{100 * row.of_ideal:.1f} %",
        "withheld" if row.plan.bounds.withheld else f"{100 * row.of_bound:.1f} %",
        *(share(run.split_ps[part], run.total_ps) for part in SPLIT),
        *(f"{100 * run.utilisation[name]:.1f} %" for name in _USED),
        deviation(row.plan.latency_s, run.latency_s),
    )
