"""Small random models on small tight chips, the same for a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cached_property

import elk
import onnx
from elk import _core
from elk.base.policies import POLICIES
from elk.errors import InfeasibleError
from elk.tile.tilemodel import load_tile_model
from onnx import TensorProto, helper
from schedule_costs import Costs, measure

_WIDTHS = (32, 64, 96)
_CORES = 8


@dataclass(frozen=True)
class Instance:
    """A model and a chip, with a few plans of each op to choose from."""

    graph: _core.Graph
    chip: elk.Chip
    options: int

    @cached_property
    def problem(self) -> _core.Problem | None:
        """None where an op fits the chip in no plan."""
        chip = self.chip.to_core()
        tiles = load_tile_model(self.chip.core.tile_model)
        asked = _core.Options(
            policy=POLICIES["basic"],
            effort=_core.Effort.Default,
            pod=_core.Pod.Sharded,
            threads=1,
            min_core_share=0.0,
            max_padding=0.0,
        )
        asked.waves = False  # The problem is of the graph as it is.
        try:
            plan = _core.compile(self.graph, chip, tiles, asked)
        except InfeasibleError:
            return None
        fronts = [self._thinned(front) for front in plan.fronts]
        return _core.Problem(self.graph, chip, tiles, fronts, plan.front_of)

    def _thinned(self, front: _core.Front) -> _core.Front:
        """The fastest option, and others spread evenly over the front."""
        last = len(front.options) - 1
        spread = {round(i * last / (self.options - 1)) for i in range(self.options)}
        others = sorted(spread - {front.fastest})[: self.options - 1]
        return front.keep([front.fastest, *others])

    def costs(self) -> Costs:
        """Of the options that the problem has by now."""
        assert self.problem is not None
        return measure(self.problem)

    @property
    def drag(self) -> float:
        """Compute lost per share of the port in use."""
        core = self.chip.core
        if not core.remote_access_blocks:
            return 0.0
        return self.chip.interconnect.link_bytes_per_s / core.sram_bytes_per_s

    @property
    def latency_s(self) -> float:
        return self.chip.hbm.latency_s if self.chip.hbm else 0.0


def resident(seed: int, *, ops: tuple[int, int], options: int) -> Instance:
    """As `instance`, on a chip without HBM that keeps all weights."""
    like = instance(seed, ops=ops, options=options, contended=True)
    room = random.Random(seed).uniform(1.0, 2.5)
    document = like.chip.replace(sram_bytes=8192 + 8 * int(like.chip.core.sram_bytes * room / 8))
    bare = {key: value for key, value in document.to_dict().items() if key != "hbm"}
    return Instance(like.graph, elk.Chip.from_dict(bare), options)


def instance(seed: int, *, ops: tuple[int, int], options: int, contended: bool) -> Instance:
    """A model with `ops` at least and at most, and `options` of each to begin with.

    Uncontended: links so fast that no share of a port counts, and an HBM without latency.
    """
    choose = random.Random(seed)
    model = elk.load_model(_net(choose, choose.randint(*ops)))
    largest = max(2 * a * b for a in _WIDTHS for b in _WIDTHS) / _CORES
    chip = elk.chips.get("tiny").replace(
        core_count=_CORES,
        sram_bytes=8192 + 8 * int(largest * choose.uniform(0.5, 1.8) / 8),
        hbm_bytes_per_s=10 ** choose.uniform(9.3, 10.7),
        port_bytes_per_s=1e12,
        link_bytes_per_s=10 ** choose.uniform(8.5, 10.5),
        remote_access_blocks=choose.random() < 0.5,
    )
    if not contended:
        chip = chip.replace(link_bytes_per_s=1e18, remote_access_blocks=False, hbm_latency_s=0.0)
    return Instance(model.graph, chip, options)


def _net(choose: random.Random, ops: int) -> onnx.ModelProto:
    """Products with a weight, and what stands between them, around residuals or not."""
    rows = choose.choice((1, 4, 8))
    width = choose.choice(_WIDTHS)
    kept: dict[int, str] = {width: "x0"}
    first = width
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []
    last = "x0"
    for i in range(ops):
        made = f"x{i + 1}"
        kind = choose.random()
        if kind < 0.6 or i == 0:
            wide = choose.choice(_WIDTHS)
            weights.append(_weight(f"w{i}", [width, wide]))
            nodes.append(helper.make_node("MatMul", [last, f"w{i}"], [made], name=f"product{i}"))
            width = wide
        elif kind < 0.75:
            weights.append(_weight(f"b{i}", [width]))
            nodes.append(helper.make_node("Add", [last, f"b{i}"], [made], name=f"bias{i}"))
        elif kind < 0.9 and kept.get(width, last) != last:
            nodes.append(helper.make_node("Add", [last, kept[width]], [made], name=f"add{i}"))
        else:
            nodes.append(helper.make_node("Relu", [last], [made], name=f"relu{i}"))
        last = made
        kept.setdefault(width, made)
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT16, [rows, size])
        for name, size in (("x0", first), (last, width))
    ]
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], initializer=weights)
    opsets = [helper.make_opsetid("", 20)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _weight(name: str, shape: list[int]) -> onnx.TensorProto:
    weight = TensorProto(name=name, dims=shape, data_type=TensorProto.FLOAT16)
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="weights.bin")
    return weight
