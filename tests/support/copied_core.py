"""What a copy of the package needs to run, away from where the core is installed."""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path


def environment_of(package_path: Path) -> dict[str, str]:
    """The environment in which Python imports the copy of ELK in a folder.

    The core seeks the library of oneTBB beside the place where it was installed.
    """
    try:
        files = importlib.metadata.files("tbb") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    found = {str(Path(x.locate()).resolve().parent) for x in files if x.name.startswith("libtbb.")}
    libraries = [*sorted(found), *os.environ.get("LD_LIBRARY_PATH", "").split(":")]
    return {
        **os.environ,
        "PYTHONPATH": str(package_path),
        "LD_LIBRARY_PATH": ":".join(filter(None, libraries)),
    }
