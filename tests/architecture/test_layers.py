"""Do includes and imports follow the layer table?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORE = ROOT / "cpp" / "elk"
BINDINGS = ROOT / "bindings"
PYTHON = ROOT / "python" / "elk"

MAY_INCLUDE: dict[str, set[str]] = {
    "base": set(),
    "ir": {"base"},
    "chip": {"base"},
    "partition": {"base", "ir", "chip"},
    "tile": {"base", "ir", "chip", "partition"},
    "cost": {"base", "ir", "chip", "partition", "tile"},
    "program": {"base", "ir", "chip", "partition"},
    "schedule": {"base", "ir", "chip", "partition", "tile", "cost", "program"},
    "shard": {"base", "ir", "chip", "tile", "cost"},
    "sim": {"base", "ir", "chip", "partition", "program"},
    "emulate": {"base", "ir", "chip", "partition", "program"},
    "train": {"base", "ir", "chip", "partition", "tile", "cost", "shard", "sim"},
    "analyze": {"base", "ir", "chip", "partition", "program", "sim"},
    "compile": {
        "base", "ir", "chip", "partition", "tile", "cost", "program", "schedule", "shard", "sim",
    },
}  # fmt: skip

# The rooms of a module, lower ones first; "" is its own folder. A room includes those before it.
ROOMS: dict[str, tuple[str, ...]] = {
    "partition": ("", "layout"),
    "tile": ("form", "", "fit"),
    "cost": ("exchange", "", "price", "floor", "front"),
    "program": ("code", "place", "check", "expand", ""),
    "schedule": ("problem", "timing", "bound", "improve", "policies"),
    "sim": ("flows", "network", "play", "record", "tasks"),
    "emulate": ("memory", "kernels", "machine"),
    "train": ("", "work", "plan", "play"),
}
MOST_FILES = 30  # of a folder
MOST_MODULES = 2  # modules that have a file of one name

# Who alone may include a library, as the start of a path below the root of the repository.
LIBRARY_HOMES = {
    "oneTBB": (re.compile(r"(oneapi/)?tbb[/.]"), ("cpp/elk/base/parallel",)),
    "Eigen": (re.compile(r"(unsupported/)?Eigen/"), ("cpp/elk/emulate/", "cpp/elk/tile/fit/")),
    "pybind11": (re.compile(r"pybind11/|Python\.h"), ("bindings/",)),
}

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def sources(*folders: Path) -> list[Path]:
    return sorted(p for f in folders for p in f.rglob("*") if p.suffix in {".hpp", ".cpp", ".h"})


def includes(path: Path) -> list[str]:
    return INCLUDE.findall(path.read_text(encoding="utf-8"))


def core_includes() -> dict[str, list[str]]:
    """What every file of the core includes, by its path below `cpp/elk`."""
    return {path.relative_to(CORE).as_posix(): includes(path) for path in sources(CORE)}


def layer_faults(module: str, included: list[str]) -> Iterator[str]:
    """What of `included` the table refuses to a file of `module`."""
    for name in included:
        parts = name.split("/")
        ours = parts[0] == "elk" and len(parts) > 1
        if ours and parts[1] != module and parts[1] not in MAY_INCLUDE[module]:
            yield name
        if name.startswith(".") or (CORE / module / name).is_file():
            yield f"{name} (write the whole path, elk/...)"


def room_of(path: str) -> tuple[str, str]:
    """The module and the room of a file, from its path below `cpp/elk`."""
    module, *rooms, _ = path.split("/")
    return module, "/".join(rooms)


def room_faults(path: str, included: list[str]) -> Iterator[str]:
    """What the file at `path`, below `cpp/elk`, includes of a room of its module that is above."""
    module, room = room_of(path)
    order = ROOMS.get(module, ("",))
    if room not in order:
        yield f"{room} is no room of {module}"
        return
    for name in included:
        if name.startswith(f"elk/{module}/"):
            other = room_of(name.removeprefix("elk/"))[1]
            if other not in order[: order.index(room) + 1]:
                yield f"{name} (of a room above {room or module})"


def crowd_faults(paths: list[str]) -> Iterator[str]:
    """Folders with too many of these files, and names that too many modules have."""
    for folder, count in Counter(path.rpartition("/")[0] for path in paths).items():
        if count > MOST_FILES:
            yield f"{folder} has {count} files"
    homes: dict[str, set[str]] = {}
    for path in paths:
        homes.setdefault(Path(path).stem, set()).add(room_of(path)[0])
    for stem, modules in homes.items():
        if len(modules) > MOST_MODULES:
            yield f"{stem} is in {', '.join(sorted(modules))}"


def library_faults(path: str, included: list[str]) -> Iterator[str]:
    """What of `included` belongs to a library that the file at `path` may not use."""
    for name in included:
        for library, (pattern, homes) in LIBRARY_HOMES.items():
            if pattern.match(name) and not path.startswith(homes):
                yield f"{name} ({library} is for {', '.join(homes)})"


def test_a_core_file_includes_only_lower_layers_and_rooms() -> None:
    faults = [
        f"{path} includes {fault}"
        for path, included in core_includes().items()
        for fault in (*layer_faults(room_of(path)[0], included), *room_faults(path, included))
    ]
    assert not faults, "\n".join(faults)


def test_a_library_is_included_only_where_it_is_at_home() -> None:
    faults = [
        f"{path} includes {fault}"
        for file in sources(CORE, BINDINGS, ROOT / "tests" / "cpp")
        if (path := file.relative_to(ROOT).as_posix())
        for fault in library_faults(path, includes(file))
    ]
    assert not faults, "\n".join(faults)


def test_no_folder_is_crowded_and_no_name_is_everywhere() -> None:
    faults = list(crowd_faults(list(core_includes())))
    assert not faults, "\n".join(faults)
    assert len(sources(BINDINGS)) <= MOST_FILES


def test_the_table_has_every_folder_and_no_cycle() -> None:
    assert {p.name for p in CORE.iterdir() if p.is_dir()} <= set(MAY_INCLUDE)
    seen: set[str] = set()
    while ready := {m for m in MAY_INCLUDE if m not in seen and MAY_INCLUDE[m] <= seen}:
        seen |= ready
    assert seen == set(MAY_INCLUDE)


def test_cmake_holds_the_same_table() -> None:
    text = (ROOT / "cmake" / "ElkModule.cmake").read_text(encoding="utf-8")
    rows = re.findall(r"^set\(ELK_MAY_INCLUDE_(\w+)([^)]*)\)", text, re.MULTILINE)
    assert {module: set(names.split()) for module, names in rows} == MAY_INCLUDE


def test_no_file_is_named_for_nothing_or_longer_than_400_lines() -> None:
    banned = {"utils", "util", "common", "helpers", "helper", "misc"}
    files = [*sources(CORE, BINDINGS), *PYTHON.rglob("*.py")]
    faults = [f"{f} is named for nothing" for f in files if banned & {f.stem, f.parent.name}]
    for file in files:
        count = file.read_text(encoding="utf-8").count("\n")
        faults += [f"{file} has {count} lines"] if count > 400 else []
    assert not faults, "\n".join(faults)


def test_the_rules_see_what_they_refuse() -> None:
    text = '#include <vector>\n#  include "elk/schedule/beam.hpp"\n#include <tbb/parallel_for.h>\n'
    names = INCLUDE.findall(text)
    assert names == ["vector", "elk/schedule/beam.hpp", "tbb/parallel_for.h"]
    assert list(layer_faults("sim", names)) == ["elk/schedule/beam.hpp"]
    assert list(layer_faults("compile", names)) == []
    assert len(list(library_faults("cpp/elk/cost/tile.cpp", names))) == 1
    assert list(library_faults("cpp/elk/base/parallel_tbb.cpp", names)) == []
    assert len(list(library_faults("cpp/elk/cost/tile.cpp", ["Eigen/Dense"]))) == 1
    assert list(library_faults("cpp/elk/tile/fit/linear.cpp", ["Eigen/Dense"])) == []


def test_the_rules_of_rooms_see_what_they_refuse() -> None:
    upwards = ["elk/cost/front/front.hpp", "elk/cost/option.hpp", "elk/cost/exchange/store.hpp"]
    assert list(room_faults("cost/front/search.cpp", upwards)) == []
    assert len(list(room_faults("cost/price/price.cpp", upwards))) == 1
    assert len(list(room_faults("cost/exchange/store.cpp", upwards))) == 2
    assert len(list(room_faults("cost/attic/store.cpp", []))) == 1
    files = [f"cost/front/file{number}.cpp" for number in range(MOST_FILES)]
    assert list(crowd_faults(files)) == []
    assert len(list(crowd_faults([*files, "cost/front/another.cpp"]))) == 1
    same = ["cost/front/search.cpp", "schedule/policies/search.cpp", "cost/price/search.hpp"]
    assert list(crowd_faults(same)) == []
    assert len(list(crowd_faults([*same, "shard/search.cpp"]))) == 1
