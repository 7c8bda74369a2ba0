"""Traces of plans: a program as the simulator played it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from elk.analyze.accessed import Accessed
from elk.analyze.columns import Columns, columns
from elk.analyze.resources import resource_names, speeds_of
from elk.analyze.trace import Trace
from elk.analyze.trace_facts import TraceFacts
from elk.analyze.transfers import program_times
from elk.analyze.units import Recorded, Span, even_units, recorded_units
from elk.base.waiting import interruptible
from elk.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elk import _core

_KINDS = ("preload", "store")  # in the order of the core's `Opcode`


@dataclass(frozen=True, eq=False, repr=False)
class ProgramTrace(Trace):
    """What the simulator played of a plan, and how it ran."""

    _recording: _core.Recording | None  # without it, nothing can be played again
    _run: _core.Run
    _facts: TraceFacts
    begin_ps: int = 0
    _lists: Accessed | None = None
    _why: str = "a run of fidelity 'flows' cannot be played again"

    @property
    def name(self) -> str:
        """Model, chip, policy and fidelity."""
        facts = self._facts
        return f"{facts.model} on {facts.chip}: {facts.policy}, {self.fidelity}"

    @property
    def end_ps(self) -> int:
        """When the last execute, and the last store that is waited for, is over."""
        return self._run.total_ps

    @property
    def fidelity(self) -> str:
        """What was told apart: `core`, `symmetric` or `flows`."""
        return self._run.fidelity.name.lower()

    @cached_property
    def _issues(self) -> NDArray[np.int64]:
        """The positions of the instructions that issue a transfer."""
        return np.array(
            [i for i, (opcode, _) in enumerate(self._facts.instructions) if opcode != "execute"],
            dtype=np.int64,
        )

    def _transfer_times(self) -> Mapping[str, NDArray[Any]]:
        facts, found = self._facts, self._run.transfers
        count = len(found["issued_ps"])
        issues = self._issues[: count - len(facts.before)]  # without HBM nothing is stored
        names = [name for _, name in facts.before]
        for position in issues.tolist():
            _, subject = facts.instructions[position]
            names.append(subject if isinstance(subject, str) else facts.ops[subject])
        return {
            **program_times(found),
            "instruction": np.concatenate([np.full(len(facts.before), -1), issues]),
            "name": np.array(names, dtype=np.str_),
            "kind": np.array([_KINDS[code] for code in found["opcode"].tolist()], dtype=np.str_),
            "bytes": facts.copies * found["hbm_bytes"],
        }

    @cached_property
    def instruction_times(self) -> Columns:
        """When every instruction began and was over; an issue takes no time.

        Example:
            >>> times = trace.instruction_times
            >>> int(times["end_ps"].max()) <= trace.end_ps
            True
        """
        begins = self._run.ops["execute_begin_ps"].tolist()
        ends = self._run.ops["execute_end_ps"].tolist()
        now, begin, end = self.begin_ps, [], []
        for opcode, subject in self._facts.instructions:
            if opcode == "execute":
                assert isinstance(subject, int)
                begin.append(begins[subject])
                now = ends[subject]
            else:
                begin.append(now)
            end.append(now)
        return columns(
            {
                "begin_ps": np.array(begin, dtype=np.int64),
                "end_ps": np.array(end, dtype=np.int64),
            }
        )

    @property
    def _accessed(self) -> Accessed:
        if self._lists is None:
            raise InvalidInputError("the trace does not say what its instructions read and write")
        return self._lists

    @cached_property
    def _recorded(self) -> Recorded:
        found = self._played().columns()
        return Recorded(
            names=resource_names(found),
            kinds=found["resource_purpose"].tolist(),
            each=self.fidelity == "core",
            rates=found["resource_rate"],
        )

    def _played(self) -> _core.Recording:
        if self._recording is None:
            raise InvalidInputError(
                self._why,
                code="no_replay",
                remedy='simulate the plan with fidelity="core" or "symmetric", and its tile model',
            )
        return self._recording

    def units(
        self, width_ps: int, *, begin_ps: int | None = None, end_ps: int | None = None
    ) -> Columns:
        """What every unit did in equal parts of the trace, over all chips.

        `hbm_bytes` are read and written; `received_bytes` are what cores received; of the time of
        cores, `matrix_core_s` and `vector_core_s` went to the kernels of products and convolutions
        and of other operators, `other_core_s` to calls that add up or copy what arrived. Their
        shares are `hbm_used`, `matrix_used`, `vector_used` and `other_used`. For each
        kind of port, link and memory (`sram`, `send`, `receive`, `link`, `hbm`, ...): `_bytes` and
        the `_mean` share of what all of that kind could carry, the share `_busiest` of the busiest,
        and its name, `_busiest_is`. At fidelity `core` rates are those that the simulator played.
        At `symmetric` only the busiest of each kind is known, and the time of cores, like what
        cores receive of one exchange, counts as even within a stage; at `flows` all is even.

        Args:
            width_ps: How long a part is, from 1 ps on.
            begin_ps: Where the first part begins; None for the beginning of the trace.
            end_ps: Which time the last part reaches; None for the end of the trace.

        Raises:
            InvalidInputError: the width is no whole number above 0, or there are over a million
                parts.

        Example:
            >>> found = trace.units(width_ps=1000, end_ps=1_000_000)
            >>> len(found["time_ps"])
            1000
        """
        span = self._span(width_ps, begin_ps, end_ps)
        return columns({"time_ps": span.edges[:-1].astype(np.int64), **self._units_in(span)})

    def _units_in(self, span: Span) -> dict[str, Any]:
        """The columns of `units` in any equal parts, without their times."""
        facts = self._facts
        found: dict[str, Any]
        if self._recording is None:
            found = dict(even_units(self._run, facts.matrix, span, facts.copies))
        else:
            found = recorded_units(self._recording, span, self._recorded, facts.copies)
        for unit in ("matrix", "vector", "other"):
            if (spent := found.get(f"{unit}_core_s")) is not None:
                found[f"{unit}_used"] = spent / (facts.copies * facts.cores * span.width_s)
        most = facts.copies * facts.hbm_bytes_per_s * span.width_s
        found["hbm_used"] = found["hbm_bytes"] / most if most > 0 else np.zeros(span.bins)
        return found

    def utilisation_in(self, span: Span) -> dict[str, NDArray[np.float64]]:
        """Shares of HBM, links and matrix and vector units in equal parts of the trace."""
        found, facts = self._units_in(span), self._facts
        most = facts.copies * facts.link_bytes_per_s * facts.cores * span.width_s
        used = {unit: found[f"{unit}_used"] for unit in ("hbm", "matrix", "vector")}
        return {**used, "links": found["received_bytes"] / most}

    def links(self) -> Columns:
        """Every port, link and memory of the machine: its share in use, and how long it was busy.

        `used` is what it moved over what it could have moved in the time of the trace; the first
        row of the largest `used` is the busiest. At fidelity `symmetric` a row is the busiest of a
        kind.

        Example:
            >>> found = trace.links()
            >>> bool((found["used"] <= 1 + 1e-9).all())
            True
        """
        span = Span(begin_ps=self.begin_ps, end_ps=max(self.end_ps, self.begin_ps + 1), bins=1)
        recording, known = self._played(), self._recorded
        found = interruptible(lambda: recording.units(span.begin_ps, span.end_ps, 1))
        rates = np.maximum(known.rates, 1)
        return columns(
            {
                "name": np.array(known.names, dtype=np.str_),
                "used": found["carried"] / (rates * span.width_s),
                "busy_s": found["busy_s"],
            }
        )

    def replay(self, *, slow: Mapping[str, float] | None = None) -> ProgramTrace:
        """Plays the trace again, perhaps on a slower machine: to the picosecond the same without.

        Args:
            slow: The share of its speed that a resource keeps, by its name (`"send 17"`, `"link
                3-4"`) or the name of a kind (`"hbm"`, `"send"`); `links` has the names.

        Raises:
            InvalidInputError: there is no such resource, a share is not above 0, or the trace is
                of fidelity `flows`.

        Example:
            >>> trace.replay().total_ps == trace.total_ps
            True
            >>> trace.replay(slow={"hbm": 0.5}).total_ps >= trace.total_ps
            True
        """
        recording = self._played()
        if slow:
            known = self._recorded
            recording = recording.at_speeds(speeds_of(slow, known.names, known.kinds))
        return replace(self, _recording=recording, _run=interruptible(recording.play))

    def window(self, first: int, count: int) -> ProgramTrace:
        """Some of the instructions, as they ran, to be played again without those before them.

        Args:
            first: The position of the first of them.
            count: How many; those beyond the last instruction are left out.

        Raises:
            InvalidInputError: there are no such instructions.
        """
        facts = self._facts
        if not (0 <= first < len(facts.instructions)) or count < 1:
            raise InvalidInputError(
                f"there are no {count!r} instructions from {first!r} on: the trace has "
                f"{len(facts.instructions):,}",
                place="first",
            )
        last = min(first + count, len(facts.instructions))
        played = self._played()
        recording = interruptible(lambda: played.window(first, last))
        jobs = recording.columns()
        names = {
            (code, subject): (kind, name)
            for code, subject, kind, name in zip(
                self._run.transfers["opcode"].tolist(),
                self._run.transfers["subject"].tolist(),
                self._transfers["kind"].tolist(),
                self._transfers["name"].tolist(),
                strict=True,
            )
        }
        queued = zip(jobs["job_opcode"].tolist(), jobs["job_subject"].tolist(), strict=True)
        kept = replace(
            facts,
            instructions=facts.instructions[first:last],
            before=tuple(names[job] for job in queued),
        )
        lists = self._accessed.window(first, last)
        ran = interruptible(recording.play)
        return ProgramTrace(recording, ran, kept, int(jobs["state_now"][0]), lists)

    def _work(self) -> list[tuple[str, str, int, int]]:
        times = self.instruction_times
        found = []
        for (opcode, subject), begin, end in zip(
            self._facts.instructions,
            times["begin_ps"].tolist(),
            times["end_ps"].tolist(),
            strict=True,
        ):
            if opcode == "execute":
                assert isinstance(subject, int)
                found.append(("cores", self._facts.ops[subject], begin, end))
        return found

    def save(self, path: str | PathLike[str]) -> None:
        """Writes an `.elktrace` file: equal traces give equal bytes.

        Raises:
            OutputFileError: the file cannot be written.
            InvalidInputError: the trace is of fidelity `flows`.

        Example:
            >>> trace.save("x.elktrace")
            >>> elk.load_trace("x.elktrace").replay().total_ps == trace.total_ps
            True
        """
        from elk.analyze.writing import write_trace  # noqa: PLC0415 - few traces are saved

        write_trace(self._played(), self._accessed, self._facts, Path(path))
