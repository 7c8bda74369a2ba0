"""Sensitivities: shares that are known, on whole products and on samples of them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import elk
import numpy as np
import pytest
from elk.sweeps.analysis.sensitivity import sensitivity

MODEL = Path(__file__).parents[2] / "models" / "nerf.onnx"


class Known:
    """A sweep whose results follow from a formula."""

    def __init__(self, axes: dict[str, list[Any]], formula: Any, part: float = 1.0) -> None:
        self.axes = list(axes)
        self.fixed: dict[str, Any] = {}
        points = [dict(zip(axes, p, strict=True)) for p in itertools.product(*axes.values())]
        rng = np.random.default_rng(5)
        chosen = rng.permutation(len(points))[: round(part * len(points))]
        self._rows = [
            {**points[i], "status": "done", "latency_s": formula(**points[i])} for i in chosen
        ]

    def rows(self) -> list[dict[str, Any]]:
        return self._rows

    def is_real(self, row: dict[str, Any]) -> bool:
        return bool(row["status"] == "done")


AXES: dict[str, list[Any]] = {
    "a": [1, 2, 4, 8, 16],
    "b": [1, 2, 4, 8, 16],
    "w": ["x", "y", "z"],
    "n": [1, 2, 3],
}


def power(a: float, b: float, w: str, n: float) -> float:
    return float(1e-3 * a**-2 * b**0.5 * {"x": 1.0, "y": 2.0, "z": 1.5}[w] * n**0)


def test_powers_have_their_exponents_and_shares(subtests: pytest.Subtests) -> None:
    for part in [1.0, 0.3]:
        with subtests.test(part=part):
            found = sensitivity(Known(AXES, power, part), "latency_s", None)
            shares = {share.axis: share for share in found.shares}
            parts = {"a": 4.0, "b": 0.25}
            logs = float(np.log([1.0, 2, 4, 8, 16]).var())
            wanted = {name: weight * logs for name, weight in parts.items()}
            wanted["w"] = float(np.log([1.0, 2.0, 1.5]).var())
            whole = sum(wanted.values())
            for name, variance in wanted.items():
                assert shares[name].alone == pytest.approx(variance / whole, abs=0.02 / part)
                assert shares[name].total == pytest.approx(variance / whole, abs=0.02 / part)
            assert shares["n"].total < 0.02
            assert shares["a"].elasticity == pytest.approx(-2, abs=0.2)
            assert (shares["a"].least, shares["a"].most) == (16, 1)
            assert (shares["w"].elasticity, shares["w"].least, shares["w"].most) == (None, "x", "y")
            assert found.shares[0].axis == "a"
            assert found.told > 0.99


def test_what_axes_explain_together_is_in_their_totals_alone() -> None:
    axes = {"a": [0.5, 1, 2], "b": [0.5, 1, 2]}
    found = sensitivity(
        Known(axes, lambda a, b: float(np.exp(np.log(a) * np.log(b)))), "latency_s", None
    )
    assert [share.alone for share in found.shares] == pytest.approx([0, 0], abs=1e-9)
    assert [share.total for share in found.shares] == pytest.approx([1, 1])


def test_noise_is_not_explained() -> None:
    rng = np.random.default_rng(3)
    axes = {"a": list(range(1, 9)), "b": list(range(1, 9))}
    found = sensitivity(Known(axes, lambda a, b: float(rng.random())), "latency_s", None)  # noqa: ARG005
    assert found.told < 0.2


def test_a_sweep_says_what_explains_it_and_axes_that_move_together_are_one() -> None:
    pairs = elk.zip(
        hbm_bandwidth=elk.logspace("1 GB/s", "16 GB/s", 5), sram=[2**k for k in range(15, 20)]
    )
    sweep = elk.sweep(
        MODEL, "tiny", pairs * {"rows": [64, 1024], "policy": ["basic", "ideal"]}, workers=0
    )
    found = sweep.sensitivity()
    shares = {share.axis: share for share in found.shares}
    assert set(shares) == {"rows", "hbm_bandwidth & sram"}
    assert found.points == 10
    assert shares["rows"].elasticity is not None
    assert shares["rows"].elasticity > 0
    assert (shares["rows"].least, shares["rows"].most) == (64, 1024)
    assert "of points left out" in found.summary()
    assert list(found.to_pandas()["axis"]) == [share.axis for share in found.shares]
    with pytest.raises(elk.InvalidInputError, match="8 points"):
        sweep.sensitivity(where={"rows": 64})
    with pytest.raises(elk.InvalidInputError, match="did you mean 'latency_s'"):
        sweep.sensitivity("latency")
