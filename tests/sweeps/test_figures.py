"""The figures of papers: which there are, what they write, which claims they hold."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from elk import figures
from elk.cli import main
from elk.errors import InvalidInputError
from elk.figures import decoding, hbm, links, t10_llms, t10_models, training
from elk.figures.figure import SAME, Rows, Study, compared, holds
from elk.figures.steadiest import taut
from sampling import few_then

Axes = dict[str, list[Any]]
DOCS = Path(__file__).parents[2] / "docs"
NUMBERS = (5, 6, 7, 8, 12, 16, 17, 18, 19, 20, 21, 22, 23, 24)
OF_T10 = (12, 13, 16, 17, 18, 19, 20, 22, 23)
OF_PALM = ("4", "table-5", "table-7", "6", "7", "9", "10", "12")
# What the paper claims, as it prints it, by figure.
CLAIMED = {
    "elk-17": {"1.87", "1.93", "1.37", "1.49", "94.84"},
    "elk-18": {"87.65", "0.037", "11.26", "2.9", "34.7", "62.4", "64.38", "89.52", "81.06"},
    "elk-19": {"8"},
    "elk-20": {"grows", "ended"},
    "elk-21": {"always"},
    "elk-22": {"0", "mesh more"},
    "elk-23": {"1.71", "1.36", "near-ideal"},
    "elk-24": {"over 650", "little"},
    "elk-16": {"300 on 32 cores"},
    "t10-12": {"1.69", "3.3", "larger"},
    "t10-13": {"50", "74", "8", "43"},
    "t10-16": {"all"},
    "t10-17": {"19", "below 10^4", "most fewer than 50"},
    "t10-18": {"for most workloads"},
    "t10-19": {"58", "many"},
    "t10-20": {"faster at every number", "26 to 33"},
    "t10-22": {"3.1", "16.38"},
    "t10-23": {"slightly slower"},
    "palm-4": {"less than 15", "114.3", "100.2", "96.6", "83.9", "51.1", "40"},
    "palm-table-5": {"2.243e+04", "2830"},
    "palm-table-7": {"7.346", "2.065", "1.124"},
    "palm-6": {"within 5"},
    "palm-7": {"50", "30"},
    "palm-9": {"2"},
    "palm-10": {"2", "4", "faster", "2 at least"},
    "palm-12": {"3.08", "1.23"},
    "elk-table-2": {"66", "206", "58", "168", "123", "1928", "2216", "2269", "3808", "1521"},
}


def test_the_registry_has_every_figure_and_table_of_the_papers() -> None:
    wanted = {f"elk-{number}" for number in NUMBERS} | {"elk-table-2"}
    wanted_of_t10 = {f"t10-{number}" for number in OF_T10}
    wanted_of_palm = {f"palm-{number}" for number in OF_PALM}
    known = figures.figures()
    assert set(known) >= wanted | wanted_of_t10 | wanted_of_palm
    assert {figure.name for figure in figures.of_page("palm")} == wanted_of_palm
    assert {figure.name for figure in figures.of_page("t10")} == wanted_of_t10
    assert [name for name, figure in known.items() if figure.name != name] == []
    assert all(figure.shows.endswith(".") for figure in known.values())


def test_a_wrong_name_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidInputError, match="elk-19"):
        figures.get("elk-91")


@pytest.mark.parametrize("page", ["elk", "t10", "palm"])
def test_a_page_has_every_claim_with_a_verdict(page: str) -> None:
    """A page is written by `elk paper run` with its name."""
    sections = (DOCS / f"{page}_figures.md").read_text(encoding="utf-8").split("\n## ")[1:]
    known = {figure.name: figure for figure in figures.of_page(page)}
    by_title = {figure.title: name for name, figure in known.items()}
    rows = {}
    for section in sections:
        title, *lines = section.splitlines()
        table = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
        rows[by_title[title]] = table[2:]
        assert f"({by_title[title]}.png)" in section.replace(f"{page}_figures/", "")
    assert set(rows) == set(known)
    for name, claims in rows.items():
        assert claims, name
        for claim in claims:
            assert claim[-1].startswith((SAME, "differs because ", "cannot be known here"))
            assert len(claim[-1]) > len("differs because ") or claim[-1] == SAME
        assert {claim[1] for claim in claims} >= CLAIMED.get(name, set())


def test_a_claim_is_the_same_within_a_tenth() -> None:
    assert compared("x", 1.0, 1.09, "no").verdict == SAME
    assert compared("x", 1.0, 0.89, "why").verdict == "differs because why"
    assert holds("x", "yes", "no", "why", true=False).verdict == "differs because why"


def swept(axes: Axes, latency_s: dict[str, float]) -> Rows:
    """Rows of a sweep of these axes: a policy takes its latency, the ideal that of elk-full."""
    rows = []
    for values in itertools.product(*axes.values()):
        row = dict(zip(axes, values, strict=True))
        row["latency_s"] = latency_s[row.get("policy", "elk-full")]
        shares = dict.fromkeys(("preload_s", "execute_s", "overlapped_s", "interconnect_s"), 0.25)
        used = dict.fromkeys(("hbm_use", "link_use"), 0.5)
        rest = {"status": "done", "ideal_s": latency_s["elk-full"], "hbm_bytes": 8e12}
        more = {"achieved_flops_per_s": 7e14, "edit_distance": 2.9}
        rows.append({**row, **shares, **used, **rest, **more})
    return Rows(pd.DataFrame(rows), tuple(axes))


LATENCIES = {"basic": 1.87, "static-paper": 1.37, "static": 1.2, "elk-dyn": 1.1, "elk-full": 1.0}


def test_speed_ups_are_of_latencies_at_equal_points() -> None:
    rows = swept({"model": ["a", "b"], "policy": list(LATENCIES)}, LATENCIES)
    claims = {claim.what: claim for claim in decoding._speed_claims(rows, "")}
    assert claims["elk-full over basic, mean"].verdict == SAME
    assert claims["elk-full over static-paper, mean"].ours == "1.37"
    assert claims["elk-full over static, mean"].verdict.startswith("differs because HBM is busy")
    assert claims["elk-full of ideal, %"].ours == "100"


def test_a_model_is_bound_by_hbm_up_to_the_rate_that_it_reaches() -> None:
    axes: Axes = {"chip": [decoding.CHIP, decoding.THEIRS], "model": [decoding.LLMS[-1]]}
    rates: Axes = {"hbm_bandwidth": [4e12, 24e12], "policy": ["elk-full"]}
    claims = hbm._knees(swept({**axes, **rates}, LATENCIES))
    assert [claim.ours for claim in claims] == ["8", "8"]
    assert {claim.verdict for claim in claims} == {SAME}


def test_links_are_held_against_each_other_at_one_rate_of_hbm() -> None:
    links_of: Axes = {
        "total_link_bandwidth": list(links._ALL_TO_ALL),
        "hbm_bandwidth": [8e12, 16e12],
    }
    axes: Axes = {"chip": [decoding.CHIP, hbm.MESH], **links_of, "policy": ["elk-full"]}
    claims = links._claims(swept(axes, LATENCIES))
    assert [claim.ours for claim in claims] == ["0", "1 x, 1 x"]


def test_training_is_held_against_650_teraflops() -> None:
    rates = [
        dict(zip(("hbm_bandwidth", "link_bandwidth"), pair, strict=True))
        for pair in training._RATES
    ]
    axes: Axes = {"rate": rates, "matrix_flops_per_s": list(training._PEAKS)}
    rows = swept(axes, LATENCIES).done
    rows = rows.assign(**{key: [rate[key] for rate in rows["rate"]] for key in rates[0]})
    claims = training._claims(rows.assign(teraflops=rows["achieved_flops_per_s"] / 1e12))
    assert (claims[0].ours, claims[0].verdict) == ("700", SAME)


def test_the_steadiest_rate_is_a_straight_line_where_there_is_room() -> None:
    import numpy as np  # noqa: PLC0415 - beside its only user

    times = np.array([0.0, 1.0, 2.0, 3.0])
    arrived = np.array([0.0, 1.0, 5.0, 6.0])
    wide = np.array([0.0, 6.0, 6.0, 6.0])
    ends, rates = taut(times, arrived, wide)
    assert (ends, rates) == ([2.0, 3.0], [2.5, 1.0])
    ends, rates = taut(times, arrived, arrived)
    assert np.repeat(rates, np.diff([0.0, *ends]).astype(int)).tolist() == [1.0, 4.0, 1.0]
    narrow = np.array([0.0, 1.5, 5.5, 6.0])
    ends, rates = taut(times, arrived, narrow)
    assert (ends, rates) == ([1.0, 2.0, 3.0], [1.5, 3.5, 1.0])


def test_a_chip_is_shown_up_to_the_first_batch_that_fits_under_no_policy() -> None:
    rows = [
        {"model": "a", "batch": batch, "policy": policy, "status": status}
        for batch, statuses in {1: "dd", 2: "di", 4: "ii", 8: "ii"}.items()
        for policy, status in zip(("t10", "vgm"), statuses, strict=True)
    ]
    table = pd.DataFrame(rows).replace({"d": "done", "i": "infeasible"})
    assert sorted(set(t10_models._fitting(table)["batch"])) == [1, 2, 4]


def of_t10(latency_s: dict[str, float]) -> Rows:
    axes: Axes = {"model": ["a", "b"], "batch": [1, 2], "policy": list(latency_s)}
    return swept(axes, latency_s)


def test_t10_is_held_against_roller() -> None:
    rows = of_t10({t10_models.BASELINE: 1.69, t10_models.OURS: 1.0, "elk-full": 0.9})
    claims = t10_models.speed_claims(rows)
    assert [claim.ours for claim in claims] == ["1.69", "1.69"]
    assert claims[0].verdict == SAME
    assert claims[1].verdict.startswith("differs because")


def test_shares_of_transfers_are_their_least_and_most() -> None:
    rows = of_t10(dict.fromkeys(t10_models.T10_POLICIES, 1.0)).done
    rows = rows[rows["policy"] != "elk-full"]
    theirs = rows["policy"] == t10_models.BASELINE
    shares = theirs.map({True: 50.0, False: 8.0}) + (rows["batch"] - 1) * theirs.map(
        {True: 24.0, False: 35.0}
    )
    claims = t10_models.share_claims(rows.assign(transfer_share=shares))
    assert {claim.verdict for claim in claims} == {SAME}


def test_a_gpu_takes_what_its_peaks_leave() -> None:
    import elk  # noqa: PLC0415 - beside its only user
    from elk import models  # noqa: PLC0415 - beside its only user

    model = models.get("nerf-t10")
    few, many = (elk.load_model(model, bindings={"rows": rows}) for rows in (64, 1 << 20))
    weights = few.facts.weight_bytes / 2000e9
    assert t10_llms.roofline_s(few.graph) == pytest.approx(weights, rel=0.1)
    # Activations of 128 MB are written and read again.
    assert t10_llms.roofline_s(many.graph) > 10 * (1 << 20) * 64 * 2 / 2000e9


@pytest.mark.slow
@few_then(
    ["elk-6", "t10-17", "palm-6"],
    [
        *("elk-6", "elk-12", "elk-22"),
        *(f"t10-{number}" for number in OF_T10),
        *(f"palm-{number}" for number in OF_PALM),
    ],
)
def test_quick_figures_are_data_pictures_and_a_page(
    cases: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["paper", "run", *cases, "--quick", "--workers", "0", "--json"]
    assert main([*words, "--out", str(tmp_path)]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert list(printed) == cases
    for name in printed:
        folder = tmp_path / f"{name.partition('-')[0]}_figures"
        table = pd.read_csv(folder / f"{name}.csv")
        assert len(table) == len(pd.read_parquet(folder / f"{name}.parquet"))
        assert len(table)
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert b"</svg>" in (folder / f"{name}.svg").read_bytes()
    for page in ("elk", "t10", "palm"):
        text = (tmp_path / f"{page}_figures.md").read_text(encoding="utf-8")
        count = sum(name.startswith(page) for name in printed)
        assert text.count("Made with --quick") == text.count(f"]({page}_figures/") == count
    if "elk-22" in printed:  # Nothing is done again: the store has the points.
        study = Study(folder=tmp_path / "stores", workers=0, quick=True)
        assert len(links.rates(study).done) == len(
            pd.read_csv(tmp_path / "elk_figures" / "elk-22.csv")
        )
