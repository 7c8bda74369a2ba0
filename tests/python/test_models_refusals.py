"""elk.models: names, command line, plans, and what is refused."""

from __future__ import annotations

import doctest
import importlib
import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import elk
import onnx
import pytest
from each_case import each
from elk import models
from elk.cli import main
from elk.errors import InvalidInputError
from elk.models import Experts, LatentAttention, Rope, TransformerConfig
from hypothesis import given
from hypothesis import strategies as st

Capture = pytest.CaptureFixture[str]
SOURCES = Path(models.__file__).parent
SMALL: dict[str, Any] = {"layers": 2, "hidden": 32, "heads": 4, "vocab": 50, "ffn": 48}
MLA = LatentAttention(kv_rank=16, nope=8, rope=4, value=6)
MOE: dict[str, Any] = {"experts": 8, "topk": 2, "ffn": 16}
VIT: dict[str, Any] = {
    "layers": 2, "hidden": 32, "heads": 4, "ffn": 48, "image": 16, "patch": 4, "classes": 5
}  # fmt: skip
DIT: dict[str, Any] = {
    "layers": 2, "hidden": 32, "heads": 4, "ffn": 48, "sample": 8, "channels": 4, "patch": 2,
    "classes": 5,
}  # fmt: skip
NET: dict[str, Any] = {"widths": (4, 8), "depths": (1, 1), "image": 16, "classes": 5}
RETENTION: dict[str, Any] = {
    "layers": 2, "hidden": 32, "value": 64, "ffn": 48, "heads": 2, "vocab": 50
}  # fmt: skip
SOUND: dict[str, Any] = {
    "layers": 2, "hidden": 32, "heads": 4, "ffn": 48, "mels": 8, "frames": 20
}  # fmt: skip

REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "no layers": (lambda: TransformerConfig(**{**SMALL, "layers": 0}), "layers"),
    "too many layers": (lambda: TransformerConfig(**{**SMALL, "layers": 10**9}), "layers"),
    "a text": (lambda: TransformerConfig(**{**SMALL, "hidden": "32"}), "hidden"),
    "a truth value": (lambda: TransformerConfig(**{**SMALL, "vocab": True}), "vocab"),
    "heads that do not divide": (lambda: TransformerConfig(**{**SMALL, "heads": 5}), "hidden"),
    "kv heads": (lambda: TransformerConfig(**SMALL, kv_heads=3), "kv_heads"),
    "odd heads": (lambda: TransformerConfig(**SMALL, head_dim=3), "head_dim"),
    "no width": (lambda: TransformerConfig(**{**SMALL, "ffn": 0}), "ffn"),
    "not a number": (lambda: TransformerConfig(**SMALL, epsilon=float("nan")), "epsilon"),
    "a negative cap": (lambda: TransformerConfig(**SMALL, softcap=-1.0), "softcap"),
    "no windows": (lambda: TransformerConfig(**SMALL, windows=()), "windows"),
    "windows of a list": (lambda: TransformerConfig(**SMALL, windows=[4]), "windows"),  # type: ignore[arg-type]  # It is the test.
    "a negative window": (lambda: TransformerConfig(**SMALL, windows=(-1,)), "windows"),
    "head parts": (lambda: TransformerConfig(**SMALL, head_parts=3), "head_parts"),
    "a table for rope": (lambda: TransformerConfig(**SMALL, rope={"theta": 1e4}), "rope"),  # type: ignore[arg-type]  # It is the test.
    "latent rows and heads": (lambda: TransformerConfig(**SMALL, kv_heads=2, mla=MLA), "mla"),
    "latent rows, no rope": (lambda: TransformerConfig(**SMALL, rope=None, mla=MLA), "mla"),
    "a gate that is none": (
        lambda: TransformerConfig(**SMALL, activation="clamped_swiglu", gated=False), "gated"
    ),
    "theta": (lambda: Rope(theta=0.5), "theta"),
    "an infinite theta": (lambda: Rope(theta=float("inf")), "theta"),
    "low above high": (lambda: Rope(low=8.0, high=4.0), "low"),
    "topk": (lambda: Experts(**{**MOE, "topk": 9}), "topk"),
    "groups": (lambda: Experts(**MOE, groups=3, router="sigmoid_groups"), "groups"),
    "top groups": (
        lambda: Experts(**MOE, groups=2, top_groups=3, router="sigmoid_groups"), "top_groups"
    ),
    "groups of a softmax": (lambda: Experts(**MOE, groups=2, top_groups=2), "groups"),
    "parts": (lambda: Experts(**MOE, parts=3), "parts"),
    "odd latent rope": (lambda: LatentAttention(kv_rank=16, nope=8, rope=3, value=6), "rope"),
    "a patch": (lambda: models.VisionTransformerConfig(**{**VIT, "patch": 5}), "patch"),
    "a latent patch": (lambda: models.DiffusionTransformerConfig(**{**DIT, "patch": 3}), "patch"),
    "frequencies": (
        lambda: models.DiffusionTransformerConfig(**DIT, frequencies=6), "frequencies"
    ),
    "depths": (lambda: models.ResNetConfig(**{**NET, "depths": (1,)}), "depths"),
    "too many blocks": (lambda: models.ResNetConfig(**{**NET, "depths": (1, 10**6)}), "depths"),
    "retained values": (lambda: models.RetentionConfig(**{**RETENTION, "value": 63}), "value"),
    "odd frames": (lambda: models.AudioEncoderConfig(**{**SOUND, "frames": 21}), "frames"),
    "no width of a net": (lambda: models.MlpConfig(width=0, hidden_layers=1, out=1), "width"),
}  # fmt: skip


@each("name", REFUSED)
def test_a_wrong_size_is_refused_at_its_field(name: str) -> None:
    make, field = REFUSED[name]
    with pytest.raises(InvalidInputError) as caught:
        make()
    error = caught.value
    assert error.code == "model_config"
    assert error.place is not None
    assert error.place.endswith(f".{field}")
    assert error.message.startswith(field)
    assert error.remedy


@each("field", ["activation", "norm"])
def test_a_wrong_word_lists_the_right_ones(field: str) -> None:
    with pytest.raises(InvalidInputError, match="must be one of") as caught:
        TransformerConfig(**{**SMALL, field: "swish"})
    assert caught.value.code == "unknown_name"


def test_a_wrong_name_names_the_nearest() -> None:
    with pytest.raises(InvalidInputError, match="no model is called 'llama2-14b'") as caught:
        models.get("llama2-14b")
    assert caught.value.remedy == "did you mean 'llama2-13b'?"
    with pytest.raises(InvalidInputError, match="no model is called") as caught:
        models.config("?")
    assert "bert-large" in str(caught.value.remedy)


@each(
    ("arguments", "message"),
    [
        ({"phase": "prefil"}, "phase must be one of 'prefill'"),
        ({"dtype": "f8"}, "dtype must be one of 'f16'"),
        ({"layers": 0}, "layers must be an integer from 1"),
        ({"layers": 2.5}, "layers must be an integer from 1"),
        ({"phase": "train", "dropout": 1.0}, "dropout must be a number of at least 0 and below 1"),
        ({"dropout": 0.1}, "phase 'decode' drops nothing, dropout is 0.1"),
    ],
)
def test_a_wrong_argument_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        models.get("llama2-7b", **arguments)


@each("options", [{"layers": 3}, {"body": True}])
def test_what_has_no_layers_takes_no_number_of_them_and_has_no_body(
    options: dict[str, Any],
) -> None:
    for name in ("resnet-18", "nerf-t10"):
        with pytest.raises(InvalidInputError, match="not made of equal layers") as caught:
            models.get(name, **options)
        assert [caught.value.place] == list(options)
        assert caught.value.remedy == f"leave {caught.value.place} out"


def test_what_is_not_trained_drops_nothing() -> None:
    with pytest.raises(InvalidInputError, match="has no phase 'train'"):
        models.get("resnet-18", dropout=0.1)


junk = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 40), st.floats(), st.text(max_size=3),
    st.just((0, 3)), st.just({}), st.just(Rope()), st.just(MLA), st.just(Experts(**MOE)),
)  # fmt: skip


@given(st.dictionaries(st.sampled_from([f.name for f in fields(TransformerConfig)]), junk))
def test_a_configuration_is_refused_or_gives_a_model(changes: dict[str, Any]) -> None:
    try:
        config = TransformerConfig(**{**SMALL, **changes})
    except InvalidInputError:
        return
    for phase in ("decode", "prefill", "train"):
        proto = models.transformer(config, phase=phase)
        elk.load_model(proto, bindings=dict.fromkeys(models.symbols(proto), 3))


def test_every_model_says_where_its_sizes_are_from() -> None:
    for name in models.names():
        assert len(models.source(name)) > 20
        assert models.kind(name)
        assert models.phases(name)[0] in {"decode", "forward"}


@each("name", sorted(path.stem for path in SOURCES.glob("[a-z]*.py")))
def test_examples_say_what_happens(name: str) -> None:
    module = importlib.import_module(f"elk.models.{name}")
    found = doctest.testmod(module, extraglobs={"elk": elk})
    assert found.failed == 0


def test_names_do_not_wait_for_onnx() -> None:
    import subprocess  # noqa: PLC0415 only here
    import sys  # noqa: PLC0415 only here

    code = "import sys, elk; elk.models.config('llama2-7b'); sys.exit('onnx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


@pytest.mark.slow
def test_a_model_is_planned() -> None:
    is_planned("deepseek-v3", 4)


@pytest.mark.nightly
@pytest.mark.slow
@each(("name", "layers"), [("llama3.1-405b", 2), ("gpt-oss-120b", 2), ("retnet-1.3b", 2)])
def test_other_models_are_planned(name: str, layers: int) -> None:
    is_planned(name, layers)


def is_planned(name: str, layers: int) -> None:
    proto = models.get(name, layers=layers)
    bindings = {symbol: {"batch": 32, "past": 2048}[symbol] for symbol in models.symbols(proto)}
    plan = elk.compile(proto, "ipu-pod4-hbm", bindings=bindings, policy="static")
    assert plan.latency_s > plan.bounds.lower_bound_s > 0.0
    assert plan.check() == []


def test_the_list_has_every_model(capsys: Capture) -> None:
    assert main(["models", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["name", "kind", "parameters", "phases", "source"]
    assert [line.split()[0] for line in lines[1:]] == models.names()
    assert "13,015,864,320" in lines[2]
    assert main(["models", "list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows[1]["parameters"] == 13_015_864_320
    assert rows[1]["phases"] == ["decode", "prefill", "train"]


def test_a_written_model_can_be_read(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "model.onnx"
    words = ["models", "write", "llama2-70b", str(path), "--phase", "prefill", "--layers", "2"]
    assert main([*words, "--dtype", "bf16"]) == 0
    shown = capsys.readouterr().out
    assert "--bind batch=... --bind seq=..." in shown
    assert main(["model", str(path), "--bind", "batch=1", "--bind", "seq=16"]) == 0
    assert "2 x 28 ops" in capsys.readouterr().out
    proto = onnx.load(path, load_external_data=False)
    assert proto.graph.name == "llama2-70b"


def test_a_written_body_asks_for_hidden_states(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "body.onnx"
    assert main(["models", "write", "bert-large", str(path), "--layers", "2", "--body"]) == 0
    assert "--bind batch=... --bind seq=..." in capsys.readouterr().out
    names = [x.name for x in onnx.load(path, load_external_data=False).graph.input]
    assert names == ["hidden_states", "attention_mask"]


def test_the_command_refuses_a_wrong_name(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "model.onnx"
    assert main(["models", "write", "llama2-8b", str(path), "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["code"], error["place"]) == ("unknown_name", "name")
    assert not path.exists()
