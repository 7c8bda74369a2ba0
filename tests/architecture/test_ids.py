"""Do positions say what they are positions of?

An op, a tensor, an axis, an operand, a dimension and a core go by ids of their own, and what is
kept for each of them stands in a `Table` that only such ids index. So a cast to a subscript is left
where a number is no id, and their count must not grow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORE = ROOT / "cpp" / "elk"
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)

NUMBER = r"std::(?:u?int(?:8|16|32|64)_t|size_t)"
BARE = re.compile(
    rf"\b{NUMBER} (?:op|tensor|axis|operand)\b(?!\()"
    r"|\bstd::int32_t (?:core|buffer)\b(?!\()"
    rf"|\bstd::(?:vector|span)<(?:const )?{NUMBER}>&? (?:ops|tensors|axes|operands)\b(?!\()"
)
INTERVAL = re.compile(r"struct \w+ \{\s*(\S+) begin(?:\{\w*\})?;\s*\1 end(?:\{\w*\})?;\s*\}")
CASTS = ("static_cast<std::size_t>(", "static_cast<std::int32_t>(", "subscript(")
MOST_CASTS = 781  # of all three kinds: lower it whenever some go
TUNED = re.compile(r"^inline constexpr .*? (k[A-Z]\w*)\b", re.MULTILINE)
TOLD = re.compile(r"^/// [^\n]+\ninline constexpr .*? (k[A-Z]\w*)\b", re.MULTILINE)


def sources() -> Iterator[tuple[str, str]]:
    """Paths below the core, and what stands there beside comments."""
    for path in sorted(CORE.rglob("*.?pp")):
        text = COMMENT.sub("", path.read_text(encoding="utf-8"))
        yield path.relative_to(CORE).as_posix(), text


def casts(text: str) -> int:
    return sum(text.count(cast) for cast in CASTS)


def test_positions_are_no_bare_numbers_and_intervals_have_one_type() -> None:
    found = [
        f"{path}: {bare[0]}"
        for path, text in sources()
        for bare in (*BARE.finditer(text), *INTERVAL.finditer(text))
    ]
    assert not found, "\n".join(found)


def test_casts_to_subscripts_do_not_grow() -> None:
    assert sum(casts(text) for _, text in sources()) <= MOST_CASTS


def test_tuned_numbers_stand_in_one_record_a_module_each_with_what_it_does() -> None:
    records = sorted(CORE.rglob("*_tuning.hpp"))
    assert records
    modules = [path.relative_to(CORE).parts[0] for path in records]
    assert len(set(modules)) == len(modules)
    for module, path in zip(modules, records, strict=True):
        text = path.read_text(encoding="utf-8")
        assert path.stem == f"{module}_tuning"
        assert set(TUNED.findall(text)) == set(TOLD.findall(text))


def test_the_rules_see_what_they_refuse() -> None:
    refused = (
        "void f(std::int32_t op);",
        "const std::size_t axis = 0;",
        "std::int32_t core;",
        "const std::vector<std::int32_t>& tensors",
    )
    assert [text for text in refused if not BARE.search(text)] == []
    for allowed in ("void f(OpId op);", "std::int32_t op_count;", "std::int64_t cores;"):
        assert BARE.search(allowed) is None
    assert INTERVAL.search("struct Span {\n  Seconds begin;\n  Seconds end;\n};")
    assert INTERVAL.search("struct Timed { Seconds begin; Seconds end; Seconds alone; };") is None
    assert casts("a[static_cast<std::size_t>(i)] + b[subscript(j)] + static_cast<double>(k)") == 2
    text = "/// Told.\ninline constexpr int kTold = 1;\n\ninline constexpr int kUntold = 2;\n"
    assert set(TUNED.findall(text)) - set(TOLD.findall(text)) == {"kUntold"}
