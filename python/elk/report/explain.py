"""Why an operator runs as it does: its Pareto front, the plan chosen, and what held it there."""

from __future__ import annotations

import difflib
import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elk.base.readable import amount, duration
from elk.document.schema import FrontRow, OpRow, PlanDocument
from elk.errors import InvalidInputError
from elk.report.plots import plot_front
from elk.report.sram import free_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHOWN_OPTIONS = 40
_NAME_LENGTH = 200
_REASON_LENGTH = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One plan of an operator, alone on the chip with nothing in place.

    Attributes:
        rank: 1 for the fastest.
        factors: Into how many parts each axis is cut.
        steps: Compute steps; more than one where tensors rotate between cores.
        cores: Cores that work.
        space_bytes: SRAM on the busiest core.
        time_s: Execution alone, in seconds.
        compute_s: The part of it that computes, on the slowest core.
        exchange_bytes: Sent or received by the busiest core.
        hbm_bytes: Read from HBM, over all chips.
        added: Whether it is not on the front: the search added it to suit a neighbour's layout.
    """

    rank: int
    factors: dict[str, int]
    steps: int
    cores: int
    space_bytes: int
    time_s: float
    compute_s: float
    exchange_bytes: int
    hbm_bytes: int
    added: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why one operator runs as it does. Show it, print it, or `.plot()` it.

    Attributes:
        op: The id of the operator.
        name: Its name.
        kind: Its kind, such as `matmul`.
        candidates: The Pareto front in (space, time, exchange, HBM bytes), and what the search
            added to suit neighbours or for room, by time.
        chosen: The candidate that the plan uses.
        given: Whether the candidates were handed in, and are all there are.
        plans_complete: All ways to cut the operator.
        plans_filtered: Those that pass the constraints and fit SRAM.
        plans_pareto: Those on the front.
        min_core_share: The least share of the cores that a plan had to use; 0 for any.
        max_padding: The most by which padding could grow a tensor; 0 for any.
        reasons: Why this one, in sentences.
    """

    op: int
    name: str
    kind: str
    candidates: tuple[Candidate, ...]
    chosen: Candidate
    given: bool
    plans_complete: int
    plans_filtered: int
    plans_pareto: int
    min_core_share: float
    max_padding: float
    reasons: tuple[str, ...]

    @property
    def text(self) -> str:
        """The explanation as plain text."""
        head = [
            f"{self.name} ({self.kind}, op {self.op})",
            self._counts(),
            *self.reasons,
            "",
        ]
        widths = [max(map(len, column)) for column in zip(*self._rows(), strict=True)]
        table = [
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in self._rows()
        ]
        return "\n".join([*head, *table, *self._rest()])

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        rank = self.chosen.rank
        return f"Explanation({self.name!r}: rank {rank} of {len(self.candidates)} candidates)"

    def _repr_html_(self) -> str:
        head, *rows = self._rows()
        lines = "<br>".join(html.escape(reason[:_REASON_LENGTH]) for reason in self.reasons)
        cells = "".join(_html_row(row, "td") for row in rows)
        return (
            f"<div><b>{html.escape(self.name[:_NAME_LENGTH])}</b> ({html.escape(self.kind)}, "
            f"op {self.op}): {self._counts()}<br>{lines}"
            f"<table><thead>{_html_row(head, 'th')}</thead><tbody>{cells}</tbody></table>"
            f"{html.escape(' '.join(self._rest()))}</div>"
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """The Pareto front as a scatter of time over space, with the chosen plan marked.

        Args:
            ax: Where to draw; a new figure without it.

        Raises:
            MissingPackageError: matplotlib is not installed.
        """
        rows = [(c.space_bytes, c.time_s, c.added) for c in self.candidates]
        title = (
            f"{self.name}: {self.plans_complete:,} plans, {self.plans_filtered:,} filtered, "
            f"{self.plans_pareto:,} Pareto"
        )
        return plot_front(title, rows, (self.chosen.space_bytes, self.chosen.time_s), ax)

    def _counts(self) -> str:
        """The three spaces, as in T10's Figure 17, and what the second was filtered by."""
        if self.given:
            return f"{self.plans_pareto:,} plans, all that were handed in"
        asked = constraints(self.min_core_share, self.max_padding)
        return (
            f"{self.plans_complete:,} plans, {self.plans_filtered:,} pass the filters ({asked}), "
            f"{self.plans_pareto:,} on the Pareto front"
        )

    def _rows(self) -> list[tuple[str, ...]]:
        """The table: a head, then one row a candidate, the chosen one always among them."""
        shown = self.candidates[:_SHOWN_OPTIONS]
        if self.chosen not in shown:
            shown = (*shown, self.chosen)
        head = ("", "rank", "time", "compute", "space", "exchange", "HBM", "cores", "steps", "cut")
        return [head, *(self._row(candidate) for candidate in shown)]

    def _row(self, c: Candidate) -> tuple[str, ...]:
        return (
            "->" if c == self.chosen else "",
            f"{c.rank}{'+' * c.added}",
            duration(c.time_s),
            duration(c.compute_s),
            amount(c.space_bytes),
            amount(c.exchange_bytes),
            amount(c.hbm_bytes),
            str(c.cores),
            str(c.steps),
            " ".join(f"{axis}/{cut}" for axis, cut in c.factors.items() if cut > 1) or "whole",
        )

    def _rest(self) -> list[str]:
        hidden = len(self.candidates) - _SHOWN_OPTIONS
        return [f"and {hidden:,} more in `.candidates`"] if hidden > 0 else []


def explain(document: PlanDocument, op: str | int) -> Explanation:
    """Why `op`, a name or an id, runs as it does.

    Raises:
        InvalidInputError: there is no such operator; the message names the nearest.
    """
    row = find_op(document, op)
    front = document["fronts"][row["front"]]
    times = front["time_s"]
    order = sorted(range(len(times)), key=lambda i: (times[i], i))
    candidates = tuple(_candidate(front, i, rank) for rank, i in enumerate(order, start=1))
    chosen = candidates[order.index(row["choice"])]
    return Explanation(
        op=row["id"],
        name=row["name"],
        kind=row["kind"],
        candidates=candidates,
        chosen=chosen,
        given=front.get("given", False),
        plans_complete=front["complete"],
        plans_filtered=front["filtered"],
        plans_pareto=front["pareto"],
        min_core_share=document["search"].get("min_core_share", 0.0),
        max_padding=document["search"].get("max_padding", 0.0),
        reasons=tuple(_reasons(document, row, candidates, chosen)),
    )


def constraints(min_core_share: float, max_padding: float) -> str:
    """What plans of an operator had to satisfy, in words.

    Example:
        >>> constraints(0.5, 0.0)
        'at least 50 % of the cores, any padding, fits SRAM'
    """
    cores = f"at least {100 * min_core_share:g} % of the cores" if min_core_share else "any cores"
    padding = f"padding up to x {max_padding:g}" if max_padding else "any padding"
    return f"{cores}, {padding}, fits SRAM"


def find_op(document: PlanDocument, op: str | int) -> OpRow:
    """The row of the operator with this name or id."""
    ops = document["ops"]
    if isinstance(op, int) and not isinstance(op, bool):
        if 0 <= op < len(ops):
            return ops[op]
        raise InvalidInputError(
            f"op must be a name or an id from 0 to {len(ops) - 1}, got {op}", code="unknown_name"
        )
    names = [row["name"] for row in ops]
    if op in names:
        return ops[names.index(str(op))]
    near = difflib.get_close_matches(str(op), names, n=3, cutoff=0.4)
    raise InvalidInputError(
        f"no operator is called {op!r}",
        code="unknown_name",
        remedy=f"did you mean {' or '.join(map(repr, near))}?" if near else None,
    )


def _candidate(front: FrontRow, index: int, rank: int) -> Candidate:
    factors = dict(zip(front["axes"], front["factors"][index], strict=True))
    return Candidate(
        rank=rank,
        factors=factors,
        steps=front["steps"][index],
        cores=front["cores"][index],
        space_bytes=front["space_bytes"][index],
        time_s=front["time_s"][index],
        compute_s=front["compute_s"][index],
        exchange_bytes=front["exchange_bytes"][index],
        hbm_bytes=front["hbm_bytes"][index],
        added=index >= front["pareto"],
    )


def _reasons(
    document: PlanDocument, row: OpRow, candidates: tuple[Candidate, ...], chosen: Candidate
) -> list[str]:
    given = document["fronts"][row["front"]].get("given", False)
    reasons = [_rank(candidates, chosen, given=given)]
    if chosen.rank > 1:
        reasons.append(_what_holds_it_back(document, row, candidates[0], chosen))
    reasons.append(_in_place(document, row))
    if row["execute"]["extrapolated"] > 0.0:
        reasons.append(
            "Its tile lies beyond what the tile model was fitted on: compute is extrapolated."
        )
    preload = row["preload"]
    if "collective" in row:
        reasons.append(_exchanged(row))
    if preload is not None:
        divisors = ", ".join(f"{name} 1/{d}" for name, d in preload["divisor"].items())
        reasons.append(
            f"Preload: {amount(preload['hbm_bytes'])} from HBM in {duration(preload['time_s'])}; "
            f"each core receives {divisors} and fetches {amount(preload['distribute_bytes'])} "
            "from peers."
        )
    return reasons


def _exchanged(row: OpRow) -> str:
    """What a collective does, and how."""
    moved, execute = row["collective"], row["execute"]
    how = {"ring": "in a ring", "direct": "each to all others"}[execute["algorithm"]["collective"]]
    return (
        f"Between chips: {row['operands'][0]['tensor']} from {moved['before']} to "
        f"{moved['after']} on {moved['chips']} chips, each sends {amount(moved['sent_bytes'])}, "
        f"{how}: gather {duration(execute['distribute_s'])}, links {duration(execute['shift_s'])}, "
        f"scatter {duration(execute['reduce_s'])}."
    )


def _rank(candidates: tuple[Candidate, ...], chosen: Candidate, *, given: bool) -> str:
    """Where the choice stands between the fastest and the smallest plan."""
    if all(candidate.added for candidate in candidates):
        return "No plan passes the filters: it is the fastest of those that fit."
    if len(candidates) == 1:
        return f"It is the only plan {'that was handed in' if given else 'on the front'}."
    smallest = min(candidates, key=lambda c: (c.space_bytes, c.rank))
    text = f"Rank {chosen.rank} of {len(candidates)} in time alone"
    if chosen.space_bytes > smallest.space_bytes:
        saved = smallest.time_s - chosen.time_s
        more = chosen.space_bytes - smallest.space_bytes
        text += f"; {duration(saved)} faster than the smallest plan for {amount(more)} more a core"
    if chosen.added:
        text += "; not on the front, but added by the search to suit how a neighbour's tensors lie"
    return text + "."


def _what_holds_it_back(
    document: PlanDocument, row: OpRow, fastest: Candidate, chosen: Candidate
) -> str:
    """Why not the plan that is fastest alone."""
    text = f"It is {duration(chosen.time_s - fastest.time_s)} slower alone than rank 1"
    more = fastest.space_bytes - chosen.space_bytes
    free = free_bytes(document, row["id"])
    if free is not None and more > free:
        return (
            f"{text} and saves {amount(more)} of SRAM a core ({amount(chosen.space_bytes)} instead "
            f"of {amount(fastest.space_bytes)}): SRAM binds, only {amount(free)} are free while "
            "it runs."
        )
    in_place_s = row["execute"]["time_s"]
    if in_place_s < fastest.time_s:
        return (
            f"{text}, but part of what it reads lies already where it needs it: "
            f"{duration(in_place_s)} in place."
        )
    if fastest.hbm_bytes > chosen.hbm_bytes:
        return f"{text}, which reads {amount(fastest.hbm_bytes - chosen.hbm_bytes)} more from HBM."
    if more > 0:
        return f"{text} and leaves {amount(more)} of SRAM a core to preloads of later operators."
    return f"{text}: with its neighbours and the preloads beside it, the schedule is faster so."


def parts(row: OpRow) -> dict[str, float]:
    """Seconds of one execute alone on the chip, by what they are spent on."""
    execute, preload = row["execute"], row["preload"]
    exchange = execute["distribute_s"] + execute["shift_s"] + execute["reduce_s"]
    exchange += preload["distribute_s"] if preload is not None else 0.0
    return {"compute": execute["compute_s"], "link": exchange}


def waits_s(document: PlanDocument) -> list[float]:
    """Seconds that each execute waited for its preload, after the execute before it ended."""
    ends = [0.0] + [row["execute"][1] for row in document["predicted"]["ops"]]
    begins = [row["execute"][0] for row in document["predicted"]["ops"]]
    return [max(0.0, begin - end) for begin, end in zip(begins, ends, strict=False)]


def _in_place(document: PlanDocument, row: OpRow) -> str:
    """What binds the operator where it stands in the model."""
    begin, end = document["predicted"]["ops"][row["id"]]["execute"]
    spent = parts(row)
    wait = waits_s(document)[row["id"]]
    contention = max(0.0, end - begin - spent["compute"] - spent["link"])
    binds = {"compute": spent["compute"], "link": spent["link"] + contention, "HBM": wait}
    name = max(binds, key=lambda key: binds[key])
    rounds = row["execute"].get("rounds", {})
    said = "".join(f" in {count} rounds along {axis}" for axis, count in rounds.items())
    text = (
        f"In place it takes {duration(end - begin)}{said}: "
        f"compute {duration(spent['compute'])}, exchange {duration(spent['link'])}"
    )
    if contention > 0.01 * (end - begin):
        text += f", slowed by preloads on the same links and SRAM ports {duration(contention)}"
    if wait > 0:
        text += f"; before it, the cores wait {duration(wait)} for HBM"
    return f"{text}. Bound by {name}."


def _html_row(cells: tuple[str, ...], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"
