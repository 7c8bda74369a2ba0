"""Models that are damaged, hostile or too large: each loads, or is refused in words."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import elk
import malformed_worker
import numpy as np
import onnx
import pytest
from each_case import each
from malformed_graphs import functions, model, node, sound, value
from malformed_models import cases
from malformed_worker import Outcome, outcomes, problem
from onnx import TensorProto, helper

_TIMES_UNDER_LOAD = 4  # CPU time on a busy machine with two threads a core.

pytestmark = pytest.mark.xdist_group("onnx_cases")  # One process makes and loads the cases.


def answered(scratch: Path, share: int) -> dict[str, Outcome]:
    """What became of each malformed model, by its name."""
    names, files = [], []
    for number, (name, data) in enumerate(cases(share)):
        names.append(name)
        files.append(scratch / f"{number}.onnx")
        files[-1].write_bytes(data)
    cpu_s = malformed_worker.CPU_SECONDS * _TIMES_UNDER_LOAD
    found = outcomes("model", files, scratch, cpu_s=cpu_s)
    assert len(set(names)) == len(names)
    return dict(zip(names, found, strict=True))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """What became of all that is made by hand and of a fourth of what is drawn."""
    return answered(tmp_path_factory.mktemp("models"), 4)


def no_problem(found: dict[str, Outcome], least: int) -> None:
    problems = {name: text for name, o in found.items() if (text := problem(o))}
    assert not problems, "\n".join(f"{name}: {text}" for name, text in problems.items())
    assert len(found) >= least


@pytest.mark.slow
def test_every_malformed_model_loads_or_is_refused_with_code_place_rule_and_remedy(
    corpus: dict[str, Outcome],
) -> None:
    no_problem(corpus, 1_000)


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_drawn_model_loads_or_is_refused_with_code_place_rule_and_remedy(
    tmp_path: Path,
) -> None:
    no_problem(answered(tmp_path, 1), 3_000)


@pytest.mark.slow
def test_what_is_not_damaged_loads(corpus: dict[str, Outcome]) -> None:
    loaded = {name for name, outcome in corpus.items() if outcome.kind == "loaded"}
    planned = {f"sound_{name}" for name in ("relu", "conv", "if", "function", "attention", "topk")}
    assert planned <= loaded


_CODES = {
    "opset_999_relu": "unknown_opset",
    "opset_0_relu": "unknown_opset",
    "function_calls_itself": "recursive_function",
    "functions_in_a_ring": "recursive_function",
    "functions_10000_deep": "limit",
    "functions_8_to_the_20": "limit",
    "if_10000_deep": "limit",
    "name_not_utf8_fffefdfc78787878": "not_text",
    "name_long": "limit",
    "input_size_-1_relu": "invalid_shape",
    "input_size_9223372036854775807_relu": "limit",
    "initializer_size_-9223372036854775808": "invalid_shape",
    "rank_100000": "limit",
    "attribute_softmax_axis_nan": "not_a_number",
    "inputs_100000": "limit",
    "bomb_2000_constants": "limit",
    "bomb_folding_5000": "limit",
    "bomb_expand_far": "limit",
    "bomb_doubling": "limit",
    "bomb_constant_of_shape": "limit",
    "empty_nodes_3000000": "limit",
    "empty_attributes_3000000": "limit",
    "cycle": "model_file",
    "dangling_input": "model_file",
    "node_twice": "model_file",
    "mixed_types_7": "unsupported_model",
    "bomb_matmul_shapes": "unsupported_model",
    "domain_imported_no such": "unsupported_model",
    "refused_3000": "unsupported_model",
    "junk_text": "model_file",
}


@pytest.mark.slow
@each("name", list(_CODES))
def test_a_refusal_has_the_code_of_its_reason(corpus: dict[str, Outcome], name: str) -> None:
    assert corpus[name].error.get("code") == _CODES[name], corpus[name]


# Each limit, and a model that needs exactly this much of it.
_NEEDS: dict[str, tuple[onnx.ModelProto, int]] = {
    "nodes": (functions({"F": ["Exp", "Neg", "Exp"]}), 4),
    "initializers": (sound()["matmul"], 3),
    "operands": (model([helper.make_node("Concat", ["x"] * 5, ["y"], axis=0)]), 5),
    "rank": (model([node("Relu", "x", "y")], inputs=[value("x", 2, 1, 3, 1)]), 4),
    "dimension": (model([node("Relu", "x", "y")], inputs=[value("x", 2, 30)]), 30),
    "tensor_bytes": (model([node("Relu", "x", "y")], inputs=[value("x", 2, 30)]), 240),
    "name_length": (model([node("Relu", "x", "y")], inputs=[value("x", "a" * 99, 3)]), 99),
    "subgraph_depth": (sound()["if"], 2),
}


@each("limit", list(_NEEDS))
def test_a_limit_lets_its_number_through_and_no_more(limit: str) -> None:
    proto, needed = _NEEDS[limit]
    bindings = {"a" * 99: 2} if limit == "name_length" else None
    elk.load_model(proto, bindings=bindings, limits=elk.Limits(**{limit: needed}))
    with pytest.raises(elk.LimitError, match=f"limit '{limit}'") as caught:
        elk.load_model(proto, bindings=bindings, limits=elk.Limits(**{limit: needed - 1}))
    assert caught.value.place
    assert f"{limit}=" in str(caught.value.remedy)


def test_sizes_that_views_give_are_held_against_the_limits() -> None:
    constants = {"s": np.asarray([1 << 20, 2, 3])}
    proto = model([node("Expand", "x s", "y")], constants=constants)
    with pytest.raises(elk.LimitError, match="'tensor_bytes'") as caught:
        elk.load_model(proto, limits=elk.Limits(tensor_bytes=1 << 20))
    assert caught.value.place == "node 'expand'"


def test_a_tensor_beyond_the_limit_is_not_folded() -> None:
    proto = model([node("Range", "a b c", "r"), node("Add", "k r", "y")],
                  inputs=[value("k", 4000, kind=TensorProto.INT64)],
                  constants={"a": np.int64(0), "b": np.int64(4000), "c": np.int64(1)})  # fmt: skip
    assert elk.load_model(proto).facts.folded
    with pytest.raises(elk.UnsupportedModelError, match="Range"):
        elk.load_model(proto, limits=elk.Limits(folded_elements=3999))


def test_folded_tensors_together_keep_to_the_memory_limit() -> None:
    constants = [node("ConstantOfShape", "s", f"c{i}") for i in range(3)]
    sums = [helper.make_node("Sum", ["x", "c0", "c1", "c2"], ["y"])]
    proto = model([*constants, *sums], inputs=[value("x", 1000)], constants={"s": [1000]})
    elk.load_model(proto, limits=elk.Limits(memory_bytes=12_000))
    with pytest.raises(elk.LimitError, match="folded tensors"):
        elk.load_model(proto, limits=elk.Limits(memory_bytes=11_999))
    with pytest.raises(elk.LimitError, match="'folded_total'"):
        elk.load_model(proto, limits=elk.Limits(folded_total=2_999))


def test_a_file_beyond_the_limit_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "large.onnx"
    with file.open("wb") as out:
        out.truncate(1 << 40)  # Sparse: it takes no space.
    with pytest.raises(elk.LimitError, match="'file_bytes'"):
        elk.load_model(file)


@each("value_", [0, -1, 1.5, True, "9", 1 << 60])
def test_a_limit_is_a_positive_integer(value_: object) -> None:
    with pytest.raises(elk.InvalidInputError, match="limit 'rank' must be an integer") as caught:
        elk.Limits(rank=value_)  # type: ignore[arg-type]  # On purpose.
    assert caught.value.code == "invalid_limit"


def test_limits_are_equal_by_value_and_frozen() -> None:
    assert elk.Limits() == replace(elk.Limits(), rank=elk.Limits().rank)
    with pytest.raises(AttributeError):
        elk.Limits().rank = 3  # type: ignore[misc]  # On purpose.
    assert all(getattr(elk.Limits(), field.name) > 0 for field in fields(elk.Limits))


def test_a_reduction_to_a_scalar_compiles() -> None:
    """The core once looked for the first dimension of a result that has none."""
    proto = model([node("ReduceMax", "x", "y", keepdims=0)], inputs=[value("x", 3, 4)])
    script = "import sys, elk; elk.compile(sys.stdin.buffer.read(), 'tiny', threads=1)"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, input=proto.SerializeToString(), check=False)
    assert done.returncode == 0


_WATCH = """
import json, os, sys
import elk, elk.model.model
opened = []
sys.addaudithook(lambda name, args: name == "open" and opened.append(str(args[0])))
found = {}
for path in sys.argv[1:]:
    for source in (path, open(path, "rb").read()):
        try:
            elk.load_model(source)
            found.setdefault(path, []).append("loaded")
        except elk.ElkError as error:
            found.setdefault(path, []).append([error.code, error.place, error.remedy])
print(json.dumps({"opened": opened, "found": found}))
"""


def _external(location: str, *, where: str) -> onnx.ModelProto:
    """A model with a tensor that lies at `location`."""
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[3, 4])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    made = model([node("MatMul", "x w", "y")])
    constant = onnx.NodeProto(op_type="Constant", output=["w"])
    constant.attribute.add(name="value", type=onnx.AttributeProto.TENSOR).t.CopyFrom(tensor)
    if where == "initializer":
        made.graph.initializer.append(tensor)
    elif where == "constant":
        made.graph.node.insert(0, constant)
    else:
        made = sound()["if"]
        branch = made.graph.node[0].attribute[0].g
        branch.initializer.append(tensor) if where == "branch" else branch.node.insert(0, constant)
        if where == "function":
            made = model([node("f", "x", "y")])
            made.graph.node[0].domain = "own"
            made.opset_import.add(domain="own", version=1)
            body = made.functions.add(name="f", domain="own", input=["x"], output=["y"])
            body.opset_import.add(domain="", version=20)
            body.node.extend([constant, helper.make_node("MatMul", ["x", "w"], ["y"])])
    return made


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs here")
@pytest.mark.slow
def test_no_data_file_is_opened_whatever_its_name(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")  # Whoever opens it to read waits for a writer that never comes.
    (tmp_path / "secret").write_bytes(b"\0" * 48)
    (tmp_path / "link").symlink_to(tmp_path / "fifo")
    here = tmp_path / "here"
    here.mkdir()
    locations = ("../fifo", "../secret", str(tmp_path / "fifo"), "../link", "absent", "/dev/zero",
                 "../" * 9 + "etc/passwd", "")  # fmt: skip
    files = []
    for where in ("initializer", "constant", "branch", "branch_constant", "function"):
        for number, location in enumerate(locations):
            files.append(here / f"{where}{number}.onnx")
            files[-1].write_bytes(_external(location, where=where).SerializeToString())
    done = subprocess.run(
        [sys.executable, "-c", _WATCH, *map(str, files)],
        capture_output=True, cwd=here, text=True, check=True, timeout=60,
    )  # fmt: skip
    said = json.loads(done.stdout)
    assert {Path(name) for name in said["opened"]} == set(files)
    for path, found in said["found"].items():
        if Path(path).name.startswith("function"):
            assert all(
                code == "external_data" and place and remedy for code, place, remedy in found
            )
        else:
            assert found == ["loaded", "loaded"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs here")
def test_a_model_that_is_a_fifo_or_a_device_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", Path("/dev/zero"), tmp_path):
        with pytest.raises(elk.ModelFileError, match="must be a regular file"):
            elk.load_model(path)


def _chain(length: int) -> bytes:
    """A chain of `length` nodes."""
    body = b"".join(
        b"\x0a" + bytes([len(data)]) + data
        for i in range(length)
        for data in [
            onnx.NodeProto(
                op_type="Relu" if i % 2 else "Neg", input=[f"v{i}"], output=[f"v{i + 1}"]
            ).SerializeToString()
        ]
    )
    made = model([], inputs=[value("v0", 2, 3)], outputs=[value(f"v{length}", 2, 3)])
    graph = body + made.graph.SerializeToString()
    made.ClearField("graph")
    size, length_bytes = len(graph), bytearray()
    while size > 0x7F:
        length_bytes.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes(made.SerializeToString() + b"\x3a" + bytes([*length_bytes, size]) + graph)


def chain_is_answered(folder: Path, nodes: int, kind: str, cpu_s: float) -> None:
    file = folder / "chain.onnx"
    file.write_bytes(_chain(nodes))
    (found,) = outcomes("model", [file], folder, cpu_s=cpu_s * _TIMES_UNDER_LOAD)
    assert (problem(found), found.kind) == (None, kind)


@pytest.mark.slow
def test_a_long_model_is_answered_within_seconds(tmp_path: Path) -> None:
    chain_is_answered(tmp_path, 15_000, "loaded", 6.0)


@pytest.mark.nightly
@pytest.mark.slow
@each(("nodes", "kind"), [(10**6, "refused"), (150_000, "loaded")])
def test_a_model_of_a_million_nodes_is_answered_within_a_minute(
    tmp_path: Path, nodes: int, kind: str
) -> None:
    chain_is_answered(tmp_path, nodes, kind, 60.0)
