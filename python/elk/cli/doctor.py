"""`elk doctor`: whether this installation works."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from collections.abc import Callable
from typing import NamedTuple

import typer

from elk.cli.output import print_json, print_table
from elk.cli.reading import AsJson

# The oldest release of each package that ELK works with.
_OLDEST = {
    "numpy": "1.26",
    "onnx": "1.22",
    "pydantic": "2.10",
    "PyYAML": "6",
    "tqdm": "4.66",
    "typer": "0.12",
}
_OPTIONAL = ("onnxruntime", "matplotlib")


class Check(NamedTuple):
    """One thing looked at: its name, whether it is well, and what was found."""

    name: str
    ok: bool
    found: str


def doctor_command(*, json: AsJson = False) -> None:
    """Check this installation: versions, the C++ core, chips, tile models. Exit code 1 if unwell.

    ELK needs no compiler once it is installed, and doctor looks for none.
    """
    checks = [
        _python(),
        *(_package(name, oldest) for name, oldest in _OLDEST.items()),
        _try("core", _core_version),
        _try("import onnx", _import_onnx),
        _try("chips", _load_chips),
        _try("tile models", _load_tile_models),
    ]
    well = all(check.ok for check in checks)
    optional = {name: _version(name) for name in _OPTIONAL}
    if json:
        rows = [check._asdict() for check in checks]
        print_json({"ok": well, "platform": _machine(), "checks": rows, "optional": optional})
    else:
        typer.echo(_machine())
        print_table([["ok" if c.ok else "BAD", c.name, c.found] for c in checks])
        print_table([["-", name, found or "not installed"] for name, found in optional.items()])
        typer.echo("all is well" if well else "something is wrong: see the lines marked BAD")
    if not well:
        raise typer.Exit(1)


def _machine() -> str:
    return f"{platform.system()} {platform.machine()}, {platform.python_implementation()}"


def _python() -> Check:
    return Check("python", sys.version_info >= (3, 11), f"{platform.python_version()} (>= 3.11)")


def _package(name: str, oldest: str) -> Check:
    found = _version(name)
    if found is None:
        return Check(name, False, f"not installed (>= {oldest})")
    return Check(name, _release(found) >= _release(oldest), f"{found} (>= {oldest})")


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _release(version: str) -> tuple[int, ...]:
    """The leading numbers of a version: (2, 10) of "2.10.3rc1" after its first two parts."""
    parts = version.split(".")[:2]
    return tuple(int(part) if part.isdecimal() else 0 for part in parts)


def _try(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name, True, look())
    except Exception as error:  # Whatever it is, it is what doctor was asked for.
        return Check(name, False, f"{type(error).__name__}: {error}".splitlines()[0])


def _core_version() -> str:
    from elk import _core  # noqa: PLC0415 doctor reports that it does not load

    return f"{_core.__version__} from {_core.__file__}"


def _import_onnx() -> str:
    import onnx  # noqa: PLC0415 doctor reports that it does not load

    return f"opset {onnx.defs.onnx_opset_version()}"


def _load_chips() -> str:
    from elk.chip import presets  # noqa: PLC0415 doctor reports that it does not load

    names = presets.names()
    for name in names:
        presets.get(name)
    return f"{len(names)} presets: {', '.join(names)}"


def _load_tile_models() -> str:
    from elk.chip import presets  # noqa: PLC0415 doctor reports that it does not load
    from elk.tile.tilemodel import load_tile_model  # noqa: PLC0415 as above

    names = sorted({presets.get(name).core.tile_model for name in presets.names()})
    for name in names:
        load_tile_model(name)
    return ", ".join(names)
