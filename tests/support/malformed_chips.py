"""More than 500 malformed chip files, the same on every run."""

from __future__ import annotations

import json
import random
import tomllib
from collections.abc import Iterator
from typing import Any

from elk.chip.presets import preset_file

# A name that differs, how the file is called, and what it holds.
Files = Iterator[tuple[str, str, bytes]]

TINY = preset_file("tiny").read_text(encoding="utf-8")
MESH = preset_file("ipu-pod4-hbm-mesh").read_text(encoding="utf-8")
# What a value is replaced by, as TOML writes it.
_WRONG = (
    '""', '" "', '"12"', '"12 parsecs"', '"nan B"', '"1e999 B"', '"-4 KiB"', '"0 B"', '"0 B/s"',
    '"-1 ns"', '"1e300 Hz"', '"64 kib"', '"\\u0663 KiB"', "nan", "inf", "-inf", "0", "-1", "1e400",
    "1000000000", "9223372036854775808", "1" + "0" * 4000, "0.5", "true", "[]", "[1, 2, 3]",
    "{}", "{ a = 1 }", "1979-05-27T07:32:00Z", '"' + "x" * 5000 + '"', '"""\nmany\nlines"""',
)  # fmt: skip


def cases() -> Files:
    """All of this file."""
    yield from _values()
    yield from _keys()
    yield from _machines()
    yield from _toml()
    yield from _yaml()
    yield from _json()
    yield from _bytes()


def _lines() -> list[tuple[int, str, str]]:
    """Line number, table and key of each leaf of the preset."""
    found, table = [], ""
    for number, line in enumerate(TINY.splitlines()):
        if line.startswith("["):
            table = line.strip("[]")
        elif line[:1].isalpha():
            found.append((number, table, line.split(" = ")[0]))
    return found


def _with(number: int, *lines: str) -> bytes:
    old = TINY.splitlines()
    return "\n".join([*old[:number], *lines, *old[number + 1 :]]).encode()


def _values() -> Files:
    for number, table, key in _lines():
        for i, wrong in enumerate(_WRONG):
            yield f"value_{table}_{key}_{i}", "c.toml", _with(number, f"{key} = {wrong}")


def _keys() -> Files:
    for number, table, key in _lines():
        name, old = f"{table}_{key}", TINY.splitlines()[number]
        yield f"missing_{name}", "c.toml", _with(number)
        yield f"twice_{name}", "c.toml", _with(number, old, old)
        yield f"upper_{name}", "c.toml", _with(number, old.replace(key, key.upper(), 1))
        yield f"misspelt_{name}", "c.toml", _with(number, old.replace(key, key[:-1] or "q", 1))
        yield f"extra_{name}", "c.toml", _with(number, old, f"{key}_x = 1")
        yield f"quoted_{name}", "c.toml", _with(number, old, f'"{key} " = 1')
    tables = tomllib.loads(TINY)
    for table in (key for key, inner in tables.items() if isinstance(inner, dict)):
        head = next(i for i, line in enumerate(TINY.splitlines()) if line == f"[{table}]")
        for i, new in enumerate(
            (f"[{table}]\n[{table}]", f"[[{table}]]", f"[{table}x]", f"[x.{table}]", f"{table} = 1")
        ):
            yield f"table_{table}_{i}", "c.toml", _with(head, new)
        rest = {key: inner for key, inner in tables.items() if key != table}
        yield f"no_table_{table}", "c.json", json.dumps(rest).encode()
        for i, other in enumerate((None, [], 3, "x", [tables[table]])):
            changed = tables | {table: other}
            yield f"table_{table}_is_{i}", "c.json", json.dumps(changed).encode()


def _machines() -> Files:
    """Chips that agree with every rule of the file and describe nothing that can be built."""
    for chips in (0, 2, 10**9):
        yield (
            f"disconnected_{chips}",
            "c.toml",
            TINY.replace("chips = 1", f"chips = {chips}").encode(),
        )
    for count in (0, 10**9, 1 << 24, (1 << 24) + 1, 1 << 62):
        yield f"cores_{count}", "c.toml", TINY.replace("count = 64", f"count = {count}").encode()
    for grid in ("[0, 5]", "[1000000000, 1]", "[99999, 99999]", "[4]", "[1, 2, 3]", "[-2, -2]",
                 '["a", 2]', "[[1], [2]]", "7", "[1.5, 2]", "[true, true]",
                 "[4611686018427387904, 4]"):  # fmt: skip
        for topology in ("mesh2d", "torus2d", "ring", "all_to_all"):
            text = TINY.replace("count = 64", f"grid = {grid}")
            text = text.replace('"all_to_all"', f'"{topology}"')
            yield f"grid_{grid}_{topology}", "c.toml", text.encode()
    for topology in ("none", "mesh4d", "", "ALL_TO_ALL", "all-to-all"):
        text = TINY.replace('"all_to_all"', f'"{topology}"')
        yield f"topology_{topology}", "c.toml", text.encode()
    for modules in (0, 10**9, 100_000):
        text = MESH.replace("\nmodules = ", f"\nmodules = {modules} # ")
        yield f"modules_{modules}", "c.toml", text.encode()
    for position in ("nowhere", "edges_all", "edges_left_right"):
        text = TINY.replace('position = "nodes"', f'position = "{position}"')
        yield f"position_{position}", "c.toml", text.encode()


def _toml() -> Files:
    texts = {
        "empty": "",
        "comment": "# nothing",
        "no_schema": TINY.replace("schema", "#schema"),
        "schema_2": TINY.replace("elk.chip/1", "elk.chip/2"),
        "schema_plan": TINY.replace("elk.chip/1", "elk.plan/1"),
        "schema_number": TINY.replace('"elk.chip/1"', "1"),
        "deep_arrays": "a = " + "[" * 20_000,
        "deep_tables": "a = " + "{ a = " * 20_000,
        "deep_keys": "a" + ".a" * 30_000 + " = 1",
        "many_dotted": "\n".join(f"a.b.c.k{i} = 1" for i in range(4000)),
        "many_headers": "\n".join(f"[a.t{i}]" for i in range(7000)),
        "many_keys": TINY + "\n" + "\n".join(f"k{i} = 1" for i in range(5000)),
        "open_text": 'name = "tiny',
        "open_texts": 'name = """tiny',
        "open_table": "[core",
        "no_value": "name =",
        "control": "name = \"a\x01b\"",
        "long_line": "name = \"" + "y" * 60_000 + '"',
        "anchor": "&a name = 1",
    }  # fmt: skip
    for name, text in texts.items():
        yield f"toml_{name}", "c.toml", text.encode()


def _yaml() -> Files:
    plain = _as_yaml(tomllib.loads(TINY))
    bomb = "a: &a [x, x]\n" + "\n".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [*{chr(97 + i)}, *{chr(97 + i)}]" for i in range(20)
    )
    texts = {
        "alias": plain.replace('name: "tiny"', "name: &n tiny\nextra: *n"),
        "alias_bomb": bomb,
        "alias_unknown": "name: *nobody",
        "alias_itself": "a: &a [*a]",
        "merge": "base: &b {x: 1}\ncore:\n  <<: *b",
        "tag_python": "name: !!python/object/apply:os.system ['true']",
        "tag_unknown": "name: !nobody x",
        "tag_binary": "name: !!binary aGk=",
        "tag_int": "chips: !!int x",
        "twice": plain + "name: other\n",
        "twice_inside": plain.replace("  count: 64", "  count: 64\n  count: 64"),
        "documents": plain + "---\n" + plain,
        "deep_flow": "a: " + "[" * 3000,
        "deep_maps": "".join(" " * i + "a:\n" for i in range(200)),
        "sexagesimal": "chips: " + ":".join(["1"] * 10_000),
        "sexagesimal_long": "chips: " + ":".join(["1"] * 32_000),
        "flow_long": "a: [" + "1," * 32_000 + "]",
        "date": "name: 2001-99-99",
        "octal": "chips: 0o9",
        "tab": "core:\n\tcount: 64",
        "list": "- a\n- b",
        "scalar": "tiny",
        "null": "~",
        "empty": "",
        "number_key": "1: 2",
        "null_key": "~: 2",
        "list_key": "[a]: 2",
        "map_key": "? {a: b}\n: 2",
        "nan": plain.replace("chips: 1", "chips: .nan"),
        "inf": plain.replace("chips: 1", "chips: .inf"),
        "yes": plain.replace("chips: 1", "chips: yes"),
        "digits": "chips: " + "9" * 5000,
        "directive": "%YAML 9.9\n---\na: 1",
        "long": "\n".join(f"k{i}: 1" for i in range(6000)),
    }
    for name, text in texts.items():
        yield f"yaml_{name}", "c.yaml", text.encode()
    yield from _damaged("yaml", "c.yaml", plain.encode(), 40)


def _as_yaml(tables: dict[str, Any]) -> str:
    lines = []
    for key, inner in tables.items():
        lines.append(f"{key}:" if isinstance(inner, dict) else f"{key}: {json.dumps(inner)}")
        if isinstance(inner, dict):
            lines += [f"  {k}: {json.dumps(v)}" for k, v in inner.items()]
    return "\n".join(lines) + "\n"


def _json() -> Files:
    plain = json.dumps(tomllib.loads(TINY), indent=1)
    texts = {
        "twice": plain.replace('"chips": 1', '"chips": 1, "chips": 1'),
        "nan": plain.replace('"chips": 1', '"chips": NaN'),
        "inf": plain.replace('"chips": 1', '"chips": -Infinity'),
        "null": plain.replace('"chips": 1', '"chips": null'),
        "digits": plain.replace('"chips": 1', '"chips": ' + "9" * 5000),
        "float": plain.replace('"chips": 1', '"chips": 1e999'),
        "deep": "[" * 30_000,
        "deep_tables": '{"a":' * 9000,
        "list": "[1]",
        "text": '"tiny"',
        "comma": plain.replace("}", ",}", 1),
        "single": plain.replace('"', "'"),
        "comment": "// tiny\n" + plain,
        "two": plain + plain,
        "surrogate": plain.replace("tiny", "\\ud800"),
        "zero": plain.replace("tiny", "\\u0000"),
        "empty": "",
        "empty_key": plain.replace('"chips"', '""'),
    }
    for name, text in texts.items():
        yield f"json_{name}", "c.json", text.encode()
    yield from _damaged("json", "c.json", plain.encode(), 40)


def _bytes() -> Files:
    rng = random.Random(5)
    for i in range(40):
        name = ("c.toml", "c.yaml", "c.json")[i % 3]
        yield f"junk_{i}", name, rng.randbytes(rng.randrange(1, 3000))
    for name in ("c.toml", "c.yaml", "c.json"):
        for encoding in ("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "cp037"):
            yield f"encoding_{encoding}_{name}", name, TINY.encode(encoding)
        yield f"encoding_latin_{name}", name, TINY.replace("tiny", "t\xefny").encode("latin-1")
        for junk in (b"\0" * 999, b"\xff" * 999, b"\x1f\x8b\x08", b"PK\x03\x04", b"\x7fELF"):
            yield f"binary_{junk[:4].hex()}_{name}", name, junk
        yield f"large_{name}", name, b"# " + b"x" * (2 << 20)
    for name in ("c", "c.txt", "c.onnx", "c.toml.bak"):
        yield f"suffix_{name}", name, TINY.encode()
    yield from _damaged("toml", "c.toml", TINY.encode(), 80)


def _damaged(kind: str, name: str, data: bytes, count: int) -> Files:
    rng = random.Random(kind)
    for i in range(count):
        at = rng.randrange(len(data))
        flipped = bytearray(data)
        flipped[at] ^= 1 << rng.randrange(8)
        yield f"flipped_{kind}_{i}", name, bytes(flipped)
        yield f"cut_{kind}_{i}", name, data[:at]
        lines = data.splitlines(keepends=True)
        rng.shuffle(lines)
        yield f"shuffled_{kind}_{i}", name, b"".join(lines[: len(lines) - i % 5])
