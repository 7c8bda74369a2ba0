"""Plans: what the compiler decided about a model on a chip."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elk.base.choices import one_of
from elk.base.policies import FORECASTS
from elk.base.readable import duration
from elk.base.waiting import interruptible
from elk.chip.chip import Chip
from elk.document.file import StoredPlan, write_plan
from elk.document.schema import PlanDocument, content
from elk.document.source import Bounds
from elk.limits import DEFAULT, Limits
from elk.plan.content import Content
from elk.report.card import card
from elk.report.explain import Explanation, explain
from elk.report.plots import plot_memory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from elk.document.listing import Listing
    from elk.emulation.emulate import Emulation
    from elk.plan.functions import TileFunction
    from elk.report.timeline import Timeline
    from elk.run.run import Run


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """How a model runs on a chip: every operator's cut, every preload, every buffer's address.

    Made by `elk.compile` and `elk.load_plan`. Two plans are equal if their content is; how long
    the search took is no content.

    Plans pickle, with their last simulation. One that arrives is as one from a file: it is checked
    when it is first asked for something, and cannot be emulated.

    Example:
        >>> plan = elk.compile("models/nerf.onnx", "tiny", bindings={"rows": 64})
        >>> plan.policy
        'elk-full'
        >>> plan.latency_s >= plan.bounds.lower_bound_s
        True
    """

    _content: Content

    @property
    def _document(self) -> PlanDocument:
        return self._content.document

    def __copy__(self) -> Plan:
        return Plan(copy(self._content))

    def __deepcopy__(self, memo: dict[int, Any]) -> Plan:
        return copy(self)  # What it is made from is only read.

    def __reduce__(self) -> tuple[type[Plan], tuple[Content]]:
        return Plan, (self._content,)

    @property
    def latency_s(self) -> float:
        """When the last execute or store ends, in seconds, as forecast by the planner."""
        return self._document["predicted"]["total_s"]

    @property
    def policy(self) -> str:
        """The policy that was asked for."""
        return self._document["policy"]

    @property
    def objective(self) -> str:
        """What the plan has least of: `latency`, `energy` or `edp`, the product of both."""
        return self._document["search"].get("objective", "latency")

    @property
    def pod(self) -> str:
        """How chips work together: `sharded`, each on its part, or `pooled`, as one machine."""
        return self._document["pod"]

    @property
    def stopped(self) -> bool:
        """Whether the search was told to end, by Ctrl-C, before it had: the best found so far."""
        return self._document["search"].get("stopped", False)

    @property
    def model_name(self) -> str:
        """The name of the model."""
        return self._document["model"]["name"]

    @property
    def op_names(self) -> tuple[str, ...]:
        """The names of the operators, in the order in which they run."""
        return tuple(row["name"] for row in self._document["ops"])

    @cached_property
    def chip(self) -> Chip:
        """The chip that the plan is for."""
        return Chip.from_dict(self._document["chip"])

    @property
    def bounds(self) -> Bounds:
        """The ideal and the lower bound, in seconds.

        Of the bound, `hbm_s` is proved: all bytes at peak rate. What counts executes rests on the
        best rates of a sample of tiles, less a margin, checked on the tiles that are timed. One
        that a simulation of the plan undercut is withheld from then on: 0.0, and `withheld` says
        why.
        """
        bounds = self._document["bounds"]
        names = [f.name for f in dataclasses.fields(Bounds) if f.name in bounds]
        return Bounds(**{name: bounds[name] for name in names})  # type: ignore[literal-required]

    def summary(self) -> str:
        """The card as text: latency, how near to ideal and bound, what binds, top operators.

        Example:
            >>> "lower bound" in plan.summary()
            True
        """
        return card(self._document).text

    def _repr_html_(self) -> str:
        return card(self._document).html

    def __repr__(self) -> str:
        total_s, ideal_s = self.latency_s, self.bounds.ideal_s
        near = f", {100 * ideal_s / total_s:.1f} % of ideal" if total_s > 0 else ""
        near = f", for {self.objective}" if self.objective != "latency" else near
        chip = self._document["chip"]["name"]
        return f"Plan({self.model_name!r} on {chip!r}, {self.policy}: {duration(total_s)}{near})"

    def explain(self, op: str | int) -> Explanation:
        """Why an operator runs as it does: its Pareto front, and why this plan of it.

        Args:
            op: The name or the id of an operator.

        Raises:
            InvalidInputError: there is no such operator.

        Example:
            >>> plan.explain(0).plans_pareto >= 1
            True
        """
        return explain(self._document, op)

    def plot_memory(self, ax: Axes | None = None) -> Axes:
        """One core's SRAM over time, stacked by kind of buffer, drawn with matplotlib.

        Args:
            ax: Where to draw; a new figure without it.

        Raises:
            MissingPackageError: matplotlib is not installed.
            InvalidInputError: the plan is a forecast (`ideal`, `vgm`), which places no buffers.
        """
        return plot_memory(self._document, ax)

    def timeline(self, *, of: str = "predicted") -> Timeline:
        """When every preload, execute and store happens, and what SRAM and HBM do meanwhile.

        Args:
            of: `predicted`, the planner's forecast, or `simulated`: the last run, as `Run.timeline`
                draws it; of a file that was simulated, the times that it holds.

        Raises:
            InvalidInputError: the plan was not simulated.

        Example:
            >>> plan.timeline().save("plan.pftrace")  # open it in ui.perfetto.dev
        """
        from elk.report.timeline_plan import SOURCES, plan_timeline  # noqa: PLC0415 - as above

        if one_of("of", of, SOURCES) == "simulated" and self._content.run is not None:
            return self._content.run.timeline()
        return plan_timeline(self._document, of)

    def check(self) -> list[str]:
        """Every rule that the plan breaks, in words, by the checker in the core; none if sound.

        A forecast (`ideal`, `vgm`) has no buffers, and there is nothing to check.

        Example:
            >>> plan.check()
            []
        """
        return [] if self.policy in FORECASTS else interruptible(self._content.source.problems)

    def simulate(
        self,
        *,
        fidelity: str = "auto",
        links: str = "shared",
        tile_model: TileFunction | None = None,
    ) -> Run:
        """Runs the plan on the simulator: every step of every core, link and memory of the chip.

        From then on `to_json` and `save` hold what it found, under `simulated`.

        Args:
            fidelity: `core`, every core and link by itself; `symmetric`, equal ones once, as busy
                as the busiest; `auto`, by the size of the chip; `flows`, every send and preload.
            links: How flows meet on a link, as in `elk.play_transfers`.
            tile_model: A function as in `elk.compile`, for a plan of a file planned with one.

        Raises:
            InvalidInputError: the plan is a forecast, or its tile function is not given.

        Warns:
            BoundWarning: the run takes less than the lower bound, which is then withheld.

        Example:
            >>> plan.simulate().latency_s >= plan.bounds.lower_bound_s
            True
        """
        from elk.plan.simulation import how_to_run, tiles_of  # noqa: PLC0415
        from elk.run.run import Run  # noqa: PLC0415 - `import elk` stays small

        document, source = self._document, self._content.source
        how = how_to_run(self.policy, self.chip, fidelity, links)
        tiles = tiles_of(source, self.chip, tile_model)
        ran = interruptible(lambda: source.simulate(tiles, how))
        run = Run(ran, lambda: document, source, tiles)
        self._content.hold_against(run.latency_s)
        self._content.run = run
        return run

    def listing(self, *, core: int = 0, op: str | int | None = None) -> Listing:
        """What one core does: its instructions, at the addresses of the plan's buffers.

        The same steps and bytes that the simulator times; `print` shows them readably. Under
        `sharded` every chip runs the same lists.

        Args:
            core: The core's id.
            op: The name or the id of an operator to list alone; None for all.

        Raises:
            InvalidInputError: there is no such core or operator, or the plan is a forecast of
                policy `ideal`.

        Example:
            >>> plan.listing(core=0)[0].action
            'allocate'
        """
        from elk.plan.instructions import list_core  # noqa: PLC0415 - `import elk` stays small

        return list_core(self._content, core, op)

    def export_program(self, path: str | Path) -> None:
        """Writes the instructions of every core for other back ends, schema `elk.program/1`.

        JSON, a line for each instruction of the program, gzipped; `docs/emulation.md` describes it
        and `elk.load_program` reads it.

        Raises:
            PlanFileError: the file cannot be written.
            InvalidInputError: as `listing`.
        """
        from elk.plan.instructions import export  # noqa: PLC0415 - `import elk` stays small

        export(self._content, Path(path))

    def emulate(
        self,
        inputs: Mapping[str, ArrayLike],
        weights: Mapping[str, ArrayLike] | None = None,
        *,
        check: bool = False,
    ) -> Emulation:
        """Runs the plan with real numbers: every byte that it moves is moved.

        Args:
            inputs: An array for each input of the model, states among them, by name.
            weights: Arrays for weights, by name; those neither given nor in the file are random.
            check: Whether to compare with ONNX Runtime, in `checks` of the result.

        Raises:
            InvalidInputError: an input or a kernel is missing, or the plan is a file's or ideal.
            MissingPackageError: a comparison needs onnxruntime, which is not installed.
            ReferenceRunError: ONNX Runtime refuses the model, or ended its process.

        Example:
            >>> plan.emulate({"x": [[1.0] * 64] * 64})["y"].shape
            (64, 3)
        """
        from elk.emulation.emulate import emulate  # noqa: PLC0415 - `import elk` stays small

        return emulate(self._content.source.emulated(), inputs, weights, check=check)

    def forecast_error(self) -> float:
        """The forecast's error: forecast over simulated latency, less one; it may be negative.

        Simulates the plan if that has not been done, and raises what `simulate` does.

        Example:
            >>> abs(plan.forecast_error()) < 0.5
            True
        """
        run = self._content.run or self.simulate()
        return self.latency_s / run.latency_s - 1

    def to_json(self) -> dict[str, Any]:
        """The plan as a document of schema `elk.plan/1`: times in seconds, sizes in bytes.

        Example:
            >>> plan.to_json()["schema"]
            'elk.plan/1'
        """
        return dict(self._content.whole())

    def save(self, path: str | Path) -> None:
        """Writes the plan as an `.elkplan` file: its JSON, gzipped.

        Equal plans give equal bytes; how long the search took is left out.

        Raises:
            PlanFileError: the file cannot be written.
        """
        write_plan(self._content.whole(), Path(path))

    @staticmethod
    def load(path: str | Path, *, limits: Limits | None = None) -> Plan:
        """Loads a plan as `elk.load_plan` does."""
        return load_plan(path, limits=limits)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Plan):
            return NotImplemented
        return content(self._document) == content(other._document)

    def __hash__(self) -> int:
        return hash((self.model_name, self.policy, self.latency_s))


def load_plan(path: str | Path, *, limits: Limits | None = None) -> Plan:
    """Reads a plan that `Plan.save` wrote; plain JSON of the same schema is read too.

    All of it is checked: its digest, where it has one, and what follows of its program.

    Args:
        path: A regular file.
        limits: What the file may have at most: `plan_bytes`; None for the default of `elk.Limits`.

    Raises:
        PlanFileError: the file is missing, damaged, changed, or of a schema that this version
            cannot read; the message names the key, its value and the rule that it breaks.

    Example:
        >>> plan.save("nerf.elkplan")
        >>> elk.load_plan("nerf.elkplan") == plan
        True
    """
    return Plan(Content(StoredPlan.read(Path(path), limits or DEFAULT)))
