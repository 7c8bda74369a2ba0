"""Sweep files: they mean the call that they write, and what is wrong is said with its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import elk
import pytest
import yaml
from elk.points.formulas import comparison, product
from elk.sweeps.definition import Base, Definition, define
from elk.sweeps.spec import load_sweep

MODELS = Path(__file__).parents[2] / "models"
HEAD = 'model = "nerf.onnx"\nchip = "tiny"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "nerf.onnx").symlink_to(MODELS / "nerf.onnx")
    return tmp_path


def written(folder: Path, text: str) -> Path:
    path = folder / "sweep.toml"
    path.write_text(text)
    return path


def defined(folder: Path, text: str) -> Definition:
    """The sweep of a file."""
    call = dict(load_sweep(written(folder, text)).call)
    base = {name: call[name] for name in ("model", "chip", "bindings")}
    return define(Base(**base, where=tuple(call["where"]), options={}), call["space"])


def points(folder: Path, text: str) -> list[tuple[Any, ...]]:
    return [point.values for point in defined(folder, HEAD + text).points]


def refused(folder: Path, text: str) -> elk.SweepFileError:
    with pytest.raises(elk.SweepFileError) as caught:
        load_sweep(written(folder, text)).run(folder / "s.elksweep")
    assert not (folder / "s.elksweep").exists()
    return caught.value


def test_a_file_is_the_call_that_it_writes(folder: Path) -> None:
    text = """
        keep = ["energy_j"]
        plans = true
        [bindings]
        rows = 64
        [space]
        hbm_bandwidth = { linspace = ["32 GB/s", "64 GB/s", 2] }
        sram = ["64 KiB", 131_072]
        [options]
        policy = "static"
        effort = "fast"
        [run]
        workers = 0
        retries = 1
    """
    path = folder / "s.elksweep"
    sweep = load_sweep(written(folder, HEAD + text)).run(path)
    assert [row["status"] for row in sweep.rows()] == ["done"] * 4
    space = {"hbm_bandwidth": elk.linspace("32 GB/s", "64 GB/s", 2), "sram": ["64 KiB", 131_072]}
    again = elk.sweep(  # Refused, if the store were of another sweep.
        MODELS / "nerf.onnx",
        "tiny",
        space,
        store=path,
        bindings={"rows": 64},
        keep=["energy_j"],
        plans=True,
        policy="static",
        effort="fast",
        workers=0,
    )
    assert [row["finished_at"] for row in again.rows()] == [r["finished_at"] for r in sweep.rows()]


def test_spaces_of_files(folder: Path, subtests: pytest.Subtests) -> None:
    for text, expected in [
        ("[space]\nrows = 64\npolicy = ['static', 'basic']", [(64, "static"), (64, "basic")]),
        ("[space]\nrows = { logspace = [64, 256, 3] }", [(64,), (128,), (256,)]),
        ("[zip]\nrows = [64, 128]\nsram = ['64 KiB', '128 KiB']", [(64, 65_536), (128, 131_072)]),
        (
            "[space]\npolicy = ['static', 'basic']\n[zip]\nrows = [1, 2]\ncores = [8, 16]",
            [("static", 1, 8), ("static", 2, 16), ("basic", 1, 8), ("basic", 2, 16)],
        ),
        (
            "[[union]]\nrows = [1, 2]\ncores = 8\n[[union]]\nrows = 2\ncores = [8, 16]",
            [(1, 8), (2, 8), (2, 16)],
        ),
        (
            "[space]\nrows = 1\ncores = [8, 16]\nhbm_bandwidth = { follows = '2.7 GB/s * cores' }",
            [(1, 8, 21.6e9), (1, 16, 43.2e9)],
        ),
        (
            "where = ['rows <= 4 * cores', 'rows != 8']\n"
            "[space]\nrows = [8, 32, 64]\ncores = [8, 16]",
            [(32, 8), (32, 16), (64, 16)],
        ),
    ]:
        with subtests.test(text=text, expected=expected):
            assert points(folder, text) == expected


def test_samples_of_files_are_those_of_calls(folder: Path) -> None:
    text = """
        [space]
        rows = [64, 128]
        hbm_bandwidth = { between = ["32 GB/s", "64 GB/s"], log = true }
        [sample]
        points = 8
        seed = 3
    """
    rates = elk.between("32 GB/s", "64 GB/s", log=True)
    space = elk.sampled({"rows": [64, 128], "hbm_bandwidth": rates}, 8, seed=3)
    base = Base(model=MODELS / "nerf.onnx", chip="tiny", bindings={}, options={})
    assert points(folder, text) == [point.values for point in define(base, space).points]


def test_files_in_yaml_and_json_are_the_same_call(folder: Path) -> None:
    text = HEAD + '[space]\nrows = { linspace = [64, 128, 2] }\npolicy = ["static"]\n'
    toml = load_sweep(written(folder, text))
    for suffix, dump in ((".json", json.dumps), (".yaml", yaml.safe_dump)):
        path = folder / f"sweep{suffix}"
        path.write_text(dump(toml.document.data))
        assert load_sweep(path).spec == toml.spec


def test_models_and_chips_lie_beside_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "sub").mkdir()
    elk.chips.get("tiny").save(folder / "sub" / "mine.toml")
    (folder / "sub" / "x.onnx").symlink_to(MODELS / "nerf.onnx")
    axes = (
        '[space]\nmodel = ["sub/x.onnx", "nerf.onnx"]\nchip = ["sub/mine.toml", "tiny"]\nrows = 1'
    )
    expected = [
        (model, chip, 1)
        for model in ("sub/x.onnx", "nerf.onnx")
        for chip in ("sub/mine.toml", "tiny")
    ]
    assert [p.values for p in defined(folder, axes).points] == expected
    monkeypatch.chdir(folder / "sub")
    assert [p.values for p in defined(folder, axes).points] == expected
    base = 'model = "sub/x.onnx"\nchip = "sub/mine.toml"\n[space]\nrows = [1, 2]'
    assert len(defined(folder, base).points) == 2


WRONG = """\
model = "nerv.onnx"
chp = "tiny"
plans = "yes"

[space]
rows = []
hbm_bandwith = ["1 TB/s"]
sram = { linspce = ["64 KiB", "128 KiB", 2] }
cores = { linspace = ["64 KiB", "128 GB/s", 2] }
clock = { follows = "2 GHz * rowz" }

[sample]
point = 3
"""


def test_unknown_keys_and_wrong_types_are_said_with_their_lines(folder: Path) -> None:
    text = str(refused(folder, WRONG))
    assert "sweep.toml:2: chp is not a key of a sweep file" in text
    assert "did you mean 'chip'?" in text
    assert "sweep.toml:3: plans must be true or false, got 'yes'" in text
    assert "sweep.toml:13: sample.point is not a key of [sample]" in text


def test_everything_that_is_wrong_is_said_with_its_line(folder: Path) -> None:
    text = WRONG.replace("chp", "chip").replace('plans = "yes"', "").replace("point =", "points =")
    found = str(refused(folder, text))
    for line, words in (
        (1, "model: the file cannot be read"),
        (6, "space.rows has no values"),
        (8, "space.sram must be a list, or a table of one of linspace"),
        (9, "space.cores: both ends must be of one kind"),
        (10, "space.clock has the factor 'rowz'"),
    ):
        assert f"sweep.toml:{line}: {words}" in found
    assert "did you mean 'linspace'?" in found
    assert "did you mean 'rows'?" in found


def test_axes_and_values_that_the_sweep_refuses_have_lines_too(folder: Path) -> None:
    axes = HEAD + '\n[space]\nrows = 64\nhbm_bandwith = ["1 TB/s"]\ncores = [2.5]\n'
    found = str(refused(folder, axes + '\n[options]\neffort = "much"\n'))
    assert "sweep.toml:6: space.hbm_bandwith is no option" in found
    assert "did you mean 'hbm_bandwidth'?" in found
    assert "sweep.toml:7: space.cores must be a whole number" in found
    assert "sweep.toml:10: options.effort must be one of" in found
    found = str(refused(folder, axes + "\n[options]\npolicy_ = 'static'\n[run]\nworkers = -1\n"))
    assert "sweep.toml:10: options.policy_ is no option of a sweep" in found
    assert "sweep.toml:12: run.workers must be at least 0" in found
    union = HEAD + "[[union]]\nrows = 1\nsram = '1 GB/s'\n[[union]]\nrows = 'x'\nsram = '1 KiB'\n"
    found = str(refused(folder, union))
    assert "sweep.toml:5: union.0.sram must be a size" in found


def test_a_fault_has_its_line(folder: Path, subtests: pytest.Subtests) -> None:
    for text, line, message, remedy in [
        ('chip = "tiny"\n[space]\nrows = 1', 1, "model is missing", "write model ="),
        (HEAD + "[run]\nworkers = 1", 1, "space is missing", "[space]"),
        (HEAD + "[space]\nmodel = 'nerf.onnx'\nrows = 1", 1, "model is an axis, too", "one of"),
        (HEAD + "[space]\npolicy = 'static'", 1, "without a number: rows", "under [bindings]"),
        (HEAD + "[bindings]\nrows = 0\n[space]\ncores = 8", 3, "must be at least 1", ""),
        (HEAD + "where = ['rows']\n[space]\nrows = 1", 3, "must be a comparison", "hbm_band"),
        (HEAD + "keep = ['latncy_s']\n[space]\nrows = 1", 3, "names no result", "latency_s"),
        (HEAD + "[zip]\nrows = [1, 2]\nsram = [1]", 3, "lists of one length", "equally long"),
        (HEAD + "[space]\nrows = { between = [1, 9] }", 4, "is a range", "elk.sampled"),
        (HEAD + "[space]\nrows = { linspace = [1, 9] }", 4, "from, to, count", "linspace = ["),
        (HEAD + "[space]\nrows = { linspace = [1, 9, 'x'] }", 4, "whole number", ""),
        (HEAD + "[space]\nrows = { linspace = [1, 9, 2], log = true }", 4, "must be a list", ""),
        (HEAD + "[space]\nrows = { between = [1, 9], log = 3 }", 4, "log = true or false", ""),
        (HEAD + "[space]\nrows = 1\ncores = {follows = '2 GB/s * rows'}", 5, "a bandwidth", ""),
        (HEAD + "[space]\nrows = 1979-05-27", 4, "must be a whole number", ""),
        (HEAD + "[space]\nrows = [1", 4, "this is not TOML", "write TOML"),
        (HEAD.replace("tiny", "tinny") + "[space]\nrows = 1", 2, "no chip is called", "'tiny'?"),
        (HEAD.replace('"tiny"', "3") + "[space]\nrows = 1", 2, "chip must be a text", ""),
    ]:
        with subtests.test(text=text, line=line, message=message, remedy=remedy):
            error = refused(folder, text)
            assert error.place == f"{folder / 'sweep.toml'}:{line}"
            assert message in error.message
            assert remedy in (error.remedy or "")


def test_files_that_are_none(folder: Path) -> None:
    for name, word in (("absent.toml", "does not exist"), ("sweep.txt", "a sweep file ends in")):
        if name.endswith("txt"):
            (folder / name).write_text("")
        with pytest.raises(elk.SweepFileError, match=word):
            load_sweep(folder / name)
    with pytest.raises(elk.SweepFileError, match="at most 64 KiB"):
        load_sweep(written(folder, "#" * (1 << 16) + "\n"))


def test_formulas() -> None:
    axes = ["cores", "batch"]
    assert product("2.7 GB/s * cores * 2", axes)({"cores": 10}) == 54e9
    assert product("cores*batch", axes)({"cores": 3, "batch": 4}) == 12
    assert product("1e3", axes)({}) == 1000
    for relation, holds in zip(("<", "<=", "==", "!=", ">=", ">"), (0, 1, 1, 0, 1, 0), strict=True):
        assert comparison(f"batch {relation} 2 * cores", axes)({"batch": 6, "cores": 3}) is bool(
            holds
        )
    for text in ("__import__('os')", "cores + 1", "cores ** 2", "", "cores.real", "lambda: 1"):
        with pytest.raises(elk.InvalidInputError):
            product(text, axes)
