"""Runs: what a plan does on the simulator, every core, link and channel of the chip counted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Final

import numpy as np

from elk import _core
from elk.errors import InvalidInputError, MissingPackageError
from elk.plan_schema import PlanDocument, SimulatedOpRow, SimulatedRow
from elk.readable import duration, share

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from elk.run_card import RunCard
    from elk.timeline import Timeline

SPLIT: Final = ("preload", "execute", "overlapped", "interconnect")
_PS: Final = 1e12  # picoseconds of a second
_PARTS: Final = ("distribute", "gather", "compute", "shift", "reduce")
# Why an execute took longer than its tile calls, and the columns that say for how long.
_STALLS: Final = {
    "preload": ("waited_ps",),
    "exchange": ("distribute_ps", "gather_ps", "shift_ps", "reduce_ps"),
    "link contention": ("link_contention_ps",),
    "SRAM port": ("sram_contention_ps",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """What one resource did for a while, in picoseconds from the start.

    Attributes:
        resource: `hbm`, `cores` (computing) or `links` (exchanging).
        kind: `preload`, `store`, or the part of an execute: `distribute`, `gather`, `compute`,
            `shift`, `reduce`.
        op: The op's id; -1 of a store.
        name: The op's name, or the stored tensor's.
        begin_ps: When it began.
        end_ps: When it ended.
    """

    resource: str
    kind: str
    op: int
    name: str
    begin_ps: int
    end_ps: int


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """How a plan ran on the simulator. Made by `Plan.simulate`.

    Example:
        >>> run = plan.simulate()
        >>> sum(run.split_ps.values()) == run.total_ps
        True
    """

    _run: _core.Run
    _plan: PlanDocument

    @property
    def total_ps(self) -> int:
        """When the last execute or store ended, in picoseconds."""
        return self._run.total_ps

    @property
    def latency_s(self) -> float:
        """When the last execute or store ended, in seconds."""
        return self.total_ps / _PS

    @property
    def fidelity(self) -> str:
        """What was told apart: `core`, every core and link; `symmetric`, equal ones once."""
        return self._run.fidelity.name.lower()

    @property
    def split_ps(self) -> dict[str, int]:
        """How the time divides, in picoseconds; the four parts add up to the whole exactly.

        `preload`: only a preload or store; `execute`: only an execute; `overlapped`: both, as fast
        as each alone; `interconnect`: both, the share by which the slower one was held up.
        """
        return self._run.split_ps

    @cached_property
    def columns(self) -> dict[str, NDArray[np.int64]]:
        """One row an operator, in columns: times in picoseconds, sizes in bytes.

        `waited_ps` is how long the execute waited for its preload, `queued` how many preloads and
        stores were not over when it began; `exchange_bytes` are those of the busiest core,
        `hbm_bytes` those of all chips.
        """
        ops = self._run.ops
        return {**ops, "hbm_bytes": ops["hbm_bytes"] * self._copies}

    def table(self) -> pd.DataFrame:
        """`columns` as a pandas table, with names and kinds of the operators.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        try:
            import pandas as pd  # noqa: PLC0415 - optional, and slow to import
        except ImportError as error:
            raise MissingPackageError(
                "tables need pandas, which is not installed", remedy="pip install pandas"
            ) from error
        ops = self._plan["ops"]
        head = {"name": [row["name"] for row in ops], "kind": [row["kind"] for row in ops]}
        return pd.DataFrame({**head, **self.columns}).rename_axis("op")

    def stalls(self, op: int | None = None) -> dict[str, float]:
        """Seconds for which executes did not compute, by reason; of one operator or of all.

        Raises:
            InvalidInputError: there is no such operator.
        """
        columns, count = self.columns, len(self._plan["ops"])
        if op is not None and not 0 <= op < count:
            raise InvalidInputError(f"op must be from 0 to {count - 1}, got {op!r}")
        rows = slice(None) if op is None else slice(op, op + 1)
        found = {
            reason: sum(int(columns[name][rows].sum()) for name in names) / _PS
            for reason, names in _STALLS.items()
        }
        found["exchange"] -= found["link contention"]
        return found

    @cached_property
    def utilisation(self) -> dict[str, float]:
        """How much of what the chip has was used, from 0 to 1, over the whole run.

        `hbm`: bytes over the peak rate; `links`: bytes received over `cores * link`; `matrix` and
        `vector`: core time in products and convolutions, and in everything else.
        """
        chip, totals = self._plan["chip"], self._run.totals
        core, chips = chip["core"], self._chips // self._copies
        cores = chips * int(core.get("count") or int(np.prod(core["grid"])))
        hbm = chip.get("hbm")
        peak = float(hbm["bytes_per_s"]) * chips if hbm else 0.0
        link = float(chip["interconnect"]["link_bytes_per_s"]) * cores
        time = self.latency_s
        return {
            "hbm": _ratio(totals.hbm_bytes, peak * time),
            "links": _ratio(totals.received_bytes, link * time),
            "matrix": _ratio(totals.matrix_s, cores * time),
            "vector": _ratio(totals.vector_s, cores * time),
        }

    @property
    def energy_j(self) -> float | None:
        """Energy of the run in joules; None where the chip has no coefficients."""
        given = self._plan["chip"].get("energy")
        if not given:
            return None
        totals = self._run.totals
        sram = totals.operand_bytes + 2 * totals.received_bytes + totals.loaded_bytes
        picojoules = (
            given["pj_per_flop"] * totals.flops
            + given["pj_per_sram_byte"] * sram
            + given["pj_per_link_byte_hop"] * totals.hop_bytes
            + given["pj_per_hbm_byte"] * totals.hbm_bytes
            + given["pj_per_inter_chip_byte"] * totals.between_bytes
        )
        watts = given["static_w"] * self._chips
        return float(picojoules * 1e-12 * self._copies + watts * self.latency_s)

    @property
    def _chips(self) -> int:
        return int(self._plan["chip"].get("chips") or 1)

    @property
    def _copies(self) -> int:
        """Chips of a sharded pod, all of which do what one was simulated to do."""
        return self._chips if self._plan["pod"] == "sharded" else 1

    def memory(self) -> dict[str, NDArray[np.int64]]:
        """Bytes of one core's SRAM by kind of buffer over time.

        `time_ps` are the moments at which an instruction begins; from then on, until the next, the
        kinds of buffers hold what their columns say.
        """
        from elk.plots import memory_by_role  # noqa: PLC0415 - few runs are asked

        begins, reached = [], 0
        columns = self.columns
        for opcode, subject in self._plan["program"]:
            if opcode == "execute":
                begins.append(int(columns["execute_begin_ps"][subject]))
                reached = int(columns["execute_end_ps"][subject])
            else:  # Issued as soon as the execute before it has ended.
                begins.append(reached)
        times = {"time_ps": np.array(begins, dtype=np.int64)}
        return {**times, **memory_by_role(self._plan)}

    def intervals(self) -> list[Interval]:
        """What HBM, cores and links did, by time: for timelines and traces."""
        ops, found = self._plan["ops"], []
        kinds = dict(zip(_core.PhaseKind, _PARTS, strict=True))
        phases = {key: column.tolist() for key, column in self._run.phases.items()}
        for op, kind, begin, end in zip(
            *(phases[key] for key in ("op", "kind", "begin_ps", "end_ps")), strict=True
        ):
            part = kinds[_core.PhaseKind(kind)]
            resource = "cores" if part == "compute" else "links"
            found.append(_interval(resource, part, op, ops[op]["name"], (begin, end)))
        for row in self.document()["ops"]:
            if "preload" in row:
                begin, end = row["preload"]
                name = ops[row["id"]]["name"]
                found.append(_interval("hbm", "preload", row["id"], name, (begin, end)))
        for store in self.document()["stores"]:
            begin, end = store["store"]
            found.append(_interval("hbm", "store", -1, store["tensor"], (begin, end)))
        return sorted(found, key=lambda x: (x.begin_ps, x.end_ps, x.resource, x.op))

    def timeline(self) -> Timeline:
        """When every preload, execute and store ran, and the parts of every execute.

        Example:
            >>> run.timeline().end_ps == run.total_ps
            True
        """
        from elk.timeline_plan import plan_timeline  # noqa: PLC0415 - few runs are drawn

        document: PlanDocument = {**self._plan, "simulated": self.document()}
        return plan_timeline(document, "simulated", self.intervals())

    def save_trace(self, path: str | PathLike[str]) -> None:
        """Writes `timeline()` as a trace; the same as `run.timeline().save(path)`.

        Args:
            path: `.pftrace` for ui.perfetto.dev, `.json` for Chrome's tracing page.

        Raises:
            InvalidInputError: the file has another suffix.

        Example:
            >>> run.save_trace("run.pftrace")
        """
        self.timeline().save(path)

    def document(self) -> SimulatedRow:
        """The run as `simulated` in the plan's document, schema `elk.plan/1`: all picoseconds."""
        times = {key: column.tolist() for key, column in self.columns.items()}
        ops: list[SimulatedOpRow] = []
        for i, row in enumerate(self._plan["ops"]):
            execute = [times["execute_begin_ps"][i], times["execute_end_ps"][i]]
            if row["preload"] is None:
                ops.append({"id": i, "execute": execute})
            else:
                preload = [times["preload_begin_ps"][i], times["preload_end_ps"][i]]
                ops.append({"id": i, "preload": preload, "execute": execute})
        stores = {key: column.tolist() for key, column in self._run.stores.items()}
        names = [x for op, x in self._plan["program"] if op == "store_async"]
        return {
            "total_ps": self.total_ps,
            "fidelity": self.fidelity,
            "ops": ops,
            "stores": [
                {"tensor": name, "store": [begin, end]}
                for name, begin, end in zip(
                    names, stores["begin_ps"], stores["end_ps"], strict=bool(stores["end_ps"])
                )
            ],
            "split_ps": self.split_ps,
        }

    @cached_property
    def _card(self) -> RunCard:
        from elk.run_card import run_card  # noqa: PLC0415 - few runs are shown

        return run_card(self, self._plan)

    def summary(self) -> str:
        """The card as text: latency, split, utilisation, top operators and why they stall."""
        return self._card.text

    def _repr_html_(self) -> str:
        return self._card.html

    def __repr__(self) -> str:
        ideal_s = self._plan["bounds"]["ideal_s"]
        return (
            f"Run({self._plan['model']['name']!r} on {self._plan['chip']['name']!r}, "
            f"{self._plan['policy']}: {duration(self.latency_s)}, "
            f"{share(ideal_s, self.latency_s)} of ideal)"
        )


def _interval(resource: str, kind: str, op: int, name: str, span: tuple[int, int]) -> Interval:
    begin, end = span
    return Interval(resource=resource, kind=kind, op=op, name=name, begin_ps=begin, end_ps=end)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
