"""Pictures of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from elk.choices import one_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from elk import _core
    from elk.plan_schema import PlanDocument
    from elk.run import Run

_PS: Final = 1e12


def plot_run(run: Run, ran: _core.Run, plan: PlanDocument, kind: str, ax: Axes | None) -> Axes:
    """What `Run.plot` does; `ran` and `plan` are the run in columns and its plan.

    Raises:
        InvalidInputError: there is no such kind, or the run does not know it.
        MissingPackageError: matplotlib is not installed.
    """
    from elk import plots, run_links  # noqa: PLC0415 - few runs are drawn

    title = f"{plan['model']['name']}, {plan['policy']}, simulated"
    chosen = one_of("kind", kind, ("utilisation", "memory", "links"))
    if chosen == "links":
        return run_links.plot_links(title, ran, run_links.shape_of(plan["chip"]["core"]), ax)
    if chosen == "memory":
        ends_s = run.columns["execute_end_ps"] / _PS
        return plots.plot_memory(plan, ax, ends_s=ends_s.tolist())
    return plots.plot_used_over_time(title, run.utilisation_over_time(100), ax)
