"""Every exported model is planned by every policy."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import elk
import onnx
import pytest

MODELS = Path(__file__).parents[2] / "models"
FILES = sorted(MODELS.glob("*.onnx"))
SIZES = {"batch": 1, "seq": 128, "past": 512, "rows": 4096}


@lru_cache(maxsize=1)
def loaded(path: Path) -> elk.Model:
    proto = onnx.load(path, load_external_data=False)
    dims = [d for x in proto.graph.input for d in x.type.tensor_type.shape.dim]
    names = {name for d in dims for name in SIZES if name in d.dim_param}
    return elk.load_model(path, bindings={name: SIZES[name] for name in sorted(names)})


def test_there_are_models() -> None:
    assert len(FILES) >= 14


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_policy_plans_every_model(path: Path) -> None:
    found = {}
    for policy in ("basic", "static", "elk-dyn"):
        plan = elk.compile(loaded(path), "ipu-pod4-hbm", policy=policy)
        found[policy] = plan.latency_s
        assert 0 < plan.bounds.ideal_s <= plan.latency_s
    assert found["elk-dyn"] <= found["static"] <= found["basic"]


@pytest.mark.slow
def test_what_stays_in_sram_leaves_room_for_what_passes_through() -> None:
    # BERT-large fills three quarters of the SRAM of `bow`, which has no HBM. With all pieces of its
    # products at rest it took 50 ms: they left no room for cuts of other operators that are fast.
    model = elk.load_model(MODELS / "bert-large.onnx", bindings={"batch": 8, "seq": 512})
    basic, polished = (elk.compile(model, "bow", policy=policy) for policy in ("basic", "elk-dyn"))
    assert polished.latency_s <= basic.latency_s < 0.03
