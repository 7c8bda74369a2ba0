"""Does one word stand for one thing: names of types, openings of comments, the glossary?

A type of `cpp/elk` has its name to itself, an alias included, unless the alias brings in a type by
its own name. So has a class of `python/elk`, private or not; classes of `_core.pyi` are the core's,
and their Python faces may bear their names. Comments and docstrings name their subject. Every noun
in the name of a type of a header is a row of `docs/glossary.md`, one row a noun.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
COMMENTED = ("cpp/elk", "python/elk", "bindings", "tests", "benchmarks")
CPP = (".cpp", ".hpp", ".h")

DEFINED = re.compile(
    r"^\s*(?:struct|class|enum class)(?: alignas\([^)]*\))? (?:\w+::)*([A-Z]\w*)(?: final)?"
    r"(?:\s*:(?!:)[^;{]*)?\s*\{",
    re.MULTILINE,
)
ALIAS = re.compile(r"^\s*using ([A-Z]\w*) =\s*([^;]*);", re.MULTILINE)
HIDDEN = re.compile(
    r"^namespace (?:elk::)?(?:detail )?\{.*?^\}  // namespace(?: detail)?$",
    re.MULTILINE | re.DOTALL,
)

# A comment stands alone: with such an opening its subject is in another one.
OPENING = re.compile(
    r"(?:it|its|itself|they|their|theirs|them|this|these|that|those|he|his|him|she|her|hers"
    r"|we|our|us|you|your|i|my|the same|and|but|or|nor|likewise|as above"
    r"|(?:of|to|with) (?:it|them|these|those|that))\b",
    re.IGNORECASE,
)

# Words in names of types that are no nouns.
PLAIN = frozenset(
    {"and", "below", "busiest", "by", "dense", "extra", "fair", "folded", "given", "heavy", "held"}
    | {"in", "least", "mutable", "named", "needed", "of", "one", "outer", "placed", "plain"}
    | {"planned", "pooled", "recent", "temporal", "waiting"}
)
PLURALS = {"axes": "axis", "indices": "index", "minima": "minimum", "shelves": "shelf"}
ENDS = {"ies": "y", "sses": "ss", "ches": "ch", "xes": "x"}  # of plurals
SINGULAR = ("ss", "us", "is", "series", "options")  # ends of words that stay as they are

# Near-synonyms that bounds had in place of what they bound.
RETIRED = {"standing", "resting", "holding", "hosting", "together", "excess", "priced"}
BOUNDS = ("cpp/elk/schedule/bound", "cpp/elk/cost/floor")

Noun = tuple[str, ...]  # the words of a noun, in the singular


def files(folder: str, *suffixes: str) -> Iterator[tuple[str, str]]:
    """Paths below the root, and what stands there."""
    for path in sorted((ROOT / folder).rglob("*")):
        if path.suffix in suffixes:
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def types_of(text: str) -> set[str]:
    """The types that a C++ file defines, and its aliases but for those that bring a type in."""
    aliases = {
        found[1]
        for found in ALIAS.finditer(text)
        if found[2].rpartition("::")[2].strip() != found[1]
    }
    return {found[1] for found in DEFINED.finditer(text)} | aliases


def classes_of(text: str) -> set[str]:
    """The classes that a Python module defines, wherever they stand in it."""
    return {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)}


def twice(names: dict[str, set[str]]) -> list[str]:
    """Names that more than one of these files defines."""
    homes: dict[str, list[str]] = {}
    for path, defined in names.items():
        for name in defined:
            homes.setdefault(name, []).append(path)
    return [f"{name}: {', '.join(at)}" for name, at in sorted(homes.items()) if len(at) > 1]


def cpp_comments(text: str) -> Iterator[tuple[int, str]]:
    """The line of each comment, or block of comments, and its words."""
    column = -1
    for number, line in enumerate(text.split("\n"), 1):
        bare = re.sub(r'"(?:\\.|[^"\\])*"', lambda found: "_" * len(found[0]), line)
        begin = bare.find("//")
        goes_on = begin >= 0 and begin == column and not bare[:begin].strip()
        if begin >= 0 and not goes_on:
            yield number, line[begin:].lstrip("/<").strip()
        column = begin


def python_comments(text: str) -> Iterator[tuple[int, str]]:
    """The line of each comment, block of comments and docstring, and its words."""
    last = (-1, -1)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            line, column = token.start
            if last != (line - 1, column) or token.line[:column].strip():
                yield line, token.string.lstrip("#:").strip()
            last = token.start
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.lineno, str(node.value.value).strip()


def opening_faults(path: str, text: str) -> list[str]:
    """Comments that open with a word for something that they do not name."""
    comments = cpp_comments(text) if path.endswith(CPP) else python_comments(text)
    return [f"{path}:{line}: {words[:60]}" for line, words in comments if OPENING.match(words)]


def folded(word: str) -> str:
    """A word in the singular, in small letters."""
    word = word.lower()
    if word in PLURALS:
        return PLURALS[word]
    for end, instead in ENDS.items():
        if word.endswith(end) and not word.endswith(SINGULAR):
            return word.removesuffix(end) + instead
    return word if word.endswith(SINGULAR) else word.removesuffix("s")


def noun_of(words: str) -> Noun:
    return tuple(folded(word) for word in re.split(r"[ -]", words))


def first_cells(text: str) -> list[str]:
    """What stands in the first column of tables of two columns, their heads left out."""
    rows = re.findall(r"^\| ([^|]+?) \| [^|]+? \|$", text, re.MULTILINE)
    return [cell for cell in rows if cell not in ("noun", "---")]


def nouns_of(text: str) -> list[Noun]:
    """The nouns of a glossary."""
    return [noun_of(cell) for cell in first_cells(text)]


def repeated(nouns: list[Noun]) -> list[str]:
    """Nouns with more than one row."""
    return sorted({" ".join(noun) for noun in nouns if nouns.count(noun) > 1})


def unknown_words(name: str, nouns: set[Noun]) -> list[str]:
    """The words of a type's name that are neither plain nor part of a noun in the glossary."""
    words = re.findall(r"[A-Z][a-z0-9]*", name.replace("DType", "Dtype"))
    unknown: list[str] = []
    at = 0
    while at < len(words):
        both, one = noun_of(" ".join(words[at : at + 2])), noun_of(words[at])
        if both not in nouns and one not in nouns and words[at].lower() not in PLAIN:
            unknown.append(words[at])
        at += len(both) if both in nouns else 1
    return unknown


def public_types(text: str) -> set[str]:
    """The types that a header defines, but for unnamed namespaces and those named `detail`."""
    return {found[1] for found in DEFINED.finditer(HIDDEN.sub("", text))}


def retired_words(text: str) -> set[str]:
    """The retired words that stand in identifiers of this code, or in the name of a file."""
    code = re.sub(r"//[^\n]*", "", text)
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+", code)} & RETIRED


def glossary() -> list[Noun]:
    return nouns_of(GLOSSARY.read_text(encoding="utf-8"))


def test_a_type_of_the_core_has_its_name_to_itself() -> None:
    assert twice({path: types_of(text) for path, text in files("cpp/elk", *CPP)}) == []


def test_a_class_has_its_name_to_itself() -> None:
    assert twice({path: classes_of(text) for path, text in files("python/elk", ".py")}) == []


@pytest.mark.parametrize("folder", COMMENTED)
def test_a_comment_names_its_subject(folder: str) -> None:
    commented = files(folder, *CPP, ".py", ".pyi")
    assert [fault for path, text in commented for fault in opening_faults(path, text)] == []


def test_every_noun_of_a_header_is_in_the_glossary() -> None:
    nouns = set(glossary())
    found = [
        f"{path}: {name} ({', '.join(unknown)})"
        for path, text in files("cpp/elk", ".hpp")
        for name in sorted(public_types(text))
        if (unknown := unknown_words(name, nouns))
    ]
    assert found == []


def test_a_noun_has_one_meaning() -> None:
    assert repeated(glossary()) == []


def test_the_short_glossary_has_nouns_of_the_long_one() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("## Glossary")[2]
    short = [noun for cell in first_cells(text) for noun in cell.split(", ")]
    assert short
    assert [noun for noun in short if noun_of(noun) not in set(glossary())] == []


@pytest.mark.parametrize("folder", BOUNDS)
def test_bounds_are_named_for_what_they_bound(folder: str) -> None:
    found = {path: retired_words(f"{path}\n{text}") for path, text in files(folder, *CPP)}
    assert {path: words for path, words in found.items() if words} == {}


def test_the_rule_of_names_sees_what_it_refuses() -> None:
    one = "struct Piece {\n};\nusing Run = Range<int>;\nclass Later;\nusing Key = Other::Key;\n"
    other = "  enum class Piece : char { A };\nstruct Outer::Run final : Base {\n};\nclass Key {\n"
    assert types_of(one) == {"Piece", "Run"}
    assert types_of(other) == {"Piece", "Run", "Key"}
    found = twice({"a.hpp": types_of(one), "b.cpp": types_of(other)})
    assert found == ["Piece: a.hpp, b.cpp", "Run: a.hpp, b.cpp"]
    module = "class _Reader: ...\ndef f():\n    class Card: ...\n"
    assert twice({"a.py": classes_of(module), "b.py": {"Card", "Reader"}}) == ["Card: a.py, b.py"]


@pytest.mark.parametrize(
    "text",
    [
        "/// The same of every op.\nint f();",
        "int a;  // that is cut",
        'text("// no");  // Its type.',
        "// of these\n",
        "  /// Those that stay.\n",
        "/// It's late.\n",
    ],
)
def test_an_opening_that_names_no_subject_is_seen(text: str) -> None:
    assert opening_faults("a.cpp", text)
    assert not opening_faults("a.cpp", 'text("// That");  // Italics.\n// What is\n// that of ops.')


@pytest.mark.parametrize("text", ['"""The same."""\n', "x = 1  # It ends.\n", "# Those of ops.\n"])
def test_an_opening_that_names_no_subject_is_seen_in_python(text: str) -> None:
    assert opening_faults("a.py", text)
    assert not opening_faults("a.py", '"""Ops."""\n# What lies\n# there, if known.\nx = "# It"\n')


def test_the_rules_of_the_glossary_see_what_they_refuse() -> None:
    page = (
        "| noun | is |\n| --- | --- |\n| link | a way |\n| sub-task | a tile |\n| axis | a loop |\n"
    )
    nouns = nouns_of(page)
    assert nouns == [("link",), ("sub", "task"), ("axis",)]
    assert unknown_words("LinkLoads", set(nouns)) == ["Loads"]
    assert unknown_words("LinksOfAxes", set(nouns)) == []
    assert unknown_words("SubTaskLink", set(nouns)) == []
    assert unknown_words("TaskLink", set(nouns)) == ["Task"]
    assert repeated(nouns) == []
    assert repeated(nouns_of(page + "| links | ends |\n")) == ["link"]
    header = "namespace {\nstruct Hidden {\n};\n}  // namespace\nstruct Shown {\n};\n"
    assert public_types(header) == {"Shown"}


def test_the_rule_of_bounds_sees_what_it_refuses() -> None:
    assert retired_words("double standing_bound(Priced p);  // together") == {"standing", "priced"}
    assert retired_words("cpp/elk/cost/floor/holding.cpp\n") == {"holding"}
    assert retired_words("double neighbour_bound(Excessive outstanding);") == set()
