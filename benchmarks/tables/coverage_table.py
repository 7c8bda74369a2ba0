"""How many lines and branches the tests reach, by module, as Markdown.

python benchmarks/tables/coverage_table.py CPP.json PYTHON.json

The files are a summary of gcovr and a report of coverage.py; `scripts/coverage.sh` makes both.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(kw_only=True)
class Reached:
    """How many there are, and how many of these ran."""

    lines: list[int] = field(default_factory=lambda: [0, 0])
    branches: list[int] = field(default_factory=lambda: [0, 0])

    def add(self, lines: tuple[int, int], branches: tuple[int, int]) -> None:
        """Counts one file: of each, how many ran of how many."""
        for total, part in ((self.lines, lines), (self.branches, branches)):
            total[0] += part[0]
            total[1] += part[1]


def cpp(path: Path) -> dict[str, Reached]:
    """By folder of `cpp/elk`, and the bindings."""
    found: defaultdict[str, Reached] = defaultdict(Reached)
    for file in json.loads(path.read_text(encoding="utf-8"))["files"]:
        parts = Path(file["filename"]).parts
        module = f"cpp/elk/{parts[2]}" if parts[0] == "cpp" else parts[0]
        found[module].add(
            (file["line_covered"], file["line_total"]),
            (file["branch_covered"], file["branch_total"]),
        )
    return dict(sorted(found.items()))


def python(path: Path) -> dict[str, Reached]:
    """By folder of `python/elk`."""
    found: defaultdict[str, Reached] = defaultdict(Reached)
    for name, file in json.loads(path.read_text(encoding="utf-8"))["files"].items():
        counts = file["summary"]
        found[Path(name).parent.as_posix()].add(
            (counts["covered_lines"], counts["num_statements"]),
            (counts["covered_branches"], counts["num_branches"]),
        )
    return dict(sorted(found.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("cpp", type=Path, help="summary of gcovr")
    parser.add_argument("python", type=Path, help="report of coverage.py")
    arguments = parser.parse_args()
    print("| module | lines | reached | branches | reached |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for modules in (cpp(arguments.cpp), python(arguments.python)):
        whole = Reached()
        for name, reached in modules.items():
            whole.add(
                (reached.lines[0], reached.lines[1]), (reached.branches[0], reached.branches[1])
            )
            print(row(name, reached))
        print(row("**all**", whole))


def row(name: str, reached: Reached) -> str:
    cells = [name]
    for ran, there in (reached.lines, reached.branches):
        cells += [f"{there:,}", f"{100 * ran / there:.1f} %" if there else ""]
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
