"""What a run on the simulator measured, every core, link and channel of the chip counted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from elk.base.optional import pandas
from elk.document.carried import Carried
from elk.errors import InvalidInputError
from elk.report.links import link_table
from elk.report.sram import memory_by_role
from elk.run.power import energy_parts_j, execute_power_w
from elk.run.usage import Capacity, queue_over_time, utilisation_over_time

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

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
        executed_ps = int(self.columns["execute_end_ps"].max(initial=0))
        spent_ps["store"] = self.total_ps - executed_ps if op is None else 0
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

        What one preload, store or phase of an execute moves counts as moved evenly.

        Args:
            bins: How many parts. `time_ps` are their edges, one more.

        Raises:
            InvalidInputError: there are no bins, or too many.

        Example:
            >>> used = run.utilisation_over_time(bins=50)
            >>> bool(abs(used["hbm"].mean() - run.utilisation["hbm"]) < 1e-9)
            True
        """
        kinds = [row["kind"] for row in self._plan["ops"]]
        return utilisation_over_time(self._run, kinds, self._capacity, bins)

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
        program, begins = self._plan["program"], self.columns["execute_begin_ps"]
        times = [
            int(begins[subject]) if opcode == "execute" else reached
            for (opcode, subject), reached in zip(program, self._reached(), strict=True)
        ]
        return {"time_ps": np.array(times, dtype=np.int64), **memory_by_role(self._plan)}

    def queue(self) -> dict[str, NDArray[np.int64]]:
        """Preloads and stores that are issued and not over: `length` from each `time_ps` on.

        Example:
            >>> queue = run.queue()
            >>> int(queue["length"].max()) >= int(run.columns["queued"].max())
            True
        """
        columns, stores = self.columns, self._run.stores["end_ps"]
        queued = ("preload_async", "store_async") if len(stores) else ("preload_async",)
        program = self._plan["program"]
        moments = zip(program, self._reached(), strict=True)
        preloads = [subject for opcode, subject in program if opcode == "preload_async"]
        return queue_over_time(
            [reached for (opcode, _), reached in moments if opcode in queued],
            [*columns["preload_end_ps"][preloads].tolist(), *stores.tolist()],
        )

    def _reached(self) -> list[int]:
        """When the program reached each instruction: as soon as the execute before it was over."""
        ends, reached, found = self.columns["execute_end_ps"].tolist(), 0, []
        for opcode, subject in self._plan["program"]:
            found.append(reached)
            if opcode == "execute":
                reached = ends[subject]
        return found


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
