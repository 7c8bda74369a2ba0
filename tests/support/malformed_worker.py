"""Reads malformed files in a process of its own, bounded in time and memory.

Run as `python malformed_worker.py model|chip LIST`: for each file that LIST names it prints a line
before it reads the file and one after, so that whoever started it knows which file ended it.
"""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

CPU_SECONDS = 2.0
WALL_SECONDS = 30  # A file that blocks takes no CPU time.
MEMORY_BYTES = 1 << 30
_SMALL_OPS = 12
_SMALL_BYTES = 1 << 16


class Outcome(NamedTuple):
    """What became of one file: `kind` is loaded, refused, or what went wrong."""

    name: str
    kind: str
    error: dict[str, Any]
    seconds: float


def outcomes(
    what: str, files: Sequence[Path], scratch: Path, *, cpu_s: float = CPU_SECONDS
) -> list[Outcome]:
    """Reads `files` in workers; one that ends is replaced, and the file it ended at is marked."""
    found: list[Outcome] = []
    while len(found) < len(files):
        listed = scratch / "list.txt"
        listed.write_text("\n".join(map(str, files[len(found) :])), encoding="utf-8")
        command = [sys.executable, "-W", "error", __file__, what, str(listed), str(cpu_s)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        found += [Outcome(**line) for line in lines]
        if len(found) < len(files):
            name = files[len(found)].name
            kind = f"ended by signal {-done.returncode}" if done.returncode < 0 else "ended"
            found.append(Outcome(name, kind, {"message": done.stderr[-2000:]}, 0.0))
    return found


def problem(outcome: Outcome) -> str | None:
    """Why `outcome` is not as it has to be; None if it is."""
    if outcome.kind == "loaded":
        return None
    if outcome.kind != "refused":
        return f"{outcome.kind}: {outcome.error}"
    missing = [key for key in ("code", "message", "place", "remedy") if not outcome.error.get(key)]
    if missing or outcome.error["code"] in {"internal", "elk", "infeasible"}:
        return f"{missing or 'code'} in {outcome.error}"
    if len(outcome.error["message"]) > 50_000:
        return "an endless message"
    return None


def _read_model(path: Path) -> None:
    import elk  # noqa: PLC0415 - only this kind of worker needs it

    try:
        model = elk.load_model(path)
    except elk.UnboundSymbolsError as error:
        names = error.message.partition(": ")[2].split(", ")
        model = elk.load_model(path, bindings=dict.fromkeys(names, 2))
    graph = model.graph
    if not 1 <= len(graph.ops) <= _SMALL_OPS:
        return
    if sum(tensor.bytes for tensor in graph.tensors) <= _SMALL_BYTES:
        try:
            json.dumps(elk.compile(model, "tiny", threads=1).to_json(), allow_nan=False)
        except elk.InfeasibleError:
            return


def _read_chip(path: Path) -> None:
    import elk  # noqa: PLC0415 - only this kind of worker needs it

    chip = elk.load_chip(path)
    assert elk.Chip.from_dict(chip.to_dict()) == chip


def _read(what: str, path: Path) -> tuple[str, dict[str, Any]]:
    from elk.errors import ElkError  # noqa: PLC0415 - the parent process does not need it

    try:
        {"model": _read_model, "chip": _read_chip}[what](path)
    except ElkError as error:
        return "refused", dict(error.to_dict())
    except Exception as error:  # What it is is what the test asks for.
        return "untyped", {"message": f"{type(error).__name__}: {error}"[:2000]}
    return "loaded", {}


def _main(what: str, listed: str, cpu_s: float) -> None:
    import elk.chips  # noqa: PLC0415 - imports count neither as time nor as memory
    import elk.model.model  # noqa: PLC0415
    import elk.plan.planning  # noqa: F401, PLC0415

    own = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (own + MEMORY_BYTES, own + MEMORY_BYTES))
    for line in Path(listed).read_text(encoding="utf-8").splitlines():
        start = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, cpu_s)
        signal.alarm(WALL_SECONDS)
        kind, error = _read(what, Path(line))
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        outcome = Outcome(Path(line).name, kind, error, time.process_time() - start)
        sys.stdout.write(json.dumps(outcome._asdict()) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
