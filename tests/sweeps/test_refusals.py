"""What a caller of `elk.sweep` gets wrong, and kinds of values that are right."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import elk
import numpy as np
import pandas as pd
import pytest
from elk.sweeps import evaluate, sources
from elk.sweeps.definition import Base, Definition, define

MODEL = Path(__file__).parents[2] / "models" / "nerf.onnx"


def swept(space: Any, **given: Any) -> elk.Sweep:
    call: dict[str, Any] = {"model": MODEL, "chip": "tiny", "workers": 0, **given}
    return elk.sweep(call.pop("model"), call.pop("chip"), space, **call)


def defined(space: Any) -> Definition:
    return define(Base(model=MODEL, chip="tiny", bindings={}, options={}), space)


def test_everything_that_is_wrong_with_a_call_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(elk.InvalidInputError) as caught:
        swept(
            {"rows": [], "sram": elk.between(1, 2)},
            chip="tinny",
            workers=-1,
            timeout_s="5 GB",
            memory_bytes="much",
            keep=["latency"],
            where="rows > 3",
            store=tmp_path,
            policy_="static",
        )
    text = str(caught.value)
    for word in ("workers", "timeout_s", "memory_bytes", "keep", "where", "store", "policy_"):
        assert f"\n  {word} " in text
    assert "rows has no values" in text
    assert "sram is a range" in text
    assert "did you mean 'latency_s'?" in text
    with pytest.raises(elk.InvalidInputError, match="2 things"):
        swept({"rows": [0], "hbm_bandwidth": [float("nan")]})
    assert list(tmp_path.iterdir()) == []


def test_a_refusal_names_what_is_wrong(subtests: pytest.Subtests) -> None:
    cases: list[tuple[dict[str, Any], str, str]] = [
        ({"chip": "tinny"}, "no chip is called 'tinny'", "did you mean 'tiny'?"),
        ({"chip": None}, "chip must be a preset, a chip file or an elk.Chip", "elk.chips.names"),
        ({"model": None}, "model must be a path", "llama2-13b"),
        ({"model": "absent.onnx"}, "absent.onnx", "check the path"),
        ({"bindings": {"rows": "64"}, "space": {}}, r"bindings\['rows'\] must be", "without quo"),
        ({"bindings": 3}, "bindings must be a mapping", "bindings="),
        ({"space": {"rows": [-1]}}, "rows must be at least 1, got -1", ""),
        ({"space": {"rows": 64, "sram": [float("inf")]}}, "sram must be a finite number", ""),
        ({"space": {"rows": 64, "topology": ["mesh4d"]}}, "topology must be one of 'mesh2d'", ""),
        ({"space": {3: [64]}}, "3 is no name of an axis", ""),
        ({"workers": "2"}, "workers must be a whole number", "without quotes"),
        ({"workers": 5000}, "at most 4,096, got 5000", ""),
        ({"retries": -1}, "retries must be at least 0", ""),
        ({"timeout_s": 0}, "timeout_s must be at least 0.001", ""),
        ({"store": 3}, "store must be the path of a file", ""),
        ({"where": [lambda _: True, 3]}, "where must be a function", "lambda point"),
        ({"keep": 3}, "keep must be names of results", ""),
    ]
    for given, message, remedy in cases:
        with subtests.test(given=given, message=message, remedy=remedy):
            call = {"space": {"rows": 64}, **given}
            with pytest.raises(elk.InvalidInputError, match=message) as caught:
                swept(call.pop("space"), **call)
            assert remedy in (caught.value.remedy or "")


def test_a_loaded_model_whose_weights_are_too_large_is_refused_with_its_sizes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sources, "_MOST_CARRIED", 1000)
    loaded = elk.load_model(MODEL, bindings={"rows": 64})
    with pytest.raises(elk.InvalidInputError, match="too large to travel") as caught:
        swept({"policy": ["static"]}, model=loaded)
    assert "bindings={'rows': 64}" in str(caught.value.remedy)


def test_an_error_that_says_its_place_stays_what_it_is() -> None:
    with pytest.raises(elk.UnboundSymbolsError, match="rows"):
        swept({"policy": ["static"]})


def test_values_may_be_any_iterable(subtests: pytest.Subtests) -> None:
    for values in [
        np.array([64, 128]),
        np.array([64, 128], dtype=np.int16),
        pd.Series([64, 128], index=["a", "b"]),
        range(64, 129, 64),
        (64 * i for i in (1, 2)),
        {128, 64},
        frozenset({128, 64}),
        pd.Index([64, 128]),
        {64: "a", 128: "b"}.keys(),
    ]:
        with subtests.test(values=values):
            made = defined({"rows": values})
            assert [point.values for point in made.points] == [(64,), (128,)]
            assert all(type(point.values[0]) is int for point in made.points)


def test_one_value_and_a_table_of_points() -> None:
    assert [p.values for p in defined({"rows": np.array(64)}).points] == [(64,)]
    table = pd.DataFrame({"rows": [64, 128], "policy": ["static", "basic"]})
    assert [p.values for p in defined(table).points] == [(64, "static"), (128, "basic")]
    floats = defined({"rows": 64, "hbm_bandwidth": np.linspace(32e9, 64e9, 2)})
    assert [p.values for p in floats.points] == [(64, 32e9), (64, 64e9)]


def test_the_order_of_a_set_is_the_same_in_every_process() -> None:
    made = defined({"rows": 64, "policy": {"static", "basic", "ideal"}})
    assert [p.values[1] for p in made.points] == ["basic", "ideal", "static"]


def test_sizes_of_numpy_are_sizes() -> None:
    whole = swept({"policy": ["static"]}, bindings={"rows": np.int64(64)})
    assert whole.progress.done == 1


def test_points_that_are_added_keep_the_names_of_models_and_chips(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    elk.chips.get("tiny").save(file)
    path = tmp_path / "s.elksweep"
    space = {"rows": [64], "model": [str(MODEL)], "chip": [str(file), "tiny"]}
    sweep = swept(space, model=None, chip=None, store=path, policy="static")
    sweep = elk.sweep.open(path).extend({"rows": [128]}, workers=0)
    rows = [(row["rows"], row["model"], row["chip"], row["status"]) for row in sweep.rows()]
    names = [(str(MODEL), str(file)), (str(MODEL), "tiny")]
    assert rows == [(size, *name, "done") for size in (64, 128) for name in names]


def test_cards_are_short_whatever_the_sweep(tmp_path: Path) -> None:
    space = {
        "rows": range(1, 11),
        "sram": elk.linspace("64 KiB", "163 KiB", 100),
        "policy": "basic",
    }
    path = tmp_path / "s.elksweep"
    sweep = swept(space, where=lambda p: p["rows"] == 1 and p["sram"] == 65_536, store=path)
    assert "rows: 1" in repr(sweep)
    one = swept({}, bindings={"rows": 64}, policy="basic")
    assert repr(one).startswith("sweep of 1 point\n")
    assert "  axes    none\n" in repr(one)
    with sqlite3.connect(path) as connection:
        columns = "point_key, model_digest, chip_digest, bindings_json, options_json, problem"
        connection.executemany(
            f"INSERT INTO points SELECT ?, {columns}, ?, ?, 'basic' FROM points WHERE point = 0",
            [(i, i // 100, 65_536 + i % 100) for i in range(1, 1000)],
        )
    large = elk.sweep.open(path)
    assert len(large) == 1000
    assert "sram: 100 from 64 KiB to 65635 B" in repr(large)
    assert len(repr(large).splitlines()) < 12
    assert len(large._repr_html_()) < 4_000


def test_ctrl_c_ends_a_sweep_without_workers_and_keeps_no_half_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    compiled = elk.compile

    def planned(*given: Any, **options: Any) -> elk.Plan:
        asked.append(given)
        return compiled(*given, **options)

    # What Ctrl-C makes of the search of the second point: it ends with the best plan so far.
    monkeypatch.setattr(evaluate, "compile_plan", planned)
    monkeypatch.setattr(elk.Plan, "stopped", property(lambda _: len(asked) == 2))
    path = tmp_path / "s.elksweep"
    with pytest.raises(KeyboardInterrupt) as caught:
        swept({"rows": [64, 128, 256]}, store=path)
    assert "what is done is kept" in caught.value.__notes__[0]
    now = elk.sweep.open(path).progress
    assert (now.done, now.open) == (1, 2)
    assert elk.sweep.open(path).resume(workers=0).progress.done == 3
