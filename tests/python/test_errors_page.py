"""docs/errors.md: it is what its command prints, and every code in the source is on it."""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import elk
import pytest

_ROOT = Path(__file__).parents[2]
_PAGE = (_ROOT / "docs" / "errors.md").read_text(encoding="utf-8")


def _codes() -> Iterator[str]:
    """Every text that an error is given as its code, in Python and in C++."""
    for path in (_ROOT / "python" / "elk").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.keyword(arg="code", value=ast.Constant(value=str(code))):
                    yield code
                case ast.ClassDef(name=name, body=body) if name.endswith("Error"):
                    yield from _own_codes(body)
    for path in (_ROOT / "cpp" / "elk").rglob("*.?pp"):
        text = path.read_text(encoding="utf-8")
        yield from re.findall(r'std::string code = "(\w+)"', text)
        yield from re.findall(r'throw \w+\((?:[^;"]|"[^"]*")*,\s+"([a-z_]+)"\);', text)


def _own_codes(body: list[ast.stmt]) -> Iterator[str]:
    for line in body:
        match line:
            case (
                ast.Assign(targets=[ast.Name(id="code")], value=ast.Constant(value=str(code)))
                | ast.AnnAssign(target=ast.Name(id="code"), value=ast.Constant(value=str(code)))
            ):
                yield code


def test_the_page_is_what_its_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(_ROOT / "benchmarks/tables/limits_table.py"), run_name="__main__")
    assert capsys.readouterr().out == _PAGE


def test_every_code_is_on_the_page_once() -> None:
    listed = re.findall(r"^\| `(\w+)` \| `\w+Error`", _PAGE, re.MULTILINE)
    assert listed == sorted(set(_codes()))


def test_every_public_error_is_on_the_page() -> None:
    kinds = [name for name in elk.__all__ if name.endswith("Error")]
    assert all(f"`{name}`" in _PAGE for name in kinds)
