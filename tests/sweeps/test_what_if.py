"""Plans made again with one thing changed, held against compiles by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import elk
import pytest
from elk.points import chip_axes

MODEL = Path(__file__).parents[2] / "models" / "nerf.onnx"


@pytest.fixture(scope="module")
def plan() -> elk.Plan:
    return elk.compile(MODEL, "tiny", bindings={"rows": 512}, policy="static")


def test_a_changed_chip_gives_the_plan_of_a_compile_for_it(
    plan: elk.Plan, subtests: pytest.Subtests
) -> None:
    cases: list[tuple[str, str, dict[str, Any]]] = [
        ("hbm_bandwidth", "+10 %", {"hbm_bandwidth": 70.4e9}),
        ("hbm_bandwidth", "x0.05", {"hbm_bandwidth": 3.2e9}),
        ("link_bandwidth", "-50%", {"link_bytes_per_s": 2e9}),
        ("link_bytes_per_s", "8 GB/s", {"link_bytes_per_s": 8e9}),
        ("cores", "x 0.5", {"core_count": 32}),
        ("total_cores", "-1 %", {"core_count": 63}),
        ("sram", "32 KiB", {"sram_bytes": 32_768}),
        ("total_link_bandwidth", "x2", {"link_bytes_per_s": 8e9}),
        ("hbm_bandwidth_per_core", "x2", {"hbm_bandwidth": 128e9}),
    ]
    for name, change, fields in cases:
        with subtests.test(name=name, change=change, fields=fields):
            found = elk.what_if(plan, name, change)
            chip = elk.chips.get("tiny").replace(**fields)
            wanted = elk.compile(MODEL, chip, bindings={"rows": 512}, policy="static")
            assert found.changed == wanted
            assert found.latency_s == (plan.simulate().latency_s, wanted.simulate().latency_s)
            assert found.change == pytest.approx(found.latency_s[1] / found.latency_s[0] - 1)
            assert found.binds[0] in ("HBM", "execution", "links")
            assert f"{100 * found.change:+.2f} %" in found.summary()


def test_sizes_and_options_can_be_changed(plan: elk.Plan) -> None:
    wider = elk.what_if(plan, "rows", "x2")
    assert (wider.before, wider.after) == (512, 1024)
    assert wider.changed == elk.compile(MODEL, "tiny", bindings={"rows": 1024}, policy="static")
    basic = elk.what_if(plan, "policy", "basic")
    assert basic.changed.policy == "basic"
    assert basic.elasticity is None
    ideal = elk.what_if(plan, "policy", "ideal")
    assert ideal.latency_s[1] == ideal.changed.latency_s


def test_the_effort_of_a_plan_is_that_of_the_changed_one() -> None:
    fast = elk.compile(MODEL, "tiny", bindings={"rows": 512}, effort="fast")
    same = elk.what_if(fast, "hbm_bandwidth", "+0 %")
    assert same.changed == fast
    assert same.change == 0


def test_a_plan_of_a_file_needs_its_model(plan: elk.Plan, tmp_path: Path) -> None:
    plan.save(tmp_path / "p.elkplan")
    read = elk.load_plan(tmp_path / "p.elkplan")
    with pytest.raises(elk.InvalidInputError, match="no model to plan again"):
        elk.what_if(read, "hbm_bandwidth", "+10 %")
    again = elk.what_if(read, "hbm_bandwidth", "+10 %", model=MODEL)
    assert again.changed == elk.what_if(plan, "hbm_bandwidth", "+10 %").changed
    with pytest.raises(elk.InvalidInputError, match="another model"):
        elk.what_if(read, "hbm_bandwidth", "x2", model=elk.load_model(MODEL, bindings={"rows": 64}))


def test_wrong_changes_are_refused(plan: elk.Plan, subtests: pytest.Subtests) -> None:
    for name, change, word in [
        ("hbm_bandwith", "x2", "did you mean 'hbm_bandwidth'"),
        ("hbm_bandwidth", "more", "must be a bandwidth"),
        ("hbm_bandwidth", "20 TB", "must be a bandwidth"),
        ("policy", "x2", "of which there is no part"),
        ("chip", "a100", "cannot be changed"),
        ("fidelity", "core", "cannot be changed"),
        ("topology", "+10 %", "of which there is no part"),
    ]:
        with (
            subtests.test(name=name, change=change, word=word),
            pytest.raises(elk.InvalidInputError, match=word),
        ):
            elk.what_if(plan, name, change)


def test_every_total_is_what_the_chip_made_for_it_has() -> None:
    chip = elk.chips.get("ipu-pod4-hbm")
    for name in [*chip_axes.TOTALS, "hbm_bandwidth", *chip_axes.ALIASES]:
        value = chip_axes.current(chip, name)
        made = chip_axes.changed(chip, {name: chip_axes.parsed(name, value)})
        assert chip_axes.current(made, name) == pytest.approx(value), name
        assert made == chip or name == "matrix_flops_per_s"
