"""From a call to answers in a store: `elk.sweep`, `Sweep.resume` and `Sweep.extend`."""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from elk import _core
from elk.base import quantity
from elk.base.choices import one_of
from elk.chip.chip import Chip
from elk.errors import InvalidInputError, SweepStoreError
from elk.points.columns import FAILED
from elk.points.complaints import Gathered
from elk.points.space import Space, as_space, listed_points
from elk.sweeps.coordinator import Coordinator, Queue
from elk.sweeps.definition import Base, Definition, define
from elk.sweeps.engine import Caps, Engine, InlineEngine, Work
from elk.sweeps.local import LocalEngine
from elk.sweeps.reporting import reporting
from elk.sweeps.sources import Named
from elk.sweeps.store import Store

if TYPE_CHECKING:
    from elk.limits import Limits

_MOST_WORKERS: Final = 4096
_MOST_RETRIES: Final = 1000
_LEAST_S: Final = 1e-3  # how long a point may take: below that nothing could be answered


@dataclass(frozen=True, kw_only=True)
class How:
    """How a sweep is run; none of it changes an answer.

    Attributes:
        workers: Processes of this machine; 0: none but this one; None: one a core.
        executor: Where else points are evaluated; None: in `workers`.
        timeout_s: What a point may take: seconds, or a text with a unit; None: any.
        memory_bytes: What a worker may hold: bytes, or a text with a unit; None: its share of the
            machine's.
        retries: How often a point is tried again whose worker died.
        progress: Whether a bar is shown; None: on terminals and in notebooks.
        limits: What models may have at most.
    """

    workers: int | None = None
    executor: Any = None
    timeout_s: float | str | None = None
    memory_bytes: int | str | None = None
    retries: int = 2
    progress: bool | None = None
    limits: Limits | None = None

    def checked(self) -> How:
        """How it is run, with numbers for texts.

        Raises:
            SweepError: some of them are wrong; all of those are listed.
        """
        found = Gathered()

        def number(place: str, read: Callable[[Any], float], least: float, most: float) -> Any:
            given = getattr(self, place)
            return (
                None
                if given is None
                else found.of(place, lambda: _within(read(given), least, most))
            )

        how = replace(
            self,
            workers=number("workers", quantity.count, 0, _MOST_WORKERS),
            retries=number("retries", quantity.count, 0, _MOST_RETRIES),
            timeout_s=number("timeout_s", _seconds, _LEAST_S, math.inf),
            memory_bytes=number("memory_bytes", _bytes, 1, math.inf),
        )
        found.refuse()
        return how

    def engine(self, work: Work) -> Engine:
        """The workers."""
        most_s = None if self.timeout_s is None else _seconds(self.timeout_s)
        if self.executor is not None:
            from elk.sweeps.executors import engine_of  # noqa: PLC0415 - optional packages

            most = None if self.memory_bytes is None else int(self.memory_bytes)
            caps = Caps(seconds=most_s, memory_bytes=most)
            return engine_of(self.executor, work, caps)
        if self.workers == 0:
            return InlineEngine(work)
        count = self.workers or len(os.sched_getaffinity(0))
        share = int(self.memory_bytes or _machine_bytes() // count)
        return LocalEngine(count, work, Caps(seconds=most_s, memory_bytes=share))


def start(path: Path, definition: Definition) -> Store:
    """The store of a sweep: a new one, or the one that is there if it is of the same sweep.

    Raises:
        SweepStoreError: the store that is there is of another sweep, and the message says what
            differs; or it holds results of another version of ELK.
    """
    if Store.is_new(path):
        return Store.create(path, definition)
    store = Store.open(path)
    refuse_older(store)
    differing = _differences(store, definition)
    if differing:
        raise SweepStoreError(
            f"the store holds another sweep: {'; '.join(differing)}",
            code="store_differs",
            place=str(path),
            remedy="give another path, or add points with elk.sweep.open(path).extend({...})",
        )
    return store


def run(store: Store, how: How, before: Callable[[], object] | None = None) -> None:
    """Does every point of the store that has no answer, once `before` has changed the store."""
    how = how.checked()
    try:
        with store.coordinating():
            if before is not None:
                before()
            _run_open(store, how)
    except BaseException as error:
        path = str(store.path)
        error.add_note(f"what is done is kept: elk.sweep.open({path!r}).resume() does the rest")
        raise


def _run_open(store: Store, how: How) -> None:
    tasks = store.open_tasks()
    if not tasks:
        return
    queue = Queue.of(tasks, store.chips())
    needed = {task.source for task in tasks}
    work = Work(
        sources=tuple(source for source in store.sources() if source.digest in needed),
        columns=store.columns,
        plans=bool(json.loads(store.about["plans"])),
        limits=how.limits,
    )
    del tasks
    engine = how.engine(work)
    try:
        with reporting(store, how.progress) as report:
            Coordinator(store=store, engine=engine, retries=how.retries, report=report).run(queue)
    finally:
        engine.close()


def resume(
    store: Store,
    base: Base | None,
    *,
    failed: bool = False,
    older: str | None = None,
    **how: Any,
) -> None:
    """Does the points that are open; see `Sweep.resume`."""
    _resume(store, base, failed=failed, older=older, **how)


def _resume(
    store: Store,
    base: Base | None,
    add: Callable[[], object] | None = None,
    *,
    failed: bool = False,
    older: str | None = None,
    **how: Any,
) -> None:
    """Does the points that are open, once `add` has added some, while no other process may."""
    others = refuse_older(store, older)

    def change() -> None:
        if others and older == "again":
            store.forget_versions(others)
        if failed:
            store.forget(FAILED)
        if add is not None:
            add()

    limits = base.limits if base is not None else None
    run(store, How(**{"limits": limits, **how}), change)


def refuse_older(store: Store, older: str | None = None) -> list[str]:
    """The other versions of ELK that found results of a store.

    Raises:
        SweepStoreError: there are some, and `older` does not say what becomes of these results.
        InvalidInputError: `older` is neither "keep" nor "again".
    """
    if older is not None:
        one_of("older", older, ("keep", "again"))
    others = {v: n for v, n in store.versions().items() if v != _core.__version__}
    if others and older is None:
        listed = ", ".join(f"{count:,} of ELK {version}" for version, count in others.items())
        raise SweepStoreError(
            f"the store holds results of another version: {listed}; this is {_core.__version__}",
            code="store_older",
            place=str(store.path),
            remedy='elk.sweep.open(path).resume(older="keep") keeps them beside new ones, '
            'older="again" finds all anew',
        )
    return list(others)


def extend(store: Store, base: Base | None, space: Mapping[str, Any], **how: Any) -> None:
    """Adds points at other values of some axes, and does them; see `Sweep.extend`."""
    axes, given = store.axes, as_space(space)
    unknown = [name for name in given.axes() if name not in axes]
    if unknown:
        raise InvalidInputError(
            f"{unknown[0]} is no axis of this sweep; those are {', '.join(axes)}",
            code="unknown_name",
            remedy="start a new sweep for another axis",
        )
    if json.loads(store.about["follows"]) and set(given.axes()) != set(axes):
        raise SweepStoreError(
            "an axis or a constraint of this sweep is a function, which its store does not hold",
            code="store_follows",
            place=str(store.path),
            remedy="give values of all axes",
        )
    varied = base or stored_base(store)
    _resume(store, varied, lambda: _add(store, varied, given), **how)


def _add(store: Store, base: Base, given: Space) -> None:
    """Adds the points of a store at the values that `given` has of some axes."""
    axes, meant = store.axes, _meant(store)
    kept = [name for name in axes if name not in given.axes()]
    rest: dict[tuple[Any, ...], None] = {}
    old = list(store.points())
    for point in old:
        values = dict(zip(axes, point.values, strict=True))
        rest.setdefault(tuple(values[name] for name in kept))
    points = [
        {**{n: meant.get(n, {}).get(v, v) for n, v in zip(kept, values, strict=True)}, **new}
        for values, new in itertools.product(rest, given.points())
    ]
    made = define(replace(base, where=()), listed_points(axes, points))
    known = {point.values for point in old}
    fresh = [point for point in made.points if point.values not in known]
    first = len(old)
    numbered = [replace(point, position=first + i) for i, point in enumerate(fresh)]
    store.add(replace(made, points=numbered))


def stored_base(store: Store) -> Base:
    """What the sweep of a store varies, as far as the store holds it."""
    fixed = json.loads(store.about["fixed"])
    sources = {source.digest: source for source in store.sources()}
    return Base(
        model=sources[fixed["model"]["onnx_sha256"]] if "model" in fixed else None,
        chip=Chip.from_dict(fixed["chip"]) if "chip" in fixed else None,
        bindings=fixed["bindings"],
        options=fixed["options"],
        columns=store.columns,
        plans=bool(json.loads(store.about["plans"])),
    )


def _meant(store: Store) -> dict[str, dict[str, Any]]:
    """What labels of models and chips in the table stand for, by axis."""
    named = json.loads(store.about["named"])
    sources = {source.digest: source for source in store.sources()}
    return {
        "model": {
            label: Named(label, sources[digest]) for label, digest in named.get("model", {}).items()
        },
        "chip": {
            label: Named(label, Chip.from_dict(data))
            for label, data in named.get("chip", {}).items()
        },
    }


def _differences(store: Store, definition: Definition) -> list[str]:
    """In what a store's sweep and another differ, in words."""
    about = {name: json.loads(json.dumps(v)) for name, v in definition.described().items()}
    found = []
    for name, new in about.items():
        old = json.loads(store.about[name])
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            keys = [key for key in {**old, **new} if old.get(key) != new.get(key)]
            found.append(f"{name}: {', '.join(keys)}")
        else:
            found.append(f"{name}: {old} there, {new} here")
    if found:
        return found
    stored = [point.values for point in store.points()]
    wanted = [point.values for point in definition.points]
    if stored == wanted or set(stored) >= set(wanted):
        return []
    for position, name in enumerate(definition.axes):
        there, here = ({values[position] for values in rows} for rows in (stored, wanted))
        if there != here:
            found.append(f"axis {name}: {len(there)} values there, {len(here)} here")
    return found or [f"{len(stored):,} points there, {len(wanted):,} here"]


def _seconds(given: Any) -> float:
    return quantity.parse(given, quantity.SECONDS)


def _bytes(given: Any) -> float:
    return quantity.parse(given, quantity.BYTES)


def _within(number: float, least: float, most: float) -> float:
    if least <= number <= most:
        return number
    most_text = "" if math.isinf(most) else f" and at most {most:,}"
    raise InvalidInputError(f"must be at least {least:g}{most_text}, got {number:g}")


def _machine_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
