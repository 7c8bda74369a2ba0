"""What a figure of the paper is, what ELK makes of it, and what becomes of the paper's claims."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from elk import models

if TYPE_CHECKING:
    import onnx
    import pandas as pd
    from matplotlib.figure import Figure

    from elk.plan.plan import Plan
    from elk.points.space import SpaceLike

SAME: Final = "same"
_QUICK_LAYERS: Final = 1
_SAME_WITHIN: Final = 0.1  # of the paper's number
_COLUMNS: Final = (
    *("latency_s", "ideal_s", "lower_bound_s", "raw_s", "origin", "preload_s", "execute_s"),
    *("overlapped_s", "interconnect_s", "hbm_use", "link_use", "matrix_use", "vector_use"),
    *("achieved_flops_per_s", "hbm_bytes", "hbm_bound_s", "execute_bound_s", "link_bound_s"),
    *("edit_distance", "compile_cpu_s"),
)


@dataclass(frozen=True, slots=True)
class Claim:
    """One number of the paper beside ELK's.

    Attributes:
        what: What is claimed, with its unit.
        paper: The paper's number, as it prints it.
        ours: ELK's; "" where there is none.
        verdict: `same`, `differs because ...` or `cannot be known here: ...`.
    """

    what: str
    paper: str
    ours: str
    verdict: str


def compared(
    what: str, paper: float, ours: float, because: str, *, within: float = _SAME_WITHIN
) -> Claim:
    """A claim whose number is the same if it is within a share of the paper's.

    Example:
        >>> compared("speed-up", 1.87, 1.9, "chips differ").verdict
        'same'
    """
    is_same = abs(ours - paper) <= within * abs(paper)
    return Claim(what, f"{paper:.4g}", f"{ours:.4g}", SAME if is_same else _differs(because))


def holds(what: str, paper: str, ours: str, because: str, *, true: bool) -> Claim:
    """A claim in words, which is the same where it is `true` of ELK's numbers, `ours`."""
    return Claim(what, paper, ours, SAME if true else _differs(because))


def unknown(what: str, paper: str, why: str, ours: str = "") -> Claim:
    """A claim that nothing here can confirm or refute."""
    return Claim(what, paper, ours, f"cannot be known here: {why}")


def _differs(because: str) -> str:
    return f"differs because {because}"


@dataclass(frozen=True, kw_only=True)
class Made:
    """A figure as ELK makes it.

    Attributes:
        table: Its data, quantities in SI units.
        claims: The paper's numbers beside ELK's, of a study that is not quick.
        draw: Draws it into an empty figure.
        note: What to know of how it was made.
        size: Width and height of the picture in inches.
    """

    table: pd.DataFrame
    claims: Callable[[], list[Claim]]
    draw: Callable[[Figure], None]
    note: str = ""
    size: tuple[float, float] = (9.0, 4.0)


@dataclass(frozen=True, kw_only=True)
class PaperFigure:
    """A figure or a table of the paper.

    Attributes:
        name: As the command line names it.
        title: What it is called here.
        shows: What the paper shows in it.
        make: Makes ELK's.
        page: Which paper's page it is on.
    """

    name: str
    title: str
    shows: str
    make: Callable[[Study], Made]
    page: str = "elk"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """A plan that starts from nothing, and how long it took to find.

    Attributes:
        plan: The plan.
        wall_s: Seconds that passed.
        cpu_s: CPU time of all threads.
    """

    plan: Plan
    wall_s: float
    cpu_s: float


@dataclass(frozen=True, kw_only=True)
class Study:
    """Where figures are made, and how much of them.

    Attributes:
        folder: Where stores of sweeps lie: a figure that was interrupted goes on from there.
        workers: Processes; None: one a core.
        quick: Whether models have one layer and axes few values, to see that figures work.
    """

    folder: Path
    workers: int | None = None
    quick: bool = False

    def model(
        self,
        name: str,
        phase: str | None = None,
        *,
        layers: int | None = None,
        body: bool = False,
    ) -> onnx.ModelProto:
        """A model of `elk.models`, cut to one layer where it has layers and the study is quick."""
        has_layers = "layers" in {field.name for field in fields(models.config(name))}
        cut = _QUICK_LAYERS if self.quick and has_layers else layers
        return models.get(name, phase, layers=cut, body=body)

    def plan(
        self, model: Any, chip: Any, bindings: Mapping[str, int], policy: str, **options: Any
    ) -> Timed:
        """A plan that starts from nothing, with the time that it took; in no store.

        Args:
            model: The model.
            chip: The chip.
            bindings: Sizes of the model's dimensions.
            policy: The policy.
            options: More options of `elk.compile`.
        """
        from elk.model.model import load_model  # noqa: PLC0415 - `elk paper list` needs no models
        from elk.plan.planning import compile as plan_of  # noqa: PLC0415 - few figures plan

        loaded = load_model(model, bindings=dict(bindings))
        start, spent = time.perf_counter(), time.process_time()
        plan = plan_of(loaded, chip, policy=policy, progress=False, **options)
        wall_s, cpu_s = time.perf_counter() - start, time.process_time() - spent
        return Timed(plan=plan, wall_s=wall_s, cpu_s=cpu_s)

    def few(self, values: Iterable[Any]) -> list[Any]:
        """The values of an axis; the first and the last of them where the study is quick."""
        chosen = list(values)
        return [chosen[0], chosen[-1]] if self.quick and len(chosen) > 1 else chosen

    def sweep(
        self,
        name: str,
        space: SpaceLike,
        model: Any,
        chip: Any,
        *,
        keep: Iterable[str] = (),
        **given: Any,
    ) -> Rows:
        """The points of a sweep that are done; its store is `name`, quick or not.

        Args:
            name: What the store is called.
            space: The axes.
            model: The model, unless it is an axis.
            chip: The chip, unless it is an axis.
            keep: Results that are kept beside those of all figures.
            given: Keywords of `elk.sweep`.
        """
        from elk.sweeps.entry import sweep  # noqa: PLC0415 - `elk paper list` needs no sweeps

        self.folder.mkdir(parents=True, exist_ok=True)
        store = self.folder / f"{name}{'-quick' if self.quick else ''}.elksweep"
        kept = (*_COLUMNS, *keep)
        found = sweep(model, chip, space, store=store, workers=self.workers, keep=kept, **given)
        return Rows(found.to_pandas(), tuple(found.axes))


@dataclass(frozen=True)
class Rows:
    """The points of a sweep as a table.

    Attributes:
        table: A row a point.
        axes: The columns that are axes.
    """

    table: pd.DataFrame
    axes: tuple[str, ...]

    @cached_property
    def done(self) -> pd.DataFrame:
        """The points that have an answer, in order."""
        return self.table[self.table["status"] == "done"].reset_index(drop=True)

    @property
    def lost(self) -> str:
        """What the points without an answer are, in a sentence; "" where there are none."""
        counts = self.table[self.table["status"] != "done"]["code"].value_counts()
        listed = ", ".join(f"{count} ({code})" for code, count in counts.items())
        return f"Points without a plan: {listed}." if listed else ""

    def ratios(self, slower: str, faster: str) -> pd.Series[float]:
        """Latency of one policy over that of another, at each point that has both."""
        return (self._each(slower, "latency_s") / self._each(faster, "latency_s")).dropna()

    def over_ideal(self, policy: str) -> pd.Series[float]:
        """Latency of a policy over the ideal of elk-full's plan, at each point that has both."""
        return (self._each(policy, "latency_s") / self._each("elk-full", "ideal_s")).dropna()

    def _each(self, policy: str, column: str) -> pd.Series[float]:
        by = [axis for axis in self.axes if axis != "policy"]
        found: pd.Series[float] = self.of(policy=policy).set_index(by)[column]
        return found

    def of(self, **values: Any) -> pd.DataFrame:
        """The rows that have these values."""
        rows = self.done
        for name, value in values.items():
            rows = rows[rows[name] == value]
        return rows
