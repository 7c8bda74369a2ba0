"""The `[energy]` tables of the presets, made of published energies of circuits.

python benchmarks/tables/energy_table.py [PRESET ...]
python benchmarks/tables/energy_table.py --power [PRESET ...]    # what models take, beside the TDP

None of these numbers was measured on a chip: they are those of circuits in its process, and files
mark them as assumed. Routers, instructions and clock trees are in none of them but `static_w`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import elk
from elk import models
from elk.chip.chip import Chip
from elk.chip.published import matrix_flops_per_s

MODELS = Path(__file__).parents[2] / "models"

# Picojoules at 45 and at 7 nm: Horowitz, ISSCC 2014, and Jouppi et al., ISCA 2021, Table 2.
FP16_MULTIPLY = (1.1, 0.34)
FP32_ADD = (0.9, 0.38)
SRAM_64_BIT = {8: (10.0, 7.5), 32: (20.0, 8.5), 1024: (100.0, 14.0)}  # by KiB of the memory
NEWER_LOGIC = 0.7  # N5 takes 30 % less power than N7 at the same speed: TSMC
# Picojoules to move a bit over a millimetre.
WIRE_14NM = 0.1  # Dally, Turakhia, Han, CACM 2020
WIRE_10NM = 0.078  # 200 pJ for 256 bit over 10 mm: Keckler et al., IEEE Micro 2011, Table 1
# Picojoules a bit of memory, and where each number is from.
MEMORY = {
    "HBM2": (3.92, "3.92 pJ/bit: O'Connor et al. 2017"),
    "GDDR6": (415 / 64, "350-480 pJ for 64 bit: Jouppi et al. 2021, Table 2"),
    "LPDDR4": (4.0, "4 pJ/bit: Dally et al. 2020"),
    "MemoryX": (
        250.0 + 1300 / 64,
        "250 pJ/bit between systems: Arunkumar et al. 2017; DDR4, 1300 pJ for 64 bit: "
        "Jouppi et al. 2021",
    ),
}
# Picojoules a bit between chips: Arunkumar et al., ISCA 2017, Table 2.
BETWEEN = {"board": 10.0, "package": 0.5}
# An idle chip, TPUv4i, beside its TDP and its FLOP/s: Jouppi et al., ISCA 2021, Table 1.
IDLE_W, IDLE_TDP_W, IDLE_FLOPS_PER_S = 55.0, 175.0, 138e12


@dataclass(frozen=True, slots=True, kw_only=True)
class Silicon:
    """What energies follow from.

    Attributes:
        nm: Process node.
        mm2: Area of the die, or of the wafer.
        nodes: Nodes of the network on it.
        memory: Of `MEMORY`; HBM2 stands for all HBM, and for what a chip without memory would have.
        between: Of `BETWEEN`.
        power_w: Where the TDP of another preset stands for an unknown one.
        origin: Who says so of area and nodes.
    """

    nm: int
    mm2: float
    nodes: int = 1
    memory: str = "HBM2"
    between: str = "board"
    power_w: float | None = None
    origin: str = ""


_IPU = Silicon(nm=7, mm2=823, power_w=375, origin="GC200")
_WORMHOLE = Silicon(nm=12, mm2=670, nodes=120, memory="GDDR6", origin="ISSCC 2022")
_WSE2 = Silicon(nm=7, mm2=46225, nodes=850_000, memory="MemoryX", origin="vendor")
_WSE3 = Silicon(nm=5, mm2=46225, nodes=900_000, memory="MemoryX", origin="vendor")
SILICON: dict[str, Silicon] = {
    **dict.fromkeys(
        (
            "gc200", "ipu-mk2", "ipu-pod4", "ipu-pod4-hbm", "ipu-pod4-hbm-mesh",
            "ipu-pod4-hbm-mesh-wide", "ipu-pod4-hbm-paper", "ipu-pod4-hbm-refresh",
        ),
        _IPU,
    ),
    "bow": Silicon(nm=7, mm2=823, origin="that of GC200"),
    "a100": Silicon(nm=7, mm2=826, origin="white paper"),
    "h100": Silicon(nm=5, mm2=814, origin="white paper"),
    "grayskull-e150": Silicon(
        nm=12, mm2=620, nodes=120, memory="LPDDR4", origin="Hot Chips 2020"
    ),
    "wormhole-n150": _WORMHOLE,
    "wormhole-n300": _WORMHOLE,
    "blackhole-p150": Silicon(nm=6, mm2=600, nodes=204, memory="GDDR6", origin="recalled"),
    "dojo-d1": Silicon(nm=7, mm2=645, nodes=360, origin="Hot Chips 34"),
    "groq-lpu1": Silicon(nm=14, mm2=725, origin="Abts et al., ISCA 2020"),
    "maia100": Silicon(nm=5, mm2=820, nodes=64, origin="Hot Chips 2024"),
    "mtia-v2": Silicon(nm=5, mm2=421, nodes=64, memory="LPDDR4", origin="ISCA 2025"),
    "palm-wafer": Silicon(
        nm=7, mm2=645, nodes=16, between="package", origin="node and area of Dojo D1"
    ),
    "sn40l": Silicon(nm=5, mm2=1716, nodes=1040, origin="two dies of a reticle each"),
    "trainium2": Silicon(nm=5, mm2=0.0),
    "wse2": _WSE2,
    "wse2-streaming": _WSE2,
    "wse3": _WSE3,
    "wse3-streaming": _WSE3,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficient:
    """One number of an `[energy]` table, in pJ or W, and how it was found."""

    value: float
    origin: str


def coefficients(chip: Chip) -> dict[str, Coefficient]:
    """The energy coefficients of a preset, four digits each, by key."""
    silicon = SILICON[chip.name]
    memory, origin = MEMORY[silicon.memory]
    named = silicon.memory if chip.hbm else f"unused without [hbm]; {silicon.memory}"
    between = BETWEEN[silicon.between]
    unused = "" if chip.inter_chip else "unused by one chip; "
    found = {
        "pj_per_flop": compute(silicon.nm),
        "pj_per_sram_byte": sram(silicon.nm, chip.core.sram_bytes / 1024),
        "pj_per_link_byte_hop": link(chip, silicon),
        "pj_per_hbm_byte": (8 * memory, f"{named}, {origin}"),
        "pj_per_inter_chip_byte": (
            8 * between,
            f"{unused}{silicon.between}, {between:g} pJ/bit: Arunkumar et al. 2017, Table 2",
        ),
        "static_w": static(chip, silicon),
    }
    return {
        key: Coefficient(value=float(f"{value:.4g}"), origin=origin)
        for key, (value, origin) in found.items()
    }


def at(nm: int, energy: tuple[float, float]) -> float:
    """An energy at a node: from 45 to 7 nm along a straight line of logarithms, then as at 7."""
    old, new = energy
    return new * (old / new) ** (math.log(max(nm, 7) / 7) / math.log(45 / 7))


def scaled(nm: int) -> str:
    return f"{nm} nm between 45 and 7" if nm > 7 else "7 nm"


def compute(nm: int) -> tuple[float, str]:
    """Half of a multiply in f16 and an add in f32, as matrix units accumulate."""
    newer = nm < 6
    value = (at(nm, FP16_MULTIPLY) + at(nm, FP32_ADD)) / 2 * (NEWER_LOGIC if newer else 1.0)
    origin = f"half an FP16 multiply and FP32 add, {scaled(nm)}: Jouppi et al. 2021, Table 2"
    return value, origin + ("; x 0.7 for N5: TSMC" if newer else "")


def sram(nm: int, kib: float) -> tuple[float, str]:
    """A byte of a memory as large as a core's, between the sizes of the table by logarithm."""
    sizes = sorted(SRAM_64_BIT)
    size = min(max(kib, sizes[0]), sizes[-1])
    low = max((s for s in sizes[:-1] if s <= size), default=sizes[0])
    high = sizes[sizes.index(low) + 1]
    part = math.log(size / low) / math.log(high / low)
    word = (1 - part) * at(nm, SRAM_64_BIT[low]) + part * at(nm, SRAM_64_BIT[high])
    words = f"{low} to {high} KiB" if kib < sizes[-1] else "1 MiB"
    return word / 8, f"64 bit of {words}, {scaled(nm)}: Jouppi et al. 2021, Table 2"


def link(chip: Chip, silicon: Silicon) -> tuple[float, str]:
    """A byte over the wires of one hop: between neighbours, or between any two cores."""
    if chip.name == "trainium2":
        return 16 * MEMORY["HBM2"][0], "a write and a read of HBM, through which DMA goes"
    side = math.sqrt(silicon.mm2)
    topology = chip.interconnect.topology
    if topology == "all_to_all":
        length, words = 2 / 3 * side, "2/3 of the side of"
    else:
        # A mesh of a pod has the cores of an IPU; the rings of a torus are folded.
        nodes = chip.core.cores if chip.name.startswith("ipu-pod4") else silicon.nodes
        folds = 2 if topology == "torus2d" else 1
        length = folds * side / math.sqrt(nodes)
        words = f"{'twice ' * (folds - 1)}the pitch of {nodes} nodes on"
    wire, source = (
        (WIRE_14NM, "Dally et al. 2020")
        if silicon.nm > 10
        else (WIRE_10NM, "Keckler et al. 2011, Table 1")
    )
    area = f"{silicon.mm2:g} mm2 ({silicon.origin})"
    return 8 * wire * length, (
        f"{length:.3g} mm, {words} {area}; {1000 * wire:g} fJ/bit/mm: {source}"
    )


def static(chip: Chip, silicon: Silicon) -> tuple[float, str]:
    """What a chip takes that does nothing: by the TDP where there is one, else by the FLOP/s."""
    published = chip.published
    power = (published and published.tdp_w) or silicon.power_w
    if power:
        whose = "" if published and published.tdp_w else " of GC200"
        share = f"as TPUv4i idle, {IDLE_W:g} of {IDLE_TDP_W:g} W: Jouppi et al. 2021, Table 1"
        return power * IDLE_W / IDLE_TDP_W, f"{share}; of {power:g} W{whose}"
    peak = (published and published.matrix_flops_per_s) or matrix_flops_per_s(chip)
    share = f"as TPUv4i idle, {IDLE_W:g} W of 138 TFLOP/s: Jouppi et al. 2021, Table 1"
    return peak * IDLE_W / IDLE_FLOPS_PER_S, f"{share}; of {peak / 1e12:g} TFLOP/s, as no TDP"


def table(chip: Chip) -> Iterator[str]:
    """The lines of the `[energy]` table of a preset."""
    yield "[energy] # of circuits in its process, not measured on it; sources: docs/chips.md"
    for key, found in coefficients(chip).items():
        unit = "W" if key == "static_w" else "pJ"
        yield f'{key} = "{found.value:g} {unit}" # {found.origin}'


def decoder() -> elk.Model:
    """A step of three layers of a language model of 1.3 billion parameters, batch 16."""
    config = models.TransformerConfig(
        layers=3, hidden=2048, heads=16, kv_heads=16, head_dim=128, ffn=5504, vocab=1024
    )
    graph = models.transformer(config, phase="decode")
    return elk.load_model(graph, bindings={"batch": 16, "past": 512})


def power_table(chips: list[Chip]) -> Iterator[str]:
    """Mean and peak power of one chip by model; an exclamation mark says: more than the TDP."""
    image = elk.load_model(MODELS / "resnet50.onnx", bindings={"batch": 1})
    yield "| preset | TDP | ResNet-50, batch 1 | language model, three layers |"
    yield "| --- | ---: | ---: | ---: |"
    for chip in chips:
        tdp_w = chip.published.tdp_w if chip.published else None
        cells = [f"`{chip.name}`", f"{tdp_w:,g} W" if tdp_w else "not known"]
        for model in (image, decoder()):
            try:
                plan = elk.compile(model, chip, policy="static", effort="fast")
            except elk.InfeasibleError:
                cells.append("does not fit")
                continue
            run = plan.simulate(fidelity="symmetric")
            mean, peak = (watts / chip.chips for watts in (run.power_w, run.peak_power_w))
            over = " !" if tdp_w and mean > tdp_w else ""
            cells.append(f"{mean:,.0f} W, at most {peak:,.0f}{over}")
        yield f"| {' | '.join(cells)} |"


def main(words: list[str]) -> None:
    asked = [elk.chips.get(name) for name in words if name != "--power"]
    unknown = [chip.name for chip in asked if chip.name not in SILICON]
    if unknown:
        sys.exit(
            f"nobody says what silicon {', '.join(unknown)} is; known are {', '.join(SILICON)}"
        )
    presets = asked or [elk.chips.get(name) for name in SILICON]
    if "--power" in words:
        for line in power_table(presets):
            print(line, flush=True)
        return
    for chip in presets:
        print(f"# {chip.name}", *table(chip), "", sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
