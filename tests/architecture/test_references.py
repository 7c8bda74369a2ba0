"""Does what code and documents refer to exist: sections of the design, links, pages, paths?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
DESIGN = ROOT / "docs" / "design.md"
CITING = ("cpp", "python", "bindings", "tests", "benchmarks", "docs")
TEXTS = {".hpp", ".cpp", ".h", ".py", ".pyi", ".md", ".toml", ".txt", ".cmake", ".ipynb", ".sh"}
PAGES = [ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "README.md")]
PAGES += sorted((ROOT / "docs").rglob("*.md"))

# Where a path in backticks may begin: documents name files as includes and imports do.
HOMES = ("", "cpp", "cpp/elk", "python", "python/elk", "docs", "benchmarks")

NUMBER = r"\d+(?:\.\d+)*"
CITATION = re.compile(rf"\b[Dd]esign ({NUMBER}(?:(?:,| and|, and| to) {NUMBER})*)")
NAMED_PAGE = re.compile(r"\bdocs/[\w./-]+\.md\b")
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


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_every_section_of_the_design_and_every_page_that_is_named_exists() -> None:
    known = sections(DESIGN.read_text("utf-8"))
    missing = set()
    for folder in CITING:
        files = [p for p in (ROOT / folder).rglob("*") if p.suffix in TEXTS and p.is_file()]
        assert files, folder
        for path in files:
            if path.resolve() == Path(__file__).resolve():
                continue
            text = path.read_text("utf-8")
            missing |= {(relative(path), n) for n in cited(text) if n not in known}
            missing |= {
                (relative(path), page)
                for page in NAMED_PAGE.findall(text)
                if not (ROOT / page).exists()
            }
    assert missing == set()


def test_every_link_and_path_of_a_page_leads_to_a_file() -> None:
    broken = set()
    for page in PAGES:
        text = page.read_text("utf-8")
        broken |= {(relative(page), link) for link in broken_links(text, page.parent)}
        broken |= {(relative(page), path) for path in broken_paths(text)}
    assert broken == set()


def test_the_architecture_stays_a_short_page() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text("utf-8").splitlines()) <= 150


def test_the_rules_see_what_they_refuse(tmp_path: Path) -> None:
    comment = "/// Rules of design\n/// 6.1, 6.2 and 7; Design 3.2. Not by design, 2 of them.\n"
    assert list(cited(comment)) == ["6.1", "6.2", "7", "3.2"]
    assert list(cited("# (design 7, 3 and\n# 6.3, Buffers)")) == ["7", "3", "6.3"]
    design = "# Title\n## 6. Scheduling\n### 6.1 Induction\n```\n## 7. No heading\n```\n"
    assert sections(design) == {"6", "6.1"}
    page = "[a](README.md) [b](gone.md) [c](#here) [d](#gone) [e](https://x.org/y.md)\n# Here\n"
    (tmp_path / "README.md").write_text("# Decisions\n", "utf-8")
    assert list(broken_links(page, tmp_path)) == ["gone.md", "#gone"]
    assert list(broken_links("[f](README.md#gone) [g](README.md#decisions)", tmp_path)) == [
        "README.md#gone"
    ]
    assert list(broken_paths("`base/units.hpp` `base/gone.hpp` `elk.plan/1`")) == ["base/gone.hpp"]
