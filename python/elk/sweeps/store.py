"""The store of a sweep: one SQLite file, whose tables people can read with `sqlite3`.

Tables: `sweep` (what the sweep is, by name), `points` (a row a point: its position, its key, its
model, chip, sizes and options, and a column an axis), `results` (a row an answered key and version
of ELK, and a column a result, units in their names), `models`, `chips`, `plans`; and the view
`rows`, which puts points and their results side by side.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from elk import _core
from elk.base import atomic_file
from elk.errors import SweepStoreError
from elk.points.columns import COLUMNS
from elk.sweeps.connecting import at_fault, connect
from elk.sweeps.definition import Definition, Point, Task, task_of
from elk.sweeps.evaluate import Answer
from elk.sweeps.sources import Source

SCHEMA: Final = "elk.sweep/1"
_FACTS: Final = ("status", "code", "message", "traceback")
_DDL: Final = """
CREATE TABLE sweep (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE models (digest TEXT PRIMARY KEY, label TEXT, path TEXT, data BLOB);
CREATE TABLE chips (digest TEXT PRIMARY KEY, document TEXT NOT NULL);
CREATE TABLE plans (point_key TEXT PRIMARY KEY, plan BLOB NOT NULL);
CREATE TABLE points (
    point INTEGER PRIMARY KEY, point_key TEXT NOT NULL, model_digest TEXT NOT NULL,
    chip_digest TEXT NOT NULL, bindings_json TEXT NOT NULL, options_json TEXT NOT NULL,
    problem TEXT{axes});
CREATE TABLE results (
    point_key TEXT PRIMARY KEY, elk_version TEXT NOT NULL, status TEXT NOT NULL, code TEXT,
    message TEXT, traceback TEXT{columns}, seconds REAL, worker TEXT, finished_at TEXT);
CREATE VIEW rows AS SELECT points.point{axis_names},
    coalesce(results.status, 'open') AS status, results.code, results.message{column_names},
    results.elk_version, results.seconds, results.worker, results.finished_at
    FROM points LEFT JOIN results USING (point_key) ORDER BY points.point
"""


@dataclass(frozen=True, slots=True)
class Progress:
    """How many points there are, and how many of them have which status."""

    points: int
    done: int
    infeasible: int
    failed: int

    @property
    def open(self) -> int:
        """Points without an answer."""
        return self.points - self.done - self.infeasible - self.failed


class Store:
    """A sweep on disk. What `record` returned from is there whatever happens next.

    Raises:
        SweepStoreError: wherever the disk or the file is at fault; what was recorded is kept.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._columns: tuple[str, ...] | None = None

    @staticmethod
    def create(path: Path, definition: Definition) -> Store:
        """A new store with all points of a sweep, none of them answered."""
        store = Store(path, connect(path))
        with store._writing("the store cannot be made") as cursor:
            for statement in _ddl(definition.axes, definition.columns).split(";\n"):
                cursor.execute(statement)
            about = {"schema": SCHEMA, "elk_version": _core.__version__}
            about |= {name: _json(value) for name, value in definition.described().items()}
            about["follows"] = _json(definition.follows)
            cursor.executemany("INSERT INTO sweep VALUES (?, ?)", about.items())
            _insert(cursor, definition)
        return store

    @staticmethod
    def is_new(path: Path) -> bool:
        """Whether nothing was stored there yet: no file, or one whose making was cut off."""
        if not path.exists():
            return True
        connection = connect(path)
        try:
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return int(tables) == 0
        except sqlite3.Error as error:
            raise at_fault(path, "the file is no store", error) from error
        finally:
            connection.close()

    @staticmethod
    def open(path: Path) -> Store:
        """The store in a file."""
        if not path.is_file():
            raise SweepStoreError("there is no such file", place=str(path), remedy="check the path")
        store = Store(path, connect(path))
        if store.about.get("schema") != SCHEMA:
            raise SweepStoreError(
                f"the file is no store of schema {SCHEMA!r}",
                place=str(path),
                remedy="give a file that elk.sweep wrote",
            )
        return store

    @property
    def about(self) -> dict[str, str]:
        """What the sweep is, by name."""
        with self._reading("the file is no store") as cursor:
            return dict(cursor.execute("SELECT name, value FROM sweep").fetchall())

    @property
    def axes(self) -> list[str]:
        """The names of the axes, in order."""
        return list(json.loads(self.about["axes"]))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the results that are kept, in order."""
        if self._columns is None:
            self._columns = tuple(json.loads(self.about["columns"]))
        return self._columns

    def add(self, definition: Definition) -> None:
        """Adds the points of a sweep that are not there, behind those that are."""
        with self._writing("points cannot be added") as cursor:
            _insert(cursor, definition)

    def points(self) -> Iterator[Point]:
        """All points, in order."""
        with self._reading() as cursor:
            rows = cursor.execute("SELECT * FROM points ORDER BY point").fetchall()
        for position, key, model, chip, bindings, options, problem, *values in rows:
            task = Task(key, model, chip, json.loads(bindings), json.loads(options), problem)
            yield Point(position, tuple(values), task)

    def open_tasks(self) -> list[Task]:
        """A task for each key that has no answer, in the order of the points."""
        with self._reading() as cursor:
            answered = {key for (key,) in cursor.execute("SELECT point_key FROM results")}
        tasks = {point.task.key: point.task for point in self.points()}
        return [task for key, task in tasks.items() if key not in answered]

    def sources(self) -> list[Source]:
        """The models."""
        with self._reading() as cursor:
            rows = cursor.execute("SELECT digest, label, path, data FROM models").fetchall()
        return [
            Source(label, digest, None if data is None else zlib.decompress(data), path)
            for digest, label, path, data in rows
        ]

    def chips(self, digests: Iterable[str] | None = None) -> Iterator[tuple[str, str]]:
        """The documents of these chips, or of all, as JSON with their digests."""
        query = "SELECT digest, document FROM chips"
        with self._reading() as cursor:
            if digests is None:
                yield from cursor.execute(query)
            else:
                for digest in digests:
                    yield from cursor.execute(f"{query} WHERE digest = ?", (digest,))

    def record(self, answers: Sequence[Answer], finished_at: str) -> None:
        """Writes answers; when this returns, they are on disk."""
        if not answers:
            return
        columns = self.columns
        width = 6 + len(columns) + 3
        with self._writing("results cannot be written") as cursor:
            cursor.executemany(
                f"INSERT OR IGNORE INTO results VALUES ({', '.join('?' * width)})",
                (_result_row(answer, columns, finished_at) for answer in answers),
            )
            cursor.executemany(
                "INSERT OR IGNORE INTO plans VALUES (?, ?)",
                ((answer.key, answer.plan) for answer in answers if answer.plan is not None),
            )

    def forget(self, status: str) -> int:
        """Drops the results of a status, so that their points are open again; how many."""
        with self._writing("results cannot be dropped") as cursor:
            return cursor.execute("DELETE FROM results WHERE status = ?", (status,)).rowcount

    def forget_versions(self, versions: Iterable[str]) -> None:
        """Drops the results of these versions of ELK and gives all points the keys of this one."""
        points = [
            (task_of(t.source, t.chip, t.bindings, t.options, t.problem).key, point.position)
            for point in self.points()
            for t in (point.task,)
        ]
        with self._writing("results cannot be dropped") as cursor:
            cursor.executemany(
                "DELETE FROM results WHERE elk_version = ?", ((version,) for version in versions)
            )
            cursor.executemany("UPDATE points SET point_key = ? WHERE point = ?", points)

    def plan(self, key: str) -> bytes | None:
        """The plan that is kept for a key, as it is carried between processes."""
        with self._reading() as cursor:
            row = cursor.execute("SELECT plan FROM plans WHERE point_key = ?", (key,)).fetchone()
        return None if row is None else bytes(row[0])

    def progress(self) -> Progress:
        """How far the sweep is."""
        with self._reading() as cursor:
            (points,) = cursor.execute("SELECT count(*) FROM points").fetchone()
            counts = dict(
                cursor.execute(
                    "SELECT status, count(*) FROM points JOIN results USING (point_key) "
                    "GROUP BY status"
                ).fetchall()
            )
        given = (counts.get(name, 0) for name in ("done", "infeasible", "failed"))
        return Progress(points, *given)

    def versions(self) -> dict[str, int]:
        """How many results there are, by the version of ELK that found them."""
        with self._reading() as cursor:
            query = "SELECT elk_version, count(*) FROM results GROUP BY elk_version"
            return dict(cursor.execute(query).fetchall())

    def table(self) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The view `rows`: the names of its columns, and its rows."""
        with self._reading() as cursor:
            found = cursor.execute("SELECT * FROM rows").fetchall()
            return [entry[0] for entry in cursor.description], found

    def traceback(self, key: str) -> str | None:
        """Where the failure of a key was raised."""
        with self._reading() as cursor:
            row = cursor.execute(
                "SELECT traceback FROM results WHERE point_key = ?", (key,)
            ).fetchone()
        return None if row is None else row[0]

    @contextmanager
    def coordinating(self) -> Iterator[None]:
        """Within, this process alone runs the sweep.

        Raises:
            SweepStoreError: another process runs it.
        """
        # A file beside the store: closing the store's own lets all of SQLite's locks go.
        beside = self.path.with_name(f"{self.path.name}-lock")
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(atomic_file.locked(beside))
            except BlockingIOError as error:
                raise SweepStoreError(
                    f"process {error.strerror} runs this sweep",
                    code="store_busy",
                    place=str(self.path),
                    remedy="wait for it, or look at what is done with elk.sweep.open",
                ) from None
            except OSError as error:
                raise SweepStoreError(
                    f"the store cannot be written: {error.strerror or error}",
                    place=str(self.path),
                    remedy="make room, or copy the store to a folder that you may change",
                ) from error
            yield

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()

    @contextmanager
    def _writing(self, what: str) -> Iterator[sqlite3.Cursor]:
        with self._failing(what), self._connection:
            cursor = self._connection.cursor()
            if self._connection.in_transaction:  # Ctrl-C came before it was rolled back.
                cursor.execute("ROLLBACK")
            cursor.execute("BEGIN IMMEDIATE")
            yield cursor

    @contextmanager
    def _reading(self, what: str = "the store cannot be read") -> Iterator[sqlite3.Cursor]:
        with self._failing(what):
            yield self._connection.cursor()

    @contextmanager
    def _failing(self, what: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise at_fault(self.path, what, error) from error


def _ddl(axes: Sequence[str], columns: Sequence[str]) -> str:
    typed = [_declared(name, COLUMNS[name].unit) for name in columns]
    return _DDL.format(
        axes="".join(f", {_quoted(name)}" for name in axes),
        columns="".join(f", {entry}" for entry in typed),
        axis_names="".join(f", points.{_quoted(name)}" for name in axes),
        column_names="".join(f", results.{_quoted(name)}" for name in columns),
    )


def _insert(cursor: sqlite3.Cursor, definition: Definition) -> None:
    cursor.executemany(
        "INSERT OR IGNORE INTO models VALUES (?, ?, ?, ?)",
        (_model_row(source) for source in definition.sources.values()),
    )
    cursor.executemany(
        "INSERT OR IGNORE INTO chips VALUES (?, ?)",
        definition.chips.items(),
    )
    cursor.executemany(
        f"INSERT INTO points VALUES ({', '.join('?' * (7 + len(definition.axes)))})",
        (_point_row(point) for point in definition.points),
    )


def _declared(name: str, unit: str) -> str:
    return f"{_quoted(name)} REAL" if unit in ("s", "J", "W", "FLOP/s") else _quoted(name)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False)


def _model_row(source: Source) -> tuple[Any, ...]:
    data = None if source.data is None else zlib.compress(source.data)
    return source.digest, source.label, source.path, data


def _point_row(point: Point) -> tuple[Any, ...]:
    task = point.task
    return (
        point.position,
        task.key,
        task.source,
        task.chip,
        _json(task.bindings),
        json.dumps(task.options),
        task.problem,
        *point.values,
    )


def _result_row(answer: Answer, columns: Iterable[str], finished_at: str) -> tuple[Any, ...]:
    row: Mapping[str, Any] = answer.row
    facts = (getattr(answer, name) for name in _FACTS)
    values = (row.get(name) for name in columns)
    times = (answer.seconds, answer.worker, finished_at)
    return (answer.key, _core.__version__, *facts, *values, *times)
