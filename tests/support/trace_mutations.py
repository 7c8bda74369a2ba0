"""Trace files that are broken in every way, read in a process of their own.

Run as a program with the path of a trace, what to break it with, a seed, how often, and how many of
them to leave out: prints the name of every broken file before it is read and what came of it after,
so that the last line names the one with which the process died or did not end.
"""

from __future__ import annotations

import faulthandler
import io
import itertools
import json
import random
import resource
import sys
import traceback
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import elk
import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]
Broken = tuple[str, bytes]
MOST_BYTES = 4 << 30  # of the process
MOST_MORE_BYTES = 150 << 20  # for one small file
LARGE = 250 << 20  # bytes of zeros
MOST_S = 60.0
PROCESS = Path("/proc/self")
MOST = int(np.iinfo(np.int64).max)
DTYPES = ("object", "record", "<i8", "<i4", "<i2", "u1", "<u8", ">i8", ">i4", "<f8", "<f4", "?",
          "<c16", "<U4", "S0")  # fmt: skip
ODD: list[Any] = [
    None, True, -1, 0, 1, 1 << 31, 1 << 63, 1 << 80, 1.5, 1e308, float("nan"), float("inf"), "",
    "preload", "\0", [], {}, [[]], [["execute", 0]], [["execute", "x"]],
]  # fmt: skip


def arrays_of(data: bytes) -> Arrays:
    with np.load(io.BytesIO(data)) as archive:
        return dict(archive)


def member_of(array: NDArray[Any]) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=(1, 0), allow_pickle=True)
    return file.getvalue()


def archive_of(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return file.getvalue()


def packed(arrays: Arrays, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """An archive whose checksums are right; objects are pickled."""
    return archive_of({name: member_of(array) for name, array in arrays.items()}, method)


def header_of(arrays: Arrays) -> Any:
    return json.loads(arrays["header"].tobytes())


def with_header(arrays: Arrays, header: Any) -> Arrays:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return {**arrays, "header": np.frombuffer(text, dtype=np.uint8)}


def _odd_value(rng: random.Random, array: NDArray[Any], place: int) -> Any:
    if array.dtype.kind == "f":
        return rng.choice([np.nan, np.inf, -np.inf, -1.0, 0.0, 1e300, 5e-324])
    least, most = int(np.iinfo(array.dtype).min), int(np.iinfo(array.dtype).max)
    old = int(array[place])
    near = [old - 1, old + 1, 2 * old, old // 2, most >> 1, most >> rng.randrange(8, 60)]
    value = rng.choice([least, most, least + 1, most - 1, -1, 0, 1, 2, *near])
    return min(max(value, least), most)


def _value(rng: random.Random, arrays: Arrays, name: str) -> Arrays:
    array = arrays[name].copy()
    for _ in range(rng.choice([1, 1, 1, 3])):
        place = rng.randrange(len(array))
        array[place] = _odd_value(rng, array, place)
    return {**arrays, name: array}


def _all_values(rng: random.Random, arrays: Arrays, name: str) -> Arrays:
    array = arrays[name].copy()
    array[:] = _odd_value(rng, array, 0)
    return {**arrays, name: array}


def _dtype(rng: random.Random, arrays: Arrays, name: str) -> Arrays:
    array, kind = arrays[name], rng.choice(DTYPES)
    if kind == "record":
        return {**arrays, name: array.view([("x", array.dtype)])}
    size = 0 if kind == "object" else np.dtype(kind).itemsize
    if size and rng.random() < 0.5:
        return {**arrays, name: np.frombuffer(array.tobytes()[: array.nbytes // size * size], kind)}
    return {**arrays, name: array.astype(kind)}


def _length(rng: random.Random, arrays: Arrays, name: str) -> Arrays:
    array = arrays[name]
    ways = [array[:-1], array[:0], array[1:], np.tile(array, 2), np.append(array, array[:1])]
    return {**arrays, name: rng.choice(ways)}


def _shape(rng: random.Random, arrays: Arrays, name: str) -> Arrays:
    array = arrays[name]
    return {**arrays, name: rng.choice([array[None], array[:, None], np.asarray(array[0])])}


def _columns(rng: random.Random, arrays: Arrays, name: str) -> Arrays:
    other = rng.choice(sorted(arrays))
    ways = [
        {key: array for key, array in arrays.items() if key != name},
        {**arrays, "more": arrays[name]},
        {**arrays, name: arrays[other], other: arrays[name]},
        {**arrays, name: arrays[other]},
    ]
    return rng.choice(ways)


def _order(rng: random.Random, arrays: Arrays, name: str) -> Arrays:
    places = list(range(len(arrays[name])))
    rng.shuffle(places)
    return {**arrays, name: arrays[name][places]}


def _header_value(rng: random.Random, arrays: Arrays, _: str) -> Arrays:
    header = header_of(arrays)
    key = rng.choice(sorted(header))
    value = header[key]
    if isinstance(value, list) and value and rng.random() < 0.7:
        place = rng.randrange(len(value))
        ways: list[Callable[[], Any]] = [
            lambda: value.pop(place),
            lambda: value.append(value[place]),
            lambda: value.__setitem__(place, rng.choice(ODD)),
            value.reverse,
        ]
        rng.choice(ways)()
    elif rng.random() < 0.2:
        del header[key]
    else:
        header[rng.choice([key, key, key, "more"])] = rng.choice(ODD)
    return with_header(arrays, header)


def _header_text(rng: random.Random, arrays: Arrays, _: str) -> Arrays:
    text = arrays["header"].tobytes()
    place = rng.randrange(len(text))
    flipped = text[:place] + bytes([text[place] ^ 1 << rng.randrange(8)]) + text[place + 1 :]
    twice = text[:-1] + b',"copies":2}'
    ways = [b"", b"null", b"[]", b"[" * 100_000, text[:place], flipped, flipped, twice]
    return with_header(arrays, rng.choice(ways))


WAYS = [_value, _value, _value, _value, _all_values, _dtype, _length, _shape, _columns, _order,
        _header_value, _header_text]  # fmt: skip


def mutations(data: bytes, seed: int, count: int) -> Iterator[Broken]:
    """Archives of changed arrays."""
    rng, arrays = random.Random(seed), arrays_of(data)
    full = sorted(name for name, array in arrays.items() if len(array) and name != "header")
    for number in range(count):
        way, name = rng.choice(WAYS), rng.choice(full)
        changed = way(rng, arrays, name)
        yield f"{number} {way.__name__} {_told(arrays, changed)}", packed(changed)


def _told(arrays: Arrays, changed: Arrays) -> str:
    """What differs, to write the file by hand."""
    found = []
    for key in {**arrays, **changed}:
        one, other = arrays.get(key), changed.get(key)
        if one is None or other is None:
            found.append(f"{key} is gone or new")
        elif one.dtype != other.dtype or one.shape != other.shape or key == "header":
            same = one.tobytes() == other.tobytes() and one.dtype == other.dtype
            told = other.tobytes()[:60] if key == "header" else (other.dtype, other.shape)
            found += [] if same else [f"{key} is {told!r}"]
        else:
            places = [i for i in range(one.size) if one[i] != other[i]]
            found += [f"{key}[{i}] from {one[i]} to {other[i]}" for i in places[:4]]
    return "; ".join(found)[:300].replace("\n", " ")


def flips(data: bytes, seed: int, count: int) -> Iterator[Broken]:
    """The file with some bytes changed, more often in the directory at its end."""
    rng, directory = random.Random(seed), data.index(b"PK\x01\x02")
    for number in range(count):
        changed = bytearray(data)
        begins = [0, directory, directory, len(data) - 22]
        places = [
            rng.randrange(rng.choice(begins), len(data)) for _ in range(rng.choice([1, 1, 2, 8]))
        ]
        for place in places:
            changed[place] = rng.choice([0, 255, rng.randrange(256), changed[place] ^ 1])
        yield f"{number} flips {places}", bytes(changed)


def cuts(data: bytes, seed: int, count: int) -> Iterator[Broken]:
    """The file, cut off."""
    rng = random.Random(seed)
    for end in (0, 1, 2, *(rng.randrange(len(data)) for _ in range(count - 3))):
        yield f"cut at {end}", data[:end]


# What changes: columns, each to one value everywhere or to some by position.
PLAYED: dict[str, dict[str, Any]] = {
    "a wait for the first byte over many refreshes": {
        "refresh_interval": 1000, "refresh_stall": 999, "hbm_latency": 1 << 44},
    "a stream over many refreshes": {"kind_rate": {1: 1}},
    "a stream of many bytes over many refreshes": {"kind_amount": {1: 1 << 50}},
    "streams that nothing carries": {"demand_kind_of": 0},
    "a fidelity that is none": {"fidelity": 127},
    "many classes": {"classes": 1 << 30},
    "many operators": {"ops": 1 << 30},
    "memories of all sizes": {"list_sizes": MOST},
    "bytes that do not add up": {"demand_hbm": MOST, "demand_received": MOST, "demand_hops": MOST},
    "bytes below none": {"demand_hbm": -MOST, "demand_received": -MOST, "demand_hops": -MOST},
    "accesses of nothing": {"list_accesses": MOST},
    "a late beginning": {"state_now": 1 << 58},
    "cores beyond all": {"core": -(1 << 31)},
    "no rates": {"resource_rate": 0},
    "calls that last for no number": {"stage_core_s": np.nan},
    "flops that are no number": {"execution_flops": np.nan},
}  # fmt: skip
NPY_HEADERS = (
    "", "{", "[1", "(((", "'''", "1", "\0", "\xff", "{[]:1}", "if 1:\n  x\n y", "(" * 3000,
    "{'descr': '<i4', 'fortran_order': False, 'shape': (3L,)}",
    "{'descr': '<i4', 'fortran_order': False, 'shape': (-5,)}",
    "{'descr': '<i4', 'fortran_order': False, 'shape': (1.5,)}",
    "{'descr': ',,', 'fortran_order': False, 'shape': (3,)}",
    "{'descr': '|V0', 'fortran_order': False, 'shape': (3,)}",
    "{'descr': [('a', 'O')], 'fortran_order': False, 'shape': (3,)}",
)  # fmt: skip


def hostile(data: bytes, _seed: int, _count: int) -> Iterator[Broken]:
    """Files that somebody made to do harm."""
    arrays = arrays_of(data)
    for name, values in PLAYED.items():
        changed = {key: array.copy() for key, array in arrays.items()}
        for key, value in values.items():
            places = value if isinstance(value, dict) else {...: value}
            for place, new in places.items():
                changed[key][place] = new
        yield name, packed(changed)
    for kind in ("<f8", "<u8", "S8"):
        yield f"accesses as {kind}", packed({**arrays, "list_light": np.zeros(40, kind)})
    header = header_of(arrays)
    header["ops"][0] = "x" * (20 << 20)
    yield "a name of many letters", packed(with_header(arrays, header))
    members = {name: member_of(array) for name, array in arrays.items()}
    for text in NPY_HEADERS:
        line = text.encode("latin1") + b"\n"
        odd = b"\x93NUMPY\x01\x00" + len(line).to_bytes(2, "little") + line
        yield f"a member headed {text[:60]!r}", archive_of({**members, "core": odd})
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2):
        lies = bytearray(archive_of({**members, "core": bytes(LARGE)}, method))
        place = lies.index(LARGE.to_bytes(4, "little"), lies.index(b"PK\x01\x02"))
        lies[place : place + 4] = len(members["core"]).to_bytes(4, "little")
        yield f"a member that is larger than it says, method {method}", bytes(lies)
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        torn = bytearray(packed(arrays, method))
        torn[200:400:20] = bytes(10)
        yield f"a member that is torn, method {method}", bytes(torn)


def use(trace: Any) -> None:
    """Asks a trace for all that it can say."""
    begin, span = trace.begin_ps, max(trace.total_ps, 1)
    again = trace.replay()
    assert again.total_ps == trace.total_ps
    trace.replay(slow={"sram": 0.5})
    for table in (
        trace.transfers(), trace.instruction_times, trace.links(), trace.memory(), trace.unread(),
        trace.dependences(), trace.units(span // 20 + 1, end_ps=begin + span),
        trace.window(trace.instruction_times.count // 2, 3).transfers(),
    ):  # fmt: skip
        assert len({len(column) for column in table.values()}) <= 1
    trace.heat(blocks=8, times=20)
    trace.summary()
    trace.timeline()


def peak_bytes(*, anew: bool = False) -> int:
    """The most memory that the process held, or holds from now on; 0 but on Linux."""
    if not PROCESS.exists():
        return 0
    if anew:
        (PROCESS / "clear_refs").write_text("5")
    return 1024 * int((PROCESS / "status").read_text().split("VmHWM:")[1].split()[0])


def came_of(path: Path) -> str:
    before = peak_bytes(anew=True)
    came = "plays"
    try:
        trace = elk.load_trace(path)
    except elk.TraceFileError as error:
        came = f"refused: {error.message[:200]!r}"
        if not error.remedy or error.place != str(path):
            came = f"FAILED: {str(error)!r} at {error.place!r}"
    except Exception:
        came = f"FAILED: {traceback.format_exc()[-300:]!r}"
    else:
        try:
            use(trace)
        except Exception:
            came = f"FAILED: it loads, and then {traceback.format_exc()[-300:]!r}"
    more = peak_bytes() - before
    return came if more <= MOST_MORE_BYTES else f"FAILED: it takes {more:,} bytes, and {came}"


def main(path: str, kind: str, seed: str, count: str, done: str) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    data, target = Path(path).read_bytes(), Path(f"{path}.broken")
    ways = {"mutations": mutations, "flips": flips, "cuts": cuts, "hostile": hostile}
    for name, broken in itertools.islice(ways[kind](data, int(seed), int(count)), int(done), None):
        target.write_bytes(broken)
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
        faulthandler.dump_traceback_later(MOST_S, exit=True)
        sys.stdout.write(f"  {came_of(target)}\n")
        faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    faulthandler.enable()
    main(*sys.argv[1:])
