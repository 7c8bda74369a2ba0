"""Whether the times of a plan's document follow the order of its program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from elk.base.policies import FORECASTS
from elk.document.rules import Path, at_least, refusal, same
from elk.document.schema import PlanDocument

_LEAST_COMPUTE: Final = 0.98  # of what an execute computes alone: how far a forecast may round


def check_times(document: PlanDocument) -> None:
    """Refuses times at which an instruction runs before the program lets it.

    Raises:
        PlanFileError: The message names the key, its value and the rule.
    """
    predicted, simulated = document["predicted"], document["simulated"]
    forecast = _Times(document, "predicted", predicted, "total_s")
    forecast.check()
    for i, row in enumerate(document["ops"]):
        begin, end = predicted["ops"][i]["execute"]
        least = row["execute"]["compute_s"] * _LEAST_COMPUTE
        at_least(end - begin + forecast.tick, least, ("predicted", "ops", i, "execute"), "compute")
    if simulated is None:
        return
    if document["policy"] in FORECASTS:
        raise refusal(("simulated",), "a run", "null: a forecast cannot run")
    _Times(document, "simulated", simulated, "total_ps").check()
    split = sum(simulated["split_ps"].values())
    same(split, simulated["total_ps"], ("simulated", "split_ps"), "in sum total_ps")


class _Times:
    """The times of all instructions, by the forecast or by a run."""

    def __init__(
        self, document: PlanDocument, name: str, times: Mapping[str, Any], total: str
    ) -> None:
        self._document = document
        self._name = name
        self._times = times
        self._total = total
        # Moments are whole picoseconds: in seconds they differ from those by rounding.
        self.tick = 1.5e-12 if total == "total_s" else 0

    def check(self) -> None:
        """Refuses the first time that breaks a rule."""
        self._check_rows()
        stores = {row["tensor"]: k for k, row in enumerate(self._times["stores"])}
        preloaded, executed, last = 0.0, 0.0, 0.0
        early = self._document["policy"] in FORECASTS  # A forecast that reads ahead of everything.
        for opcode, subject in self._document["program"]:
            if opcode == "store_async":
                if subject in stores:
                    row = self._times["stores"][stores[subject]]["store"]
                    path: Path = (self._name, "stores", stores[subject], "store")
                    last = max(last, self._begins(row, executed, path))
                continue
            part = "preload" if opcode == "preload_async" else "execute"
            row = self._times["ops"][subject][part]
            path = (self._name, "ops", subject, part)
            if part == "preload":
                preloaded = self._begins(row, max(preloaded, 0.0 if early else executed), path)
                continue
            own = self._times["ops"][subject].get("preload", [0, 0])[1]
            executed = self._begins(row, max(executed, own), path)
            last = max(last, executed)
        same(self._times[self._total], last, (self._name, self._total), "the last end")

    def _begins(self, row: Sequence[float], earliest: float, path: Path) -> float:
        """The end of what may begin at `earliest`."""
        begin, end = row
        if begin < earliest - self.tick:
            raise refusal((*path, 0), begin, f"at least {earliest!r}, when the program reaches it")
        if end < begin:
            raise refusal((*path, 1), end, f"at least {begin!r}, when it begins")
        return end

    def _check_rows(self) -> None:
        ops, rows = self._document["ops"], self._times["ops"]
        ids = [row["id"] for row in rows]
        same(ids, [*range(len(ops))], (self._name, "ops"), "one row an op, in order:")
        for i, (op, row) in enumerate(zip(ops, rows, strict=True)):
            if ("preload" in row) != (op["preload"] is not None):
                raise refusal((self._name, "ops", i), row, "with a preload where the op has one")
        stored = [x for opcode, x in self._document["program"] if opcode == "store_async"]
        names = [row["tensor"] for row in self._times["stores"]]
        if names and names != stored:
            raise refusal((self._name, "stores"), names, f"those of the program, {stored!r}")
