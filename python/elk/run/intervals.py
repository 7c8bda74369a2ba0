"""What each resource did for a while in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from elk import _core
from elk.report.events import Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elk.document.schema import PlanDocument, SimulatedOpRow, SimulatedRow

_PARTS: Final = ("distribute", "gather", "compute", "shift", "reduce")


def simulated_row(run: _core.Run, plan: PlanDocument) -> SimulatedRow:
    """A run as `simulated` in the document of its plan: all picoseconds."""
    times = {key: column.tolist() for key, column in run.ops.items()}
    ops: list[SimulatedOpRow] = []
    for i, row in enumerate(plan["ops"]):
        execute = [times["execute_begin_ps"][i], times["execute_end_ps"][i]]
        if row["preload"] is None:
            ops.append({"id": i, "execute": execute})
        else:
            preload = [times["preload_begin_ps"][i], times["preload_end_ps"][i]]
            ops.append({"id": i, "preload": preload, "execute": execute})
    stores = {key: column.tolist() for key, column in run.stores.items()}
    names = [x for op, x in plan["program"] if op == "store_async"]
    return {
        "total_ps": run.total_ps,
        "fidelity": run.fidelity.name.lower(),
        "ops": ops,
        "stores": [
            {"tensor": name, "store": [begin, end]}
            for name, begin, end in zip(
                names, stores["begin_ps"], stores["end_ps"], strict=bool(stores["end_ps"])
            )
        ],
        "split_ps": run.split_ps,
    }


def intervals(
    phases: dict[str, NDArray[Any]], simulated: SimulatedRow, plan: PlanDocument
) -> list[Interval]:
    """Phases of executes, preloads and stores of a run, by time."""
    ops = plan["ops"]
    kinds = dict(zip(_core.PhaseKind, _PARTS, strict=True))
    columns = (phases[key].tolist() for key in ("op", "kind", "begin_ps", "end_ps"))
    found = []
    for op, kind, begin, end in zip(*columns, strict=True):
        part = kinds[_core.PhaseKind(kind)]
        resource = "cores" if part == "compute" else "links"
        found.append(_interval(resource, part, op, ops[op]["name"], (begin, end)))
    for row in simulated["ops"]:
        if "preload" in row:
            begin, end = row["preload"]
            name = ops[row["id"]]["name"]
            found.append(_interval("hbm", "preload", row["id"], name, (begin, end)))
    for store in simulated["stores"]:
        begin, end = store["store"]
        found.append(_interval("hbm", "store", -1, store["tensor"], (begin, end)))
    return sorted(found, key=lambda x: (x.begin_ps, x.end_ps, x.resource, x.op))


def _interval(resource: str, kind: str, op: int, name: str, span: tuple[int, int]) -> Interval:
    begin, end = span
    return Interval(resource=resource, kind=kind, op=op, name=name, begin_ps=begin, end_ps=end)
