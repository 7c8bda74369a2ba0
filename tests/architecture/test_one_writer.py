"""Does one module alone open files for writing?"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PYTHON = Path(__file__).parents[2] / "python" / "elk"
WRITER = PYTHON / "base" / "atomic_file.py"
# Calls that put a file somewhere, whatever they are given.
WRITES = {"write_text", "write_bytes", "mkstemp", "NamedTemporaryFile", "savez", "tofile"}
# Calls that write to what is their first argument: a file that was opened, or a path.
WRITES_TO = {"savefig", "save_model", "savetxt"}


def faults(source: str) -> Iterator[str]:
    """The calls of `source` that write a file other than one of `atomic_file`."""
    tree = ast.parse(source)
    opened = {
        item.optional_vars.id
        for node in ast.walk(tree)
        if isinstance(node, ast.With)
        for item in node.items
        if ast.unparse(item.context_expr).startswith("atomic_file.replacing(")
        and isinstance(item.optional_vars, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _writes(node, opened):
            yield f"line {node.lineno}: {ast.unparse(node)}"


def _writes(call: ast.Call, opened: set[str]) -> bool:
    name = ast.unparse(call.func)
    last = name.rpartition(".")[2]
    if name.startswith("atomic_file."):
        return False
    if last in WRITES_TO:
        return not (call.args and isinstance(call.args[0], ast.Name) and call.args[0].id in opened)
    return last in WRITES or (last in {"open", "GzipFile", "fdopen"} and _opens(call, opened))


def _opens(call: ast.Call, opened: set[str]) -> bool:
    """Whether a mode that writes is among the arguments, or one that is not written out."""
    if any(isinstance(x.value, ast.Name) and x.value.id in opened for x in call.keywords):
        return False
    places = [*call.args[:2], *(x.value for x in call.keywords if x.arg == "mode")]
    texts = [x.value for x in places if isinstance(x, ast.Constant) and isinstance(x.value, str)]
    if ast.unparse(call.func) == "os.open":
        return "os.O_RDONLY" not in ast.unparse(call) and "os.devnull" not in ast.unparse(call)
    return any(set(text) <= set("rwaxbt+U") and set(text) & set("wax+") for text in texts)


def test_no_module_but_one_opens_files_for_writing() -> None:
    found = [
        f"{path.relative_to(PYTHON)}, {fault}"
        for path in sorted(set(PYTHON.rglob("*.py")) - {WRITER})
        for fault in faults(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


def test_the_rule_sees_what_it_refuses() -> None:
    refused = (
        "open(path, 'w')",
        "open(path, mode='ab')",
        "path.open('x')",
        "gzip.open(path, 'wb')",
        "path.write_text('')",
        "figure.savefig(path)",
        "os.open(path, os.O_WRONLY)",
    )
    assert [source for source in refused if not list(faults(source))] == []
    allowed = (
        "open(path)",
        "path.open('rb')",
        "gzip.GzipFile(fileobj=file)",
        "with atomic_file.replacing(path) as file:\n    figure.savefig(file)",
        "with atomic_file.replacing(path) as file:\n    gzip.GzipFile(fileobj=file, mode='wb')",
    )
    assert [source for source in allowed if list(faults(source))] == []
