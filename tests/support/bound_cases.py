"""Random models on random machines, to hold lower bounds against simulated times."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

import elk
import numpy as np
import onnx
from elk.base.policies import built_up
from onnx_graphs import model_of, node
from small_chips import tiny_pod
from small_models import CONFIGS, FORWARD

VAST = 100_000  # cores of a machine that takes minutes
LLMS = ("opt-1.3b", "opt-6.7b", "llama2-7b", "llama3.1-8b", "qwen3-8b", "gpt2", "retnet-1.3b")
MIXTURES = ("mixtral-8x7b", "qwen3-30b-a3b", "gpt-oss-20b")
OTHERS = ("vit-base-16", "bert-large", "dit-xl-2", "resnet-18", "nerf-t10", "whisper-tiny-encoder")
_WIDTHS = (8, 60, 300, 1000, 1000)  # of random chains
STORED = (None, None, "int8", "int4")  # Types of weights.
_SYMBOLS = {"batch", "past", "seq", "rows"}
_ONE_LAYER = {"bert-large", "vit-base-16", "dit-xl-2", "whisper-tiny-encoder"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A chip, and what kind it is: its topology, whether it has HBM, and whether it is a pod."""

    chip: elk.Chip
    name: str

    @property
    def kind(self) -> str:
        topology = self.chip.interconnect.topology
        pod = "pod" if self.chip.chips > 1 else "one chip"
        return f"{topology}, {pod}, {'HBM' if self.chip.hbm else 'no HBM'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A model on a machine, as its chips work together."""

    title: str
    model: elk.Model
    machine: Machine
    pod: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a policy's plan of a case takes, and what it says no plan undercuts."""

    case: Case
    policy: str
    plan: elk.Plan
    simulated_s: float

    @property
    def of_bound(self) -> float:
        """The bound over the simulated time: above 1, the bound is wrong."""
        return self.plan.bounds.lower_bound_s / self.simulated_s

    def __str__(self) -> str:
        at = f"{self.case.title} on {self.case.machine.name}, {self.policy}, {self.case.pod}"
        return f"{at}: bound {100 * self.of_bound:.2f} % of {1e6 * self.simulated_s:.3f} us"


def cases(seed: int, *, small: bool = False, topologies: tuple[str, ...] = ()) -> Iterator[Case]:
    """Cases without end, from a seed; `small`: only of machines and models of a moment.

    With `topologies` all of them are small, of nets and machines that are so connected.
    """
    random = Random(seed)
    while True:
        if topologies:
            case = _small(random, topologies)
        else:
            case = _small(random) if small or random.random() < 0.6 else _published(random)
        if case is not None:
            yield case
            if case.machine.chip.chips > 1:
                yield dataclasses.replace(case, pod="pooled")


def findings(case: Case, policies: tuple[str, ...] = ()) -> Iterator[Finding]:
    """Plans of a case that fit, simulated; of all policies that propose on its chip, or of some."""
    for policy in policies or built_up(case.machine.chip.to_core()):
        try:
            plan = elk.compile(
                case.model, case.machine.chip, policy=policy, pod=case.pod, threads=1
            )
        except elk.InfeasibleError:
            continue
        seconds = plan.simulate().latency_s
        yield Finding(case=case, policy=policy, plan=plan, simulated_s=seconds)


def _published(random: Random) -> Case | None:
    """A layer of a published model on a preset."""
    name = random.choice([*LLMS * 3, *MIXTURES, *OTHERS * 2])
    phase = random.choice(elk.models.phases(name))
    sizes = {
        "batch": random.choice([1, 1, 1, 4, 32]),
        "past": random.choice([1, 128, 128, 1024]),
        "seq": random.choice([1, 16, 128]),
        "rows": random.choice([1, 16, 1000]),
    }
    title = f"{name} {phase}" + "".join(f", {key} {sizes[key]}" for key in _symbols(name, phase))
    bindings = {key: sizes[key] for key in _symbols(name, phase)}
    stored = random.choice(STORED)
    return Case(
        title=f"{title}, {stored or 'whole'} weights",
        model=elk.load_model(_proto(name, phase, stored), bindings=bindings),
        machine=_changed(_preset(random), random),
        pod="sharded",
    )


@cache
def _proto(name: str, phase: str, stored: str | None = None) -> onnx.ModelProto:
    layers = 1 if name in {*LLMS, *MIXTURES, *_ONE_LAYER} else None
    return elk.models.get(name, phase, layers=layers, weights=stored)


@cache
def _symbols(name: str, phase: str) -> tuple[str, ...]:
    """The symbolic dimensions of a model."""
    return tuple(_symbols_of(_proto(name, phase)))


def _symbols_of(proto: onnx.ModelProto) -> list[str]:
    found: dict[str, None] = {}
    for value in proto.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            found |= dict.fromkeys(re.findall(r"[a-z]+", dim.dim_param))
    return [name for name in found if name in _SYMBOLS]


def _small(random: Random, topologies: tuple[str, ...] = ()) -> Case | None:
    """A model of few operators on a machine of few cores, or on a preset."""
    draw = 1.0 if topologies else random.random()
    if draw < 0.3:
        name = random.choice([*CONFIGS])
        phase = random.choice(["decode", "prefill"])
        stored = random.choice(STORED)
        proto, title = _config(name, phase, stored), f"small {name} {phase}, {stored or 'f32'}"
    elif draw < 0.5:
        title = random.choice([*FORWARD])
        proto = FORWARD[title][0]
    else:
        proto, title = _net(random)
    sizes = {
        "batch": random.choice([1, 2, 8]),
        "past": random.choice([1, 7, 40]),
        "seq": random.choice([1, 8, 24]),
        "rows": random.choice([1, 16, 100]),
    }
    bindings = {key: sizes[key] for key in _symbols_of(proto)}
    preset = not topologies and random.random() < 0.25
    machine = _changed(_preset(random) if preset else _little(random, topologies), random)
    try:
        model = elk.load_model(proto, bindings=bindings)
    except elk.UnsupportedModelError:  # More tokens than it has positions.
        return None
    title += "".join(f", {key} {n}" for key, n in bindings.items())
    return Case(title=title, model=model, machine=machine, pod="sharded")


@cache
def _config(name: str, phase: str, stored: str | None) -> onnx.ModelProto:
    proto = elk.models.transformer(
        dataclasses.replace(CONFIGS[name], layers=1), phase=phase, dtype="f32"
    )
    return elk.models.store_weights(proto, stored) if stored else proto


def _net(random: Random) -> tuple[onnx.ModelProto, str]:
    """A chain of random operators on `rows` x some columns."""
    rows, width = random.choice([1, 1, 3, 16, 130]), random.choice(_WIDTHS)
    first, constants, nodes, words = [rows, width], {}, [], []
    for i in range(random.randint(1, 5)):
        kind = random.choice([*["MatMul"] * 4, "Add", "Relu", "Softmax", "Mul", "Transpose"])
        read, made = f"x{i}", f"x{i + 1}"
        words.append(kind)
        if kind == "MatMul":
            cols = random.choice(_WIDTHS)
            constants[f"w{i}"] = np.zeros((width, cols), np.float32)
            nodes.append(node(kind, f"{read} w{i}", made))
            width = cols
        elif kind in {"Add", "Mul"}:
            constants[f"w{i}"] = np.zeros((width,), np.float32)
            nodes.append(node(kind, f"{read} w{i}", made))
        elif kind == "Softmax":
            nodes.append(node(kind, read, made, axis=-1))
        elif kind == "Transpose" and rows > 1:
            nodes.append(node(kind, read, f"{made}t", perm=[1, 0]))
            nodes.append(node("Relu", f"{made}t", made))
            rows, width = width, rows
        else:
            nodes.append(node("Relu", read, made))
    title = f"{first[0]} x {first[1]}: {' '.join(words)} to {width}"
    return model_of(nodes, {"x0": first}, [f"x{len(words)}"], constants), title


def _preset(random: Random) -> Machine:
    while True:
        name = random.choice(elk.chips.names())
        chip = elk.chips.get(name)
        if chip.chips * chip.core.cores < VAST or random.random() < 0.05:
            return Machine(chip=chip, name=name)


def _little(random: Random, topologies: tuple[str, ...]) -> Machine:
    """Up to a few hundred small cores, of every topology or these, with HBM or without."""
    chip = elk.chips.get("tiny") if random.random() < 0.5 else tiny_pod(random.choice([2, 3, 4]))
    sram = random.choice(["64 KiB", "256 KiB", "1 MiB"])
    changes: dict[str, Any] = {"sram_bytes": sram}
    common = ("all_to_all", "all_to_all", "mesh2d", "torus2d", "ring")
    topology = random.choice(topologies or common)
    if topology != "all_to_all":
        changes |= {"topology": topology, "hop_latency_s": "1 ns"}
    if topology == "groups":
        changes["group_cores"] = random.choice([2, 4, 8])
    if topologies:
        changes["core_count"] = random.choice([24, 32, 64, 120])
    if random.random() < 0.4:
        changes["hbm"] = None
    name = f"{chip.name} {topology} x {chip.chips}, {sram}{', no HBM' if 'hbm' in changes else ''}"
    return Machine(chip=chip.replace(**changes), name=name)


def _changed(machine: Machine, random: Random) -> Machine:
    """A machine with up to two fields that are other than usual."""
    chip, words = machine.chip, [machine.name]
    for _ in range(random.choice([0, 1, 1, 2])):
        field = random.choice([*["link"] * 3, "hbm", "sync", "multicast", "overlap", "blocks"])
        factor = random.choice([0.02, 0.2, 3.0, 20.0])
        if field == "link":
            chip = chip.replace(link_bytes_per_s=chip.interconnect.link_bytes_per_s * factor)
        elif field == "hbm" and chip.hbm:
            chip = chip.replace(hbm_bandwidth=chip.hbm.bytes_per_s * chip.chips * factor)
        elif field == "sync":
            chip = chip.replace(
                interconnect_sync_latency_s=chip.interconnect.sync_latency_s * factor
            )
        elif field == "multicast":
            chip = chip.replace(multicast=not chip.interconnect.multicast)
        elif field == "overlap":
            chip = chip.replace(overlaps_compute=not chip.interconnect.overlaps_compute)
        elif field == "blocks":
            chip = chip.replace(remote_access_blocks=not chip.core.remote_access_blocks)
        words.append(f"{field} x {factor:g}" if field in {"link", "hbm", "sync"} else field)
    return Machine(chip=chip, name=", ".join(words))


def beaten(found: list[Finding]) -> Iterator[str]:
    """What is wrong with the bounds of one case: those above the time of any of its plans."""
    if not found:
        return
    fastest = min(found, key=lambda one: one.simulated_s)
    for one in found:
        if one.plan.bounds.withheld:
            yield f"{one}; {one.plan.bounds.withheld}"
        elif one.plan.bounds.lower_bound_s > fastest.simulated_s:
            yield f"{one}; {fastest.policy} takes {1e6 * fastest.simulated_s:.3f} us"
