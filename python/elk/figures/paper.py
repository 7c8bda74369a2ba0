"""Makes figures and writes them: data, pictures, and a page with each paper's claims."""

from __future__ import annotations

import importlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from elk.base import atomic_file
from elk.errors import MissingPackageError
from elk.figures.figure import SAME, Claim, Made, PaperFigure, Study

if TYPE_CHECKING:
    import pandas as pd

_ELK: Final = """# ELK's figures

The figures and tables of the ELK paper, made again by ELK: every number here is printed by
`elk paper run elk --out FOLDER`, which writes this page, and for each figure its data (CSV and
Parquet) and its picture. `elk paper list` says which there are, `elk paper run elk-19` makes one.
Nothing is tuned to the paper; a number within a tenth of its is called the same.
"""
_T10: Final = """# T10's figures

Figures of the T10 paper (Liu et al., SOSP 2024), made again by ELK: every number here is printed by
`elk paper run t10 --out FOLDER`, which writes this page, and for each figure its data (CSV and
Parquet) and its picture. The paper measured an IPU; here its chip is preset `ipu-mk2`, planned and
simulated. `t10` is the paper's algorithm among ELK's policies, `elk-full` is what ELK does with the
same chip, and `vgm` stands for compilers that see the cores' memories as one, such as Roller: it
spreads every tensor evenly over all cores and runs each operator in rounds of load, compute and
store. Nothing is tuned to the paper; a number within a tenth of its is called the same.
"""
_PALM: Final = """# PALM's figures

Tables and figures of the PALM paper (Fang et al. 2024), made again by ELK: every number here is
printed by `elk paper run palm --out FOLDER`, which writes this page, and for each figure its data
(CSV and Parquet) and its picture. Nothing is tuned to the paper or to what was measured; a number
within a tenth of its is called the same.
"""
PAGES: Final = {"elk": _ELK, "t10": _T10, "palm": _PALM}
"""How the page of each paper begins; its figures are those of this `PaperFigure.page`."""
_QUICK: Final = "Made with --quick: one layer, few points, nothing to hold against the paper."
_NAMES: Final = ("claim", "paper", "ours", "verdict")


@dataclass(frozen=True, slots=True)
class Written:
    """A figure that was made and written.

    Attributes:
        name: Its name.
        note: What to know of how it was made.
        claims: The paper's numbers beside ELK's; none of a quick study.
    """

    name: str
    note: str
    claims: list[Claim]

    def to_dict(self) -> dict[str, Any]:
        """The figure as plain data."""
        claims = [dict(zip(_NAMES, _cells(claim), strict=True)) for claim in self.claims]
        return {"note": self.note, "claims": claims}


def run(figures: Sequence[PaperFigure], out: Path, study: Study) -> Iterator[Written]:
    """Makes figures one after another and writes each as soon as it is made.

    In `out`: `elk_figures/NAME.csv`, `.parquet`, `.png` and `.svg`, and the page `elk_figures.md`
    of all of these figures once the last one is made; those of T10 in `t10_figures`.

    Raises:
        MissingPackageError: pandas, pyarrow or matplotlib is not installed.
        OutputFileError: a file cannot be written.
    """
    _check_packages()
    parts: dict[str, list[str]] = {}
    for figure in figures:
        made = figure.make(study)
        folder = out / _folder(figure)
        folder.mkdir(parents=True, exist_ok=True)
        _write(made, folder / figure.name)
        note = f"{made.note.strip()} {_QUICK if study.quick else ''}".strip()
        written = Written(figure.name, note, [] if study.quick else made.claims())
        parts.setdefault(figure.page, [PAGES[figure.page]]).append(_section(figure, written))
        yield written
    for page, texts in parts.items():
        path = out / f"{page}_figures.md"
        atomic_file.write_bytes(path, "\n".join(texts).encode(), "the page")


def _folder(figure: PaperFigure) -> str:
    return f"{figure.page}_figures"


def _cells(claim: Claim) -> tuple[str, str, str, str]:
    return claim.what, claim.paper, claim.ours, claim.verdict


def _check_packages() -> None:
    try:
        for name in ("matplotlib", "pandas", "pyarrow"):
            importlib.import_module(name)
    except ImportError as error:
        raise MissingPackageError(
            f"figures need {error.name}, which is not installed",
            remedy="pip install 'elk-icca[data,viz]'",
        ) from error


def _write(made: Made, stem: Path) -> None:
    buffer = io.BytesIO()
    table: pd.DataFrame = made.table
    table.to_parquet(buffer, engine="pyarrow")
    files = {".csv": table.to_csv(index=False).encode(), ".parquet": buffer.getvalue()}
    for suffix, content in files.items():
        atomic_file.write_bytes(stem.with_name(stem.name + suffix), content, "the figure")
    _draw(made, stem)


def _draw(made: Made, stem: Path) -> None:
    """Writes the picture as PNG and SVG, the same bytes each time."""
    import matplotlib as mpl  # noqa: PLC0415 - optional, and slow to import
    from matplotlib.figure import Figure  # noqa: PLC0415 - optional, and slow to import

    with mpl.rc_context({"svg.hashsalt": "elk", "font.size": 9}):
        figure = Figure(figsize=made.size, layout="constrained")
        made.draw(figure)
        for kind, without in (("png", "Software"), ("svg", "Date")):
            with atomic_file.replacing(stem.with_name(f"{stem.name}.{kind}"), "the figure") as file:
                figure.savefig(file, format=kind, dpi=110, metadata={without: None})


def _section(figure: PaperFigure, written: Written) -> str:
    rows = [_cells(claim) for claim in written.claims]
    same = sum(claim.verdict == SAME for claim in written.claims)
    table = [_line(_NAMES), _line(["---"] * len(_NAMES)), *map(_line, rows)] if rows else []
    count = f"Same: {same} of {len(rows)}." if rows else ""
    picture = f"![{figure.title}]({_folder(figure)}/{figure.name}.png)"
    parts = [f"## {figure.title}", figure.shows, picture, written.note, "\n".join(table), count]
    return "\n\n".join(part for part in parts if part) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
