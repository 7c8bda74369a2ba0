"""The chips that ship with ELK, and how to describe one's own, as Markdown: docs/chips.md.

python benchmarks/tables/chip_table.py > docs/chips.md
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import elk
from elk import cli
from elk.base.quantity import BYTES, BYTES_PER_S, HERTZ, show
from elk.chip.chip import Chip
from elk.chip.confidence import Confidence, flat
from elk.chip.published import busy_w
from elk.tile.tilemodel import AnalyticModel, find_record

ROWS = Path(__file__).parents[2] / "data" / "chips.csv"

HEAD = """# Chips

A chip is a file of schema `elk.chip/1`: cores, their network, memory, the network between chips.
ELK ships one for every machine below; `elk chip list` names them, and `elk chip show NAME --toml`
prints the file with the source of each number. `python benchmarks/tables/chip_table.py` prints this
page.

## Presets

Rates are decimal, sizes binary. *Compute* is the f16 rate of matrix products of one core, as the
chip's tile model reaches it in large tiles; *HBM* is what all chips' modules give together,
whatever kind of memory it is; *preloads bound by* is the smallest rate on the way from there to the
cores; *careful* counts the fields that are assumed, and those recalled, of all fields."""

MARKS = """## What is assumed

No public source gives every number. A field without one is listed in `[confidence]` as `assumed`:
a guess, or what another chip has. A number that was recalled and not checked again is listed as
`low`. `chip.confidence.level("hbm.latency_s")` says `known`, `low` or `assumed`; `elk chip show`
marks such fields, `elk chip check` lists them. `chip.replace` drops the mark of a field that it
changes."""

ENERGY = """## Energy

An `[energy]` table says what work takes, in picojoules, and what a chip takes that does nothing, in
watts; `plan.simulate().energy_j` and `power_w` follow from it, and `objective="energy"` plans for
it. No vendor publishes one, so that presets take energies of circuits in the chip's process, all
marked as assumed; `python benchmarks/tables/energy_table.py` makes the tables of the files of:

- *FLOP*: half an FP16 multiply and an FP32 add, at 45 nm (Horowitz, ISSCC 2014) and 7 nm (Jouppi et
  al., "Ten lessons from three generations shaped Google's TPUv4i", ISCA 2021, Table 2), between
  them along a line of logarithms; at 5 nm 0.7 of that at 7 nm (N5 beside N7: TSMC).
- *SRAM*: a byte of a memory as large as a core's, by the same table (8 KiB, 32 KiB, 1 MiB); what is
  larger is made of banks of 1 MiB.
- *link*: a byte over the wires of a hop, as long as nodes are apart, twice that on a torus, or 2/3
  of the side of the die where any core reaches any: 78 fJ/bit/mm (Keckler et al., "GPUs and the
  future of parallel computing", IEEE Micro 2011, Table 1, 10 nm), above 10 nm 100 (Dally, Turakhia
  and Han, "Domain-specific hardware accelerators", CACM 2020, 14 nm). `chip.replace(topology=...)`
  keeps what a hop takes: give `pj_per_link_byte_hop` with it.
- *HBM*: a byte of HBM2, for all HBM (O'Connor et al., "Fine-grained DRAM", MICRO 2017), GDDR6 and
  DDR4 (Jouppi et al.), LPDDR4, for all LPDDR (Dally et al.).
- *between*: a byte between chips on a board or in a package (Arunkumar et al., "MCM-GPU", ISCA
  2017, Table 2).
- *idle*: the share of the TDP that TPUv4i takes when idle (Jouppi et al., Table 1); where there is
  no TDP, as many watts a FLOP/s.

Routers and instructions count in *idle* alone. *Busy* is a chip whose matrix units and memory work
at their peak; *TDP* is what is published of one chip. What stands in brackets is not used: the chip
has no HBM, or no other chip beside it. `python benchmarks/tables/energy_table.py --power` simulates
ResNet-50 and a language model on all presets, and marks a mean power above the TDP."""

LEFT_OUT = """## Rows of data/chips.csv

A row has a preset of its name, with `-` for `_`, if it says how many cores there are, what SRAM
they have, and at what rate they multiply matrices; `elk_a2a` and `elk_mesh` are `ipu-pod4-hbm` and
`ipu-pod4-hbm-mesh`. What else a row leaves open is assumed, and marked so below."""

OWN = """## A file for a chip of one's own

Begin with the preset that is nearest, `elk chip show tiny --toml > mine.toml`, or with this:"""

FILE = """schema = "elk.chip/1"
name = "mine"

[core]
grid = [16, 16]                  # count = 256 where the topology is all_to_all or ring
sram_bytes = "1 MiB"
clock_hz = "1 GHz"
sram_bytes_per_s = "128 GB/s"
remote_access_blocks = false     # true where what arrives takes the SRAM port from the compute unit
tile_model = "mine-tiles.json"   # beside this file; or the name of a model that ships with ELK

[interconnect]
topology = "mesh2d"              # see below
link_bytes_per_s = "32 GB/s"     # of each directed link; of a core's ports where all_to_all
hop_latency_s = "2 ns"
sync_latency_s = "50 ns"         # of one exchange, whatever it carries
fragment_latency_s = "3 ns"      # of one contiguous run from one sender
multicast = true

[hbm]                            # leave the table out where models live in SRAM
modules = 4
bytes_per_s = "2 TB/s"           # of one chip's modules together
latency_s = "100 ns"
channels = 16                    # of one module
outstanding_bytes = "16 KiB"     # of one channel
capacity_bytes = "64 GB"
position = "edges_left_right"    # nodes, edges_left_right, edges_all

[host]
bytes_per_s = "32 GB/s"

[confidence]
assumed = ["hbm.latency_s", "hbm.outstanding_bytes"]
"""

KEYS = """Every quantity has a unit: sizes `B kB MB GB TB PB KiB MiB GiB TiB`, rates these `/s`,
times `ps ns us ms s`, frequencies `Hz kHz MHz GHz THz`, operations `FLOP/s GFLOP/s TFLOP/s
PFLOP/s`. Several chips need `chips = 4` and a table `[inter_chip]` with `bytes_per_s`,
`latency_s`, `sync_latency_s` and `topology`. Keys that may be left out: `chips`,
`core.reserved_bytes` (8 KiB), `interconnect.overlaps_compute` and `native_shift` (false),
`interconnect.node_ports` (ports of a node into the network and out of it, each as fast as a link;
one for each of its links), `hbm.port_bytes_per_s` (`bytes_per_s / modules`),
`hbm.refresh_interval_s` and `refresh_stall_s` (no refresh), `inter_chip.port_cores` (all),
`[energy]`, `[published]`, `[confidence]`, and `streaming`, the preset of the same chip that keeps
weights in memory off the chip: an error says so where SRAM does not hold a model. YAML and JSON
files hold the same keys and are told by their suffix; YAML aliases, and keys given twice, are
refused in all three. `chip.save("mine.yaml")` writes any of them.

| topology | `[core]` | how cores are joined |
| --- | --- | --- |
| `all_to_all` | `count = 256` | each reaches every other, through its send and receive port |
| `ring` | `count = 256` | each with the next, the last with the first |
| `mesh2d` | `grid = [16, 16]` | each with its neighbours in rows and columns |
| `torus2d` | `grid = [16, 16]` | as on a mesh, and around the ends |
| `mesh3d` | `grid = [8, 8, 4]` | layers of a mesh, each core with those above and below |
| `groups` | `grid = [4, 8]` | groups of `interconnect.group_cores`, all to all; a mesh between |

Of groups the grid counts groups; a core is joined to those at its place of neighbouring groups.
A link carries `link_bytes_per_s` each way; so does a port, on all-to-all and within a group, where
a transfer passes no hop. Modules at the edges of layers or groups are attached to all cores there.

The times of tiles come from a tile model. `elk fit profile.csv -o mine-tiles.json` fits one to
measured cycles; `elk.compile(..., tile_model=function)` asks a Python function of yours for those
of each call. Without a profile, an *analytic* model says what the core does at best; the chips
above that are no IPU have one, and their plans are as good as its numbers:"""

TILES = """{
  "schema": "elk.tile_model/1",
  "kind": "analytic",
  "name": "mine",
  "source": "data sheet; a call's 100 cycles are assumed",
  "macs_per_cycle": 512,
  "granularity": [16, 16, 16],
  "vector_elements_per_cycle": 16,
  "sram_bytes_per_cycle": 128,
  "call_cycles": 100
}
"""

RULES = """A product of m x k x n costs `call_cycles` and, for each block of `granularity` that
covers it, the block's multiply-adds over `macs_per_cycle`. A convolution is the product of its
output positions, its input channels times kernel positions, and its output channels. Anything
else costs `call_cycles` and its elements over `vector_elements_per_cycle`, in a window over
channels that do not mix once for each kernel position; a sort its bytes over
`sram_bytes_per_cycle` besides. Floats of two and four bytes cost the same, other types their
bytes over four. SRAM bandwidth does not slow products down.

What is wrong with a file is said by file, line and field:"""

CHECK = """`elk chip check mine.toml` reads file and tile model, and says what limits preloads:"""

CHECKED = """- *hbm*: the modules, their ports, or `outstanding_bytes / latency_s` of each channel.
- *injection*: on a mesh, torus or ring a module sends over one link of each node that it is
  attached to. At `edges_all` and `edges_left_right` the modules share these nodes evenly; at
  `nodes` each has one, in the middle of its part of the chip.
- *edge cut*: the links that lead from those nodes to others, over the share of the data that must
  take them. *receive*: the ports of all cores, on all-to-all.
- *crossing*: data lie striped over all modules. Between modules on two sides of a straight cut,
  some must cross it, wherever they are needed; the tightest of all such cuts.
- *bisection*: what crosses between two halves of the cores; it binds exchanges.

A table `[published]` holds what the vendor gives as totals of one chip: `matrix_flops_per_s` of
dense f16 products, `memory_bytes_per_s` of HBM, or of all SRAM where there is none, `sram_bytes`,
`tdp_w`, the `source`, and a `note` on what differs. `elk chip check` compares totals with what
cores, memory and tile model come to, and says what differs by over 3 %; it shows the TDP beside the
power by `[energy]`. Plans do not depend on them.

`elk chip diff A B` lists the fields in which two chips differ, and the second value over the first;
it exits with 1 if there are any:"""

END = """All four commands take presets by name and files by path, and `--json`. In Python:

```python
chip = elk.load_chip("mine.toml")                       # or elk.chips.get("ipu-pod4-hbm")
wide = chip.replace(link_bytes_per_s="64 GB/s", topology="torus2d", name="wide")
wide.save("wide.json")
wide.delivery().bound_by                                # what limits preloads
wide.bisection_bytes_per_s
elk.compile("models/nerf.onnx", wide, bindings={"rows": 4096})
```"""


def page() -> str:
    """The whole page."""
    chips = [elk.chips.get(name) for name in elk.chips.names()]
    return "\n".join(
        [
            HEAD, "", *preset_table(chips), "", LEFT_OUT, "", *left_out_table(), "",
            ENERGY, "", *energy_table(chips), "", MARKS, "", *marks_table(chips), "",
            OWN, "", *fenced(FILE, "toml"), "",
            KEYS, "", *fenced(TILES, "json"), "", *worked_example(), "", END, "",
        ]
    )  # fmt: skip


def preset_table(chips: list[Chip]) -> Iterator[str]:
    yield "| preset | chips x cores | SRAM a core | clock | compute | network | HBM | preloads bound by | careful |"  # noqa: E501
    yield "| --- | ---: | ---: | ---: | ---: | --- | ---: | --- | ---: |"
    for chip in chips:
        core, network = chip.core, chip.interconnect
        shape = f"{core.grid[0]} x {core.grid[1]}" if core.grid else f"{core.count}"
        cells = [
            f"`{chip.name}`",
            f"{chip.chips} x ({shape})" if core.grid else f"{chip.chips} x {shape}",
            show(core.sram_bytes, BYTES),
            show(core.clock_hz, HERTZ),
            compute(chip),
            f"{network.topology}, {show(network.link_bytes_per_s, BYTES_PER_S)}",
            show(chip.hbm.bytes_per_s * chip.chips, BYTES_PER_S) if chip.hbm else "none",
            chip.delivery().bound_by.replace("_", " ") if chip.hbm else "",
            careful(chip),
        ]
        yield f"| {' | '.join(cells)} |"


def compute(chip: Chip) -> str:
    """The f16 rate of one core, and what kind of model says so."""
    record = find_record(chip.core.tile_model)
    if isinstance(record, AnalyticModel):
        rate = 2e-9 * record.macs_per_cycle * chip.core.clock_hz
        digits = ".0f" if rate >= 100 else ".4g"
        return f"{rate:,{digits}} GFLOP/s, analytic"
    return "published model" if record.name.endswith("paper") else "fitted"


def careful(chip: Chip) -> str:
    marks = chip.confidence or Confidence(low=(), assumed=())
    return f"{len(marks.assumed)} + {len(marks.low)} of {len(flat(chip.to_dict()))}"


def energy_table(chips: list[Chip]) -> Iterator[str]:
    yield (
        "| preset | pJ/FLOP | SRAM, pJ/B | link, pJ/B | HBM, pJ/B | between, pJ/B "
        "| idle | busy | TDP |"
    )
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for chip in chips:
        energy = chip.energy
        if energy is None:
            yield f"| `{chip.name}` {'| ' * 8}|"
            continue
        tdp_w = chip.published.tdp_w if chip.published else None
        memory, between = f"{energy.pj_per_hbm_byte:g}", f"{energy.pj_per_inter_chip_byte:g}"
        cells = [
            f"`{chip.name}`",
            f"{energy.pj_per_flop:g}",
            f"{energy.pj_per_sram_byte:g}",
            f"{energy.pj_per_link_byte_hop:g}",
            memory if chip.hbm else f"({memory})",
            between if chip.inter_chip else f"({between})",
            f"{energy.static_w:,.0f} W",
            f"{busy_w(chip):,.0f} W",
            f"{tdp_w:,g} W" if tdp_w else "unknown",
        ]
        yield f"| {' | '.join(cells)} |"


def left_out_table() -> Iterator[str]:
    """The rows that say too little, and what they lack."""
    with ROWS.open(encoding="utf-8", newline="") as file:
        lacking = {row["id"]: missing(row) for row in csv.DictReader(file)}
    left_out = {key: columns for key, columns in lacking.items() if columns}
    if not left_out:
        yield f"Each of the {len(lacking)} rows does."
        return
    yield "| row without a preset | what it lacks |"
    yield "| --- | --- |"
    for key, columns in left_out.items():
        yield f"| `{key}` | {', '.join(columns)} |"


def missing(row: dict[str, str]) -> list[str]:
    """The columns without which a row describes no chip that can be planned for."""
    either = (
        ("cores",),
        ("sram_kib_per_core", "sram_mib_chip"),
        ("matrix_fp16_gflops_core", "matrix_fp16_tflops_chip"),
    )
    return [
        " or ".join(f"`{name}`" for name in names)
        for names in either
        if all(row[name] == "unknown" for name in names)
    ]


def marks_table(chips: list[Chip]) -> Iterator[str]:
    yield "| preset | low | assumed |"
    yield "| --- | --- | --- |"
    for chip in chips:
        if chip.confidence:
            low, assumed = map(listed, (chip.confidence.low, chip.confidence.assumed))
            yield f"| `{chip.name}` | {low} | {assumed} |"


def listed(names: tuple[str, ...]) -> str:
    """Names of fields; those of an `[energy]` table as one, as they are marked together."""
    folded = dict.fromkeys(re.sub(r"^energy\..*", "energy.*", name) for name in names)
    return ", ".join(f"`{name}`" for name in folded)


def worked_example() -> Iterator[str]:
    """What the commands print of the example's files, which are written and read for it."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            Path("mine.toml").write_text(FILE, encoding="utf-8")
            Path("mine-tiles.json").write_text(TILES, encoding="utf-8")
            Path("wrong.toml").write_text(
                FILE.replace('"32 GB/s"     #', '"32 Gb/s"     #').replace(
                    "hop_latency_s", "hop_latency"
                ),
                encoding="utf-8",
            )
            yield RULES
            yield ""
            yield from fenced(printed("chip", "check", "wrong.toml"), "text")
            yield ""
            yield CHECK
            yield ""
            yield from fenced(printed("chip", "check", "mine.toml"), "text")
            yield ""
            yield CHECKED
            yield ""
            yield from fenced(printed("chip", "diff", "gc200", "bow"), "text")
        finally:
            os.chdir(before)


def printed(*words: str) -> str:
    """A command, and what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        cli.main(list(words))
    return f"$ elk {' '.join(words)}\n{out.getvalue()}"


def fenced(text: str, language: str) -> Iterator[str]:
    yield f"```{language}"
    yield text.rstrip("\n")
    yield "```"


if __name__ == "__main__":
    print(page(), end="")
