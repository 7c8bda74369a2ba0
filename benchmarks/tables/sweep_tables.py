"""The names of axes and the columns of results of sweeps, as the tables of docs/sweeps.md.

python benchmarks/tables/sweep_tables.py
"""

from __future__ import annotations

from collections.abc import Iterator

import elk
from elk.base.policies import POLICIES
from elk.document.compiled import EFFORTS, OBJECTIVES, PODS
from elk.points import chip_axes
from elk.points.axes import FIDELITIES, OPTIONS
from elk.points.columns import COLUMNS

_WORDS = {
    "policy": POLICIES,
    "effort": EFFORTS,
    "objective": OBJECTIVES,
    "pod": PODS,
    "fidelity": FIDELITIES,
}


def _key(name: str) -> str:
    return ".".join(part for part in chip_axes.place(name) if part)


def _unit(name: str) -> str:
    unit = chip_axes.unit(name)
    return "a count" if unit is None else f'`"{unit.example}"`'


def axes() -> Iterator[str]:
    """A row for every name of an axis that is no key of a chip file."""
    yield "| axis | what it changes | values |"
    yield "| --- | --- | --- |"
    yield "| `model` | the model | files, names of `elk.models` |"
    yield "| `chip` | the chip | presets, chip files, chips |"
    yield "| a dimension of the model, `batch`, or `bindings.batch` | its size | a count |"
    for name in OPTIONS:
        words = ", ".join(f"`{word}`" for word in _WORDS.get(name, ())) or "a number"
        yield f"| `{name}` | the option of that name | {words} |"
    for name in ("hbm_bandwidth", *chip_axes.ALIASES):
        yield f"| `{name}` | `{_key(name)}` of the chip | {_unit(name)} |"
    for name in chip_axes.TOTALS:
        yield f"| `{name}` | `{_key(name)}`, so that the total is this | {_unit(name)} |"


def results() -> Iterator[str]:
    """A row for every column of results."""
    yield "| column | unit | what it is |"
    yield "| --- | --- | --- |"
    for name, column in COLUMNS.items():
        yield f"| `{name}` | {column.unit or '-'} | {column.what} |"


def main() -> None:
    """Prints both tables."""
    assert set(elk.sweep.columns()) == set(COLUMNS)
    print("\n".join([*axes(), "", *results()]))


if __name__ == "__main__":
    main()
