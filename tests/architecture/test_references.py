"""Does what code and documents refer to exist: sections of the design, links, paths, decisions?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DESIGN = ROOT / "docs" / "design.md"
DECISIONS = ROOT / "docs" / "decisions"
CITING = ("cpp", "python", "bindings", "tests", "benchmarks", "docs")
TEXTS = {".hpp", ".cpp", ".h", ".py", ".pyi", ".md", ".toml", ".txt", ".cmake", ".ipynb", ".sh"}
PAGES = [ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]

# Where a path in backticks may begin: documents name files as includes and imports do.
HOMES = ("", "cpp", "cpp/elk", "python", "python/elk", "docs", "benchmarks")

NUMBER = r"\d+(?:\.\d+)*"
CITATION = re.compile(rf"\b[Dd]esign ({NUMBER}(?:(?:,| and|, and| to) {NUMBER})*)")
HEADING = re.compile(rf"^#+ ({NUMBER})\.? ", re.MULTILINE)
COMMENT_BREAK = re.compile(r"\n[ \t]*(?:///?|#:?|\*|>)?[ \t]*")
ADDED = re.compile(r"^`[^`]+`, new:$", re.MULTILINE)  # in a recipe
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^()\s]+)\)")
PATH = re.compile(
    r"`((?:[\w.-]+/)+[\w.-]+\.(?:hpp|cpp|py|pyi|md|toml|csv|json|sh|txt|cmake|ipynb|svg|onnx))`"
)


def sections(design: str) -> set[str]:
    """The numbers of the headings of a design."""
    return set(HEADING.findall(FENCE.sub("", design)))


def cited(text: str) -> Iterator[str]:
    """The sections of the design that a text cites, also across the lines of a comment."""
    for found in CITATION.findall(COMMENT_BREAK.sub(" ", text)):
        yield from re.findall(NUMBER, found)


def anchors(page: str) -> set[str]:
    """What links into a page may name: its headings in lower case, with dashes for spaces."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(text: str, folder: Path) -> Iterator[str]:
    """The links of a page in `folder` that lead to no file of the repository, or to no heading."""
    for link in LINK.findall(FENCE.sub("", text)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = folder / name if name else None
        if (target is not None and not target.exists()) or (
            anchor and anchor not in anchors(target.read_text("utf-8") if target else text)
        ):
            yield link


def broken_paths(text: str) -> Iterator[str]:
    """The paths in backticks that are no files of the repository and none that a recipe adds."""
    for path in PATH.findall(ADDED.sub("", FENCE.sub("", text))):
        if not any((ROOT / home / path).exists() for home in HOMES):
            yield path


def unlisted(folder: Path, readme: str) -> Iterator[str]:
    """The decisions in `folder` that its README does not list by their number."""
    listed = set(re.findall(r"^- \[(\d+)\]\(([^)]+)\)", readme, re.MULTILINE))
    for page in sorted(folder.rglob("*.md")):
        name = page.relative_to(folder).as_posix()
        if name != "README.md" and (page.name.split("-")[0], name) not in listed:
            yield name


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("folder", CITING)
def test_every_cited_section_of_the_design_exists(folder: str) -> None:
    known = sections(DESIGN.read_text("utf-8"))
    files = [p for p in (ROOT / folder).rglob("*") if p.suffix in TEXTS and p.is_file()]
    assert files
    this = Path(__file__).resolve()
    missing = {
        (relative(p), number)
        for p in files
        if p.resolve() != this
        for number in cited(p.read_text("utf-8"))
        if number not in known
    }
    assert missing == set()


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_every_link_and_path_of_a_page_leads_to_a_file(page: Path) -> None:
    text = page.read_text("utf-8")
    assert list(broken_links(text, page.parent)) == []
    assert list(broken_paths(text)) == []


def test_every_decision_is_listed_and_numbered_once() -> None:
    assert list(unlisted(DECISIONS, (DECISIONS / "README.md").read_text("utf-8"))) == []
    numbers = [p.name.split("-")[0] for p in DECISIONS.rglob("*.md") if p.name != "README.md"]
    assert sorted(numbers) == [f"{n:03d}" for n in range(1, len(numbers) + 1)]


def test_the_architecture_stays_a_short_page() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text("utf-8").splitlines()) <= 150


def test_the_rules_see_what_they_refuse(tmp_path: Path) -> None:
    comment = "/// Rules of design\n/// 6.1, 6.2 and 7; Design 3.2. Not by design, 2 of them.\n"
    assert list(cited(comment)) == ["6.1", "6.2", "7", "3.2"]
    assert list(cited("# (design 7, 3 and\n# 6.3, Buffers)")) == ["7", "3", "6.3"]
    design = "# Title\n## 6. Scheduling\n### 6.1 Induction\n```\n## 7. No heading\n```\n"
    assert sections(design) == {"6", "6.1"}
    page = "[a](README.md) [b](gone.md) [c](#here) [d](#gone) [e](https://x.org/y.md)\n# Here\n"
    (tmp_path / "README.md").write_text("# Decisions\n- [001](part/001-a.md) A.\n", "utf-8")
    assert list(broken_links(page, tmp_path)) == ["gone.md", "#gone"]
    assert list(broken_links("[f](README.md#gone) [g](README.md#decisions)", tmp_path)) == [
        "README.md#gone"
    ]
    assert list(broken_paths("`base/units.hpp` `base/gone.hpp` `elk.plan/1`")) == ["base/gone.hpp"]
    (tmp_path / "part").mkdir()
    for name in ("001-a.md", "002-b.md"):
        (tmp_path / "part" / name).write_text("# A\n", "utf-8")
    readme = (tmp_path / "README.md").read_text("utf-8")
    assert list(unlisted(tmp_path, readme)) == ["part/002-b.md"]
