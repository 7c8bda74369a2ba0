"""Does a topology have one place?

`cpp/elk/chip` alone knows which topologies there are; other modules ask `chip/network.hpp`. So a
new one touches the enumerators and the registry there, its binding, and the schema of chips.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from elk import _core
from elk.chip.tables import Topology

ROOT = Path(__file__).parents[2]
CHIP = "cpp/elk/chip/"
ENUMERATORS = tuple(member.name for member in _core.Topology)
# What names a topology beside the registry: `chip/replace` gives it a grid.
PLACES = {
    "cpp/elk/chip/network.hpp",
    "cpp/elk/chip/topologies.cpp",
    "bindings/bind_chip.cpp",
    "python/elk/_core.pyi",
    "python/elk/chip/tables.py",
    "python/elk/chip/replace.py",
}
NAMED = re.compile(r"\bTopology::[A-Z]")
ASKED = re.compile(r"\bis_mesh\b|\bis_grid\b|\btopology\s*[!=]=|switch \([^)]*\btopology\)")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def sources(*folders: str) -> Iterator[tuple[str, str]]:
    """Paths below the root, and what stands there beside comments."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".cpp", ".hpp", ".h"}:
                text = COMMENT.sub("", path.read_text(encoding="utf-8"))
                yield path.relative_to(ROOT).as_posix(), text


def faults(path: str, text: str) -> list[str]:
    """What a file asks of a topology that it should ask of the network."""
    allowed = CHIP if NAMED.search(text) is None else (CHIP, "bindings/bind_chip.cpp")
    if path.startswith(allowed):
        return []
    return [f"{path}: {found[0]}" for found in (*NAMED.finditer(text), *ASKED.finditer(text))]


def test_no_module_but_chip_asks_which_topology_there_is() -> None:
    # What chips are made from, and what hashes them whole, passes the value on.
    found = [fault for path, text in sources("cpp/elk", "bindings") for fault in faults(path, text)]
    assert not found, "\n".join(found)


def test_a_topology_touches_few_files() -> None:
    texts = dict(sources("cpp/elk", "bindings"))
    for path in (ROOT / "python" / "elk").rglob("*.py*"):
        if path.suffix in {".py", ".pyi"}:
            text = re.sub(r'""".*?"""', "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
            texts[path.relative_to(ROOT).as_posix()] = text
    for named in ('"mesh3d"|Mesh3d', r"Topology[.:]+Groups"):
        naming = {path for path, text in texts.items() if re.search(named, text)}
        assert naming
        assert naming - PLACES == set()


def test_the_registry_the_binding_and_the_schema_name_the_same_topologies() -> None:
    registry = (ROOT / CHIP / "topologies.cpp").read_text(encoding="utf-8")
    assert tuple(re.findall(r"\.topology = Topology::(\w+)", registry)) == ENUMERATORS
    assert tuple(re.findall(r'\.name = "(\w+)"', registry)) == get_args(Topology)


def test_the_rule_sees_what_it_refuses() -> None:
    refused = (
        "if (chip.interconnect.topology == kind) {",
        "switch (chip.interconnect.topology) {",
        "const bool ring = one != chip::Topology::Ring;",
        "return chip::is_mesh(chip);",
    )
    assert [text for text in refused if not faults("cpp/elk/cost/price.cpp", text)] == []
    assert not faults("cpp/elk/cost/price.cpp", "return chip::network_of(chip).routed();")
