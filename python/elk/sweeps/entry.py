"""`elk.sweep`: the call, and the stores that earlier calls left."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elk.errors import InvalidInputError
from elk.points.axes import checked_options, sizes
from elk.points.columns import COLUMNS, chosen
from elk.points.complaints import Gathered
from elk.sweeps.definition import Base, Constraint, define
from elk.sweeps.running import How, run, start
from elk.sweeps.store import Store
from elk.sweeps.sweep import Sweep

if TYPE_CHECKING:
    from elk.limits import Limits
    from elk.points.space import SpaceLike


class SweepCall:
    """Plans and simulates a model on a chip at every point of a space: `elk.sweep`."""

    def __call__(  # noqa: PLR0913 - every option is a keyword of its own
        self,
        model: Any,
        chip: Any,
        space: SpaceLike,
        *,
        store: str | PathLike[str] | None = None,
        workers: int | None = None,
        executor: Any = None,
        bindings: Mapping[str, int] | None = None,
        where: Constraint | Iterable[Constraint] = (),
        keep: str | Iterable[str] | None = None,
        plans: bool = False,
        timeout_s: float | str | None = None,
        memory_bytes: int | str | None = None,
        retries: int = 2,
        progress: bool | None = None,
        limits: Limits | None = None,
        **options: Any,
    ) -> Sweep:
        """Plans and simulates every point of a space, and keeps what it finds in a store.

        Everything is checked before the first point runs. A point that does not fit is a row that
        says why, and so is one that fails. What is reported as done is on disk, whatever happens:
        the same call does the rest.

        Args:
            model: A path, a name of `elk.models`, bytes, a ModelProto, or a loaded Model, whose
                sizes hold where no axis and no binding says otherwise.
            chip: A preset, a chip file or a chip.
            space: Values by axis, of which all combinations are points; or `elk.zip`, `elk.union`,
                `elk.sampled`, or a list of points. An axis is a field of the chip (as
                `Chip.replace` calls it, or `cores`, `sram`, `link_bandwidth`, `total_cores`,
                `hbm_bandwidth_per_core`, `total_link_bandwidth`, `matrix_flops_per_s`), a dimension
                of the model, `model`, `chip`, or an option of `elk.compile` or `Plan.simulate`. A
                function gives an axis the value that follows from the others.
            store: The file of the sweep; None: a temporary one.
            workers: Processes of this machine; None: one a core; 0: none but this one.
            executor: Where else points are evaluated: an executor of `concurrent.futures`, a
                client of Dask, or the address of its scheduler.
            bindings: Sizes of dimensions that are no axis.
            where: A function of a point, or several: points are left out for which it is false.
            keep: The results that are kept, of `elk.sweep.columns()`; None: all.
            plans: Whether plans are kept, too.
            timeout_s: What a point may take: seconds, or a text such as "90 s"; None: any.
            memory_bytes: What a worker may hold: bytes, or a text such as "2 GB"; None: its share
                of the machine's memory.
            retries: How often a point is tried again whose worker died.
            progress: Whether a bar is shown; None: on terminals and in notebooks.
            limits: What the model may have at most.
            options: Options of `elk.compile` and `Plan.simulate` that are no axis.

        Raises:
            InvalidInputError: something is wrong; the message lists all that is.
            SweepStoreError: the store holds another sweep, cannot be written, or is in use.

        Example:
            >>> sweep = elk.sweep("models/nerf.onnx", "tiny", {"rows": [64, 128]}, workers=0)
            >>> sweep.best().row["rows"]
            64
        """
        found = Gathered()
        how = How(
            workers=workers,
            executor=executor,
            timeout_s=timeout_s,
            memory_bytes=memory_bytes,
            retries=retries,
            progress=progress,
            limits=limits,
        )
        how = found.of("", how.checked) or how
        base = Base(
            model=model,
            chip=chip,
            bindings=found.of("bindings", lambda: sizes(bindings)) or ones(bindings),
            options=found.of("options", lambda: checked_options(options)) or {},
            where=found.of("where", lambda: constraints(where)) or (),
            columns=found.of("keep", lambda: chosen(keep)) or (),
            plans=plans,
            limits=limits,
        )
        path = found.of("store", lambda: place_of_store(store))
        definition = found.of("space", lambda: define(base, space))
        found.refuse()
        if definition is None or path is None:  # pragma: no cover - a complaint said so
            raise AssertionError
        made = start(path, definition)
        run(made, how)
        return Sweep(made, base)

    @staticmethod
    def open(store: str | PathLike[str]) -> Sweep:
        """The sweep in a store that an earlier call left, as far as it is.

        Raises:
            SweepStoreError: the file is no store, or cannot be read.
        """
        return Sweep(Store.open(Path(fspath(store))))

    @staticmethod
    def columns() -> dict[str, str]:
        """The results that a sweep can keep: what each is, with its unit.

        Example:
            >>> elk.sweep.columns()["latency_s"]
            'simulated; of ideal and vgm forecast, in s'
        """
        return {
            name: f"{column.what}, in {column.unit}" if column.unit else column.what
            for name, column in COLUMNS.items()
        }

    def __repr__(self) -> str:
        return "<elk.sweep(model, chip, space, *, store=None, workers=None, ...)>"


def ones(bindings: Any) -> dict[str, int]:
    """Sizes in place of wrong ones, which would else be said to be missing, too."""
    return dict.fromkeys(bindings, 1) if isinstance(bindings, Mapping) else {}


def constraints(where: Constraint | Iterable[Constraint]) -> tuple[Constraint, ...]:
    """One function of a point or several, as a tuple.

    Raises:
        InvalidInputError: one is no function.
    """
    given = tuple(where) if isinstance(where, Iterable) else (where,)
    for one in given:
        if not callable(one):
            raise InvalidInputError(
                f"must be a function of a point, or several, got {where!r}",
                remedy='write it as in where=lambda point: point["batch"] < 64',
            )
    return given


def place_of_store(store: str | PathLike[str] | None) -> Path:
    """The file of a store; None: a new temporary one.

    Raises:
        InvalidInputError: it is a folder.
    """
    if store is None:
        return Path(tempfile.mkdtemp(prefix="elk-sweep-")) / "sweep.elksweep"
    if not isinstance(store, str | PathLike):
        raise InvalidInputError(f"must be the path of a file, got {type(store).__name__}")
    path = Path(fspath(store))
    if path.is_dir():
        raise InvalidInputError(f"must be a file, got the folder {path}", place="store")
    return path


sweep = SweepCall()
