"""Does one word stand for one thing: names of types, openings of comments?

A type of `cpp/elk` has its name to itself, an alias included, unless the alias brings in a type by
its own name. So has a class of `python/elk`, private or not; classes of `_core.pyi` are the core's,
and their Python faces may bear their names. Comments and docstrings name their subject.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMMENTED = ("cpp/elk", "python/elk", "bindings", "tests", "benchmarks")
CPP = (".cpp", ".hpp", ".h")

DEFINED = re.compile(
    r"^\s*(?:struct|class|enum class)(?: alignas\([^)]*\))? (?:\w+::)*([A-Z]\w*)(?: final)?"
    r"(?:\s*:(?!:)[^;{]*)?\s*\{",
    re.MULTILINE,
)
ALIAS = re.compile(r"^\s*using ([A-Z]\w*) =\s*([^;]*);", re.MULTILINE)

# A comment stands alone: with such an opening its subject is in another one.
OPENING = re.compile(
    r"(?:it|its|itself|they|their|theirs|them|this|these|that|those|he|his|him|she|her|hers"
    r"|we|our|us|you|your|i|my|the same|and|but|or|nor|likewise|as above"
    r"|(?:of|to|with) (?:it|them|these|those|that))\b",
    re.IGNORECASE,
)
SUSPECT = re.compile(r"[#\"'/][\s:/<#]*" + OPENING.pattern, re.IGNORECASE)  # far quicker to find


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
    if not SUSPECT.search(text):
        return []
    comments = cpp_comments(text) if path.endswith(CPP) else python_comments(text)
    return [f"{path}:{line}: {words[:60]}" for line, words in comments if OPENING.match(words)]


def test_a_type_has_its_name_to_itself() -> None:
    types = {path: types_of(text) for path, text in files("cpp/elk", *CPP)}
    classes = {path: classes_of(text) for path, text in files("python/elk", ".py")}
    found = twice(types) + twice(classes)
    assert not found, "\n".join(found)


def test_a_comment_names_its_subject() -> None:
    commented = (each for folder in COMMENTED for each in files(folder, *CPP, ".py", ".pyi"))
    found = [fault for path, text in commented for fault in opening_faults(path, text)]
    assert not found, "\n".join(found)


def test_the_rule_of_names_sees_what_it_refuses() -> None:
    one = "struct Piece {\n};\nusing Run = Range<int>;\nclass Later;\nusing Key = Other::Key;\n"
    other = "  enum class Piece : char { A };\nstruct Outer::Run final : Base {\n};\nclass Key {\n"
    assert types_of(one) == {"Piece", "Run"}
    assert types_of(other) == {"Piece", "Run", "Key"}
    found = twice({"a.hpp": types_of(one), "b.cpp": types_of(other)})
    assert found == ["Piece: a.hpp, b.cpp", "Run: a.hpp, b.cpp"]
    module = "class _Reader: ...\ndef f():\n    class Card: ...\n"
    assert twice({"a.py": classes_of(module), "b.py": {"Card", "Reader"}}) == ["Card: a.py, b.py"]


def test_the_rule_of_comments_sees_what_it_refuses() -> None:
    cpp = '/// The same.\nint a;  // that is cut\ntext("// no");  // Its type.\n  /// It\'s late.'
    assert len(opening_faults("a.cpp", cpp)) == 4
    python = '"""The same."""\n# Those of ops.\nx = 1  # It ends.\n'
    assert len(opening_faults("a.py", python)) == 3
    assert not opening_faults("a.cpp", 'text("// That");  // Italics.\n// What is\n// that of ops.')
    assert not opening_faults("a.py", '"""Ops."""\n# What lies\n# there, if known.\nx = "# It"\n')
