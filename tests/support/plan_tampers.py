"""Plan files with one leaf changed: what loads of them must say and do what the right file does.

Run as `python plan_tampers.py FOLDER FIRST STEP`: reads every STEP-th tampered form of the plans in
FOLDER, from number FIRST on, and prints a line before and after each, so that whoever started it
knows which one ended it.
"""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
HUGE = 10**18
VALUES: tuple[Any, ...] = (0, -1, 1, 2007, HUGE, 2**63, float("nan"), None, "", [], "no such", True)
DELETED = object()
_FORECASTS = ("ideal", "vgm")
KeyPath = tuple[str | int, ...]


def make_plans(folder: Path) -> None:
    """Small plans of every kind, simulated where that is possible."""
    import elk  # noqa: PLC0415 - the process that reads alone needs it
    from small_chips import tiny_pod  # noqa: PLC0415 - as above

    tiny = elk.chips.get("tiny")
    bare = {key: value for key, value in tiny.to_dict().items() if key != "hbm"}
    nerf = elk.load_model(ROOT / "models" / "nerf.onnx", bindings={"rows": 8})
    config = elk.models.TransformerConfig(
        layers=1, hidden=64, heads=4, kv_heads=2, head_dim=16, ffn=96, vocab=64
    )
    proto = elk.models.transformer(config, phase="decode")
    decoder = elk.load_model(proto, bindings={"batch": 2, "past": 8})
    plans: dict[str, tuple[elk.Model, elk.Chip, dict[str, str]]] = {
        "all_to_all": (decoder, tiny, {"policy": "elk-dyn"}),
        "grid": (nerf, tiny.replace(topology="mesh2d"), {"policy": "elk-dyn"}),
        "sharded": (decoder, tiny_pod(2), {"policy": "basic"}),
        "pooled": (nerf, tiny_pod(2), {"policy": "elk-dyn", "pod": "pooled"}),
        "no_hbm": (nerf, elk.Chip.from_dict(bare), {"policy": "elk-dyn"}),
        "ideal": (nerf, tiny, {"policy": "ideal"}),
        "vgm": (nerf, elk.Chip.from_dict(bare).replace(sram_bytes="9 KiB"), {"policy": "vgm"}),
    }
    for name, (model, chip, options) in plans.items():
        plan = elk.compile(model, chip, threads=1, **options)  # type: ignore[arg-type]
        if name not in _FORECASTS:
            plan.simulate()
        plan.save(folder / f"{name}.elkplan")


def leaves(value: Any, path: KeyPath = ()) -> Iterator[KeyPath]:
    """The paths of all leaves; of a list the first two items and the last, which stand for all."""
    if isinstance(value, dict) and value:
        for key in value:
            yield from leaves(value[key], (*path, key))
    elif isinstance(value, list) and value:
        for i in sorted({0, 1, len(value) - 1} & set(range(len(value)))):
            yield from leaves(value[i], (*path, i))
    else:
        yield path


def tampers(document: Any) -> Iterator[tuple[KeyPath, Any]]:
    """Every leaf with every value that it does not have, and every leaf that is deleted."""
    yield ("schema",), document["schema"]  # Nothing is changed: such a file is read.
    for path in leaves(document):
        old = at(document, path)
        for value in (*VALUES, DELETED):
            if value is DELETED or value != old or type(value) is not type(old):
                yield path, value


def at(document: Any, path: KeyPath) -> Any:
    """The value at a path."""
    for key in path:
        document = document[key]
    return document


def tampered(document: Any, path: KeyPath, value: Any) -> Any:
    """A copy with another value at a path, or none."""
    # Lists and tables beside the path are shared: they are only written to a file.
    found = copy.copy(document)
    inner = found
    for key in path[:-1]:
        inner[key] = copy.copy(inner[key])
        inner = inner[key]
    if value is DELETED:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return found


def cases(folder: Path) -> Iterator[tuple[str, bool, Any, KeyPath, Any]]:
    """Every tampered form: of which plan, whether with the old digest, and what is changed."""
    import gzip  # noqa: PLC0415 - the process that reads alone needs it

    for path in sorted(folder.glob("*.elkplan")):
        document = json.loads(gzip.decompress(path.read_bytes()))
        for signed in (True, False):
            base = (
                dict(document) if signed else {k: v for k, v in document.items() if k != "digest"}
            )
            for where, value in tampers(base):
                yield path.stem, signed, base, where, value


def outcome(path: Path, right: tuple[Any, ...]) -> str:
    """What becomes of a file: "refused", "same", "other", or what is wrong with it."""
    import elk  # noqa: PLC0415 - the process that reads alone needs it

    try:
        plan = elk.load_plan(path)
    except elk.PlanFileError as error:
        fields = error.to_dict()
        missing = [key for key in ("code", "message", "place", "remedy") if not fields[key]]
        return f"no {missing}: {fields}" if missing else "refused"
    except Exception as error:
        return f"untyped: {type(error).__name__}: {error}"
    try:
        found = figures(plan)
    except Exception as error:
        return f"unsound: {type(error).__name__}: {error}"
    return "same" if found == right else "other"


def figures(plan: Any) -> tuple[Any, ...]:
    """What a plan says and does: times, the card, what it draws and lists."""
    if plan.policy in _FORECASTS:
        return plan.latency_s, plan.summary()
    run = plan.simulate(fidelity="symmetric")
    listed = plan.listing(core=0)
    plan.timeline()
    plan.explain(0)
    return run.total_ps, run.split_ps, plan.latency_s, plan.summary(), run.summary(), len(listed)


def sweep(folder: Path, first: int, step: int) -> tuple[Counter[str], list[str]]:
    """Reads every `step`-th case in processes that may end: how many became what, what is wrong."""
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    at = first
    while True:
        command = [sys.executable, __file__, str(folder), str(at), str(step)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        begun = ""
        for line in done.stdout.splitlines():
            words = line.split("\t")
            if words[0] == "begin":
                at, begun = int(words[1]) + 1, "\t".join(words[2:])
                continue
            begun = ""
            kind = words[1].partition(":")[0]
            signed = words[2] == "signed"
            counts[f"{kind}, {words[2]}"] += 1
            if kind not in ("refused", "same") and (signed or kind != "other"):
                wrong.append(line)
        if done.returncode == 0:
            return counts, wrong
        if not begun:
            raise RuntimeError(done.stderr)
        counts["ended"] += 1
        wrong.append(f"ended by {done.returncode}: {begun}: {done.stderr[-500:]}")


def _main(folder: Path, first: int, step: int) -> None:
    import elk  # noqa: PLC0415 - the process that reads alone needs it

    right: dict[str, tuple[Any, ...]] = {}
    file = folder / "tampered.json"
    for number, (name, signed, base, path, value) in enumerate(cases(folder)):
        unchanged = value == at(base, path)
        if number < first or ((number - first) % step and not unchanged):
            continue
        if name not in right:
            right[name] = figures(elk.load_plan(folder / f"{name}.elkplan"))
        shown = "deleted" if value is DELETED else repr(value)
        about = f"{'signed' if signed else 'bare'}\t{name}\t{'.'.join(map(str, path))}\t{shown}"
        _say(f"begin\t{number}\t{about}")
        file.write_text(json.dumps(tampered(base, path, value)), encoding="utf-8")
        _say(f"end\t{outcome(file, right[name])}\t{about}".replace("\n", " "))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
