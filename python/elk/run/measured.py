"""What a run on the simulator measured, every core, link and channel of the chip counted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from elk.analyze.program_trace import ProgramTrace
from elk.analyze.units import MOST_BINS, Span
from elk.base.optional import pandas
from elk.base.waiting import interruptible
from elk.document.carried import Carried
from elk.errors import InvalidInputError
from elk.report.links import link_table
from elk.report.sram import memory_by_role
from elk.run.power import energy_parts_j, execute_power_w
from elk.run.recorded import accessed, trace_facts
from elk.run.usage import Capacity, queue_over_time

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from elk.analyze.columns import Columns

SPLIT: Final = ("preload", "execute", "overlapped", "interconnect")
_PS: Final = 1e12  # picoseconds of a second
_EXCHANGES: Final = ("distribute_ps", "gather_ps", "shift_ps", "reduce_ps")


@dataclass(frozen=True, eq=False, repr=False)
class Measured(Carried):
    """The numbers of a run, which `Run` shows."""

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
        """What was told apart: `core`, cores and links; `symmetric`, kinds; `flows`, sends."""
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
        `hbm_bytes` and `loaded_bytes` (what cores received of them) those of all chips; executes
        of the same `execution` do the same.
        """
        ops = self._run.ops
        return ops | {name: ops[name] * self._copies for name in ("hbm_bytes", "loaded_bytes")}

    def rows(self) -> list[dict[str, Any]]:
        """`columns` as one dictionary an operator, with name, kind, `bound_by` and `power_w`.

        `bound_by` is what took most of its time: `compute`, or a reason of `stalls`; `power_w` the
        mean power over its execute in watts, None where the chip has no coefficients.

        Example:
            >>> run.rows()[0]["bound_by"] in ("compute", *run.stalls())
            True
        """
        named = self._named_columns()
        return [dict(zip(named, row, strict=True)) for row in zip(*named.values(), strict=True)]

    def table(self) -> pd.DataFrame:
        """`rows` as a pandas table.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        made: pd.DataFrame = pandas("run.rows()").DataFrame(self._named_columns())
        return made.rename_axis("op")

    def _named_columns(self) -> dict[str, list[Any]]:
        ops, reasons, power_w = self._plan["ops"], self._reasons_ps, self._execute_power_w
        most = np.argmax([*reasons.values()], axis=0) if ops else []
        return {
            "name": [row["name"] for row in ops],
            "kind": [row["kind"] for row in ops],
            "bound_by": [[*reasons][i] for i in most],
            **{name: column.tolist() for name, column in self.columns.items()},
            "power_w": [None] * len(ops) if power_w is None else power_w.tolist(),
        }

    def stalls(self, op: int | None = None) -> dict[str, float]:
        """Seconds for which nothing was computed, by reason; of one operator or of the run.

        `preload`: executes waited for HBM; `exchange`: for other cores and synchronisation; `link
        contention`: for preloads and stores on the links of exchanges; `SRAM port`: for what
        arrived at the core or left it while it computed; `store`: after the last execute the run
        waited for stores, so that of an operator it is 0. With the time of tile calls, those that
        add up or copy what came from other cores included, the reasons add up to the whole.

        Raises:
            InvalidInputError: there is no such operator.

        Example:
            >>> calls_ps = run.columns["compute_ps"] - run.columns["sram_contention_ps"]
            >>> round(sum(run.stalls().values()) * 1e12) + int(calls_ps.sum()) == run.total_ps
            True
        """
        count = len(self._run.ops["hbm_bytes"])
        if op is not None and not 0 <= op < count:
            raise InvalidInputError(f"op must be from 0 to {count - 1}, got {op!r}")
        rows = slice(None) if op is None else slice(op, op + 1)
        spent_ps = {reason: int(column[rows].sum()) for reason, column in self._reasons_ps.items()}
        del spent_ps["compute"]
        found = self.transfers()
        stored = found["kind"] == "store"
        spent_ps["store"] = int(found["stall_ps"][stored].sum()) if op is None else 0
        return {reason: ps / _PS for reason, ps in spent_ps.items()}

    @cached_property
    def _reasons_ps(self) -> dict[str, NDArray[np.int64]]:
        """What every execute and the wait before it were spent on."""
        columns = self.columns
        exchange = sum(columns[name] for name in _EXCHANGES)
        return {
            "preload": columns["waited_ps"],
            "exchange": exchange - columns["link_contention_ps"],
            "link contention": columns["link_contention_ps"],
            "SRAM port": columns["sram_contention_ps"],
            "compute": columns["compute_ps"] - columns["sram_contention_ps"],
        }

    def transfers(self) -> Columns:
        """Every preload and store: what it waited for, and for how long the run waited for it.

        The columns are those of `Trace.transfers`.

        Example:
            >>> found = run.transfers()
            >>> int(found["stall_ps"].sum()) == round(
            ...     1e12 * (run.stalls()["preload"] + run.stalls()["store"]))
            True
        """
        return self._ran.transfers()

    @cached_property
    def _ran(self) -> ProgramTrace:
        """The run as a trace that cannot be played again."""
        return ProgramTrace(None, self._run, trace_facts(self._plan, self._capacity, self._copies))

    @cached_property
    def _traced(self) -> ProgramTrace:
        """The run as a trace; of fidelity `flows`, or without its tile model, not to play again."""
        known = replace(self._ran, _lists=accessed(self._source.placed(), self._ran._facts))
        if self.fidelity == "flows":
            return known
        if self._tiles_left:
            return replace(known, _why="the run arrived without the tile model that it ran with")
        try:
            recorded = interruptible(lambda: self._source.record(self._tiles, self._run.fidelity))
        except InvalidInputError as error:
            why = f"the run arrived without the tile model that it ran with: {error.message}"
            return replace(known, _why=why)
        return replace(known, _recording=recorded)

    @cached_property
    def utilisation(self) -> dict[str, float]:
        """How much of what the chip has was used, from 0 to 1, over the whole run.

        `hbm`: bytes over the peak rate; `links`: bytes received over `cores * link`; `matrix` and
        `vector`: core time in products and convolutions, and in everything else.
        """
        totals, most, time_s = self._run.totals, self._capacity, self.latency_s
        return {
            "hbm": _ratio(totals.hbm_bytes, most.hbm * time_s),
            "links": _ratio(totals.received_bytes, most.links * time_s),
            "matrix": _ratio(totals.matrix_s, most.cores * time_s),
            "vector": _ratio(totals.vector_s, most.cores * time_s),
        }

    def utilisation_over_time(self, bins: int = 200) -> dict[str, NDArray[np.float64]]:
        """`utilisation` in equal parts of the run, whose mean it is; from 0 to 1.

        It is what `Trace.units` finds, as shares of what the chips can do.

        Args:
            bins: How many parts. `time_ps` are their edges, one more.

        Raises:
            InvalidInputError: there are no bins, or too many.

        Example:
            >>> used = run.utilisation_over_time(bins=50)
            >>> bool(abs(used["hbm"].mean() - run.utilisation["hbm"]) < 1e-9)
            True
        """
        if not 1 <= bins <= MOST_BINS:
            raise InvalidInputError(f"bins must be from 1 to {MOST_BINS:,}, got {bins!r}")
        span = Span(begin_ps=0.0, end_ps=float(self.total_ps), bins=bins)
        return {"time_ps": span.edges, **self._traced.utilisation_in(span)}

    def links(self) -> pd.DataFrame:
        """Every link and port of the network: bytes and `busy_s`, in a run of fidelity `flows`.

        On a sharded pod the links of one chip, for all chips do the same; cores are numbered over
        the chips that were simulated. `used` is bytes over what the run would have let through.

        Raises:
            InvalidInputError: the run is of another fidelity.
            MissingPackageError: pandas is not installed.
        """
        return link_table(self._run)

    @property
    def flops(self) -> float:
        """Floating-point operations of the run, a multiply-add counted as two."""
        return float(self._run.totals.flops * self._copies)

    @property
    def energy_j(self) -> float | None:
        """Energy of the run in joules; None where the chip has no coefficients."""
        parts = self.energy_parts_j
        return sum(parts.values()) if parts else None

    @cached_property
    def energy_parts_j(self) -> dict[str, float]:
        """Joules that `energy_j` adds up, by what they went to; empty without coefficients."""
        given = self._plan["chip"].get("energy")
        if not given:
            return {}
        parts = energy_parts_j(self._run.totals, given, self._copies)
        return {**parts, "static": given["static_w"] * self._chips * self.latency_s}

    @property
    def power_w(self) -> float | None:
        """Mean power of all chips over the run in watts; None where the chip has no coefficients.

        Example:
            >>> run = elk.compile("models/nerf.onnx", "a100", bindings={"rows": 64}).simulate()
            >>> run.power_w == run.energy_j / run.latency_s
            True
        """
        return None if self.energy_j is None else _ratio(self.energy_j, self.latency_s)

    @property
    def peak_power_w(self) -> float | None:
        """The largest mean power of all chips over one execute in watts; None as `power_w`.

        An execute takes what it does, its share by time of the preloads and stores beside it, and
        what idling takes: the largest `power_w` of `rows`.

        Example:
            >>> run.peak_power_w is None  # "tiny" has no coefficients
            True
        """
        return None if (w := self._execute_power_w) is None else float(w.max(initial=0.0))

    @cached_property
    def _execute_power_w(self) -> NDArray[np.float64] | None:
        given = self._plan["chip"].get("energy")
        return execute_power_w(self._run, given, self._copies, self._chips) if given else None

    @cached_property
    def _capacity(self) -> Capacity:
        return Capacity.of_chips(self._plan["chip"], self._chips // self._copies)

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
        times = self._ran.instruction_times["begin_ps"]
        return {"time_ps": times, **memory_by_role(self._plan)}

    def queue(self) -> dict[str, NDArray[np.int64]]:
        """Preloads and stores that are issued and not over: `length` from each `time_ps` on.

        Example:
            >>> queue = run.queue()
            >>> int(queue["length"].max()) >= int(run.columns["queued"].max())
            True
        """
        transfers = self._run.transfers
        return queue_over_time(transfers["issued_ps"].tolist(), transfers["end_ps"].tolist())


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
