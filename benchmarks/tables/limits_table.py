"""The error codes of ELK and the limits of elk.Limits, as Markdown: docs/errors.md.

python benchmarks/tables/limits_table.py > docs/errors.md
"""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from typing import NamedTuple

import elk


class Code(NamedTuple):
    """A code, the class that carries it, when it is raised and what to do."""

    code: str
    kind: str
    when: str
    remedy: str


_HEAD = """# Errors and limits

Every error of ELK is an `elk.ElkError`. It has a `code` for programs, which stays when the wording
changes; a `place`: the name of a node, or file, line and field; a `message` with the rule and the
value; and a `remedy`. `elk ... --json` prints the four. `InvalidInputError` and its children are
also `ValueError`s. The command line exits with 2 for what the caller can correct, 1 for what does
not fit, 3 for a bug in ELK. `python benchmarks/tables/limits_table.py` prints this page.

A model is looked at before it is parsed, and counted before ONNX's own code or ELK's follow it:
what is too large is refused before memory or time is spent on it. No file that a model names as
external data is ever opened. The tests read over 1,000 malformed models and 500 malformed chip
files, each in 2 s and 1 GiB at most; `tests/fuzz/` holds what fuzzing starts from and what it
found."""

_MODEL = "ModelFileError"
_INPUT = "InvalidInputError"
CODES = (
    Code(
        "bound_undercut",
        "InternalError",
        "A simulated time is below a plan's lower bound, in ELK's own tests; elsewhere the bound "
        "is withheld, with a `BoundWarning`",
        "report it",
    ),
    Code("chip_file", "ChipFileError", "A chip file cannot be read, or describes no possible chip; "
         "the message names file, line and field", "correct the line; the nearest key is named"),
    Code("dangling_name", _MODEL, "An output of the graph is no node's result",
         "name one of the results of the graph"),
    Code("element_type", "UnsupportedModelError", "An input, output or initializer holds texts, a "
         "sequence, a map, or numbers that are not planned", "cast it, or cut off what reads it"),
    Code("elk", "ElkError", "Never by itself: the parent of all", "catch it to catch every error"),
    Code("emulate_address", "InternalError", "An emulated core touches bytes where no buffer lies",
         "report it"),
    Code("emulate_dtype", _INPUT, "A tensor holds eight-bit floats, of a kind that is not told",
         "emulate the model in another type"),
    Code("emulate_exchange", "InternalError", "What an emulated core sends is not what another "
         "needs", "report it"),
    Code("emulate_input", _INPUT, "An input of an emulation is missing, unknown or of another "
         "shape, or large weights stayed in another process",
         "give each input of the model one array of its shape, and load the model there"),
    Code("emulate_kernel", _INPUT, "No kernel of the emulator computes an operator; the message "
         "names it", "see docs/operators.md"),
    Code("emulate_not_held", "InternalError", "An emulated core needs an element that it does not "
         "hold", "report it"),
    Code("emulate_overlap", "InternalError", "Two buffers of a program overlap while both live",
         "report it"),
    Code("emulate_plan", _INPUT, "A plan that cannot be emulated or listed: a forecast, or, "
         "to emulate, one from a file or another process",
         "emulate what `elk.compile` returns under another policy than `ideal`"),
    Code("emulate_poison", "InternalError", "An emulated core reads bytes that nobody wrote",
         "report it"),
    Code("executor_broken", "ElkError", "The executor of a sweep takes no more points",
         "resume the sweep with a new one, or with workers of this machine"),
    Code("external_data", "UnsupportedModelError", "A tensor in a node or a subgraph lies outside "
         "the file", "make it an initializer of the graph, or store it in the file"),
    Code("file", _INPUT, "The system cannot read or write a file", "check the path"),
    Code("given_plan", _INPUT, "A plan of an operator that was handed in is of no form that ELK "
         "reads, names what is not there, or breaks a rule; the message names operator, plan and "
         "rule", "change the plan by the rule, or leave it out"),
    Code("hbm_overflow", "InfeasibleError", "Weights, states and spilled activations exceed the "
         "HBM; the message says by how much", "take more chips or a larger `hbm.capacity_bytes`, "
         "or bind less"),
    Code("infeasible", "InfeasibleError", "Nothing fits the chip; the message says by how much",
         "take a larger chip, or bind smaller sizes"),
    Code("internal", "InternalError", "A bug in ELK", "report it"),
    Code("invalid_chip", "InvalidInputError", "`elk.Chip` is made of values that no chip has",
         "the message lists every field and its rule"),
    Code("invalid_function", _MODEL, "Local functions cannot be inlined",
         "export the model without local functions"),
    Code("invalid_input", _INPUT, "An argument is wrong; the message names it", "correct it"),
    Code("invalid_limit", _INPUT, "`elk.Limits` is given what is no positive integer, or too much",
         "leave it out for its default"),
    Code("invalid_plan", _INPUT, "A cut of an operator breaks a rule of the core; the message "
         "names it", "compile again; a plan of `elk.compile` never does"),
    Code("invalid_quantity", _INPUT, "A quantity has a wrong unit, none, or is no number",
         "write a number and a unit, as in \"624 KiB\""),
    Code("invalid_shape", _MODEL, "A size is negative, or an output is not of its declared shape",
         "give the dimension its size, or a name that is bound"),
    Code("invalid_sweep", _INPUT, "Axes, values or options of a sweep are wrong; all are listed",
         "correct each; the nearest name is given"),
    Code("invalid_tensor", _MODEL, "The elements of an initializer do not fill its shape",
         "export the model again; the file may be damaged"),
    Code("invalid_timeline", _INPUT, "`elk.timeline.Timeline` is given slices that overlap in "
         "part, or time that goes back", "correct the times"),
    Code("limit", "LimitError", "A model has more of something than `elk.Limits` allow",
         "check the model; pass `limits=elk.Limits(...)` or `--limit NAME=N` if it is meant"),
    Code("missing_package", "MissingPackageError", "An optional package is not installed",
         "install it"),
    Code("model_config", _INPUT, "`elk.models` is given hyper-parameters that describe no model",
         "see the published configuration of the model"),
    Code("model_file", _MODEL, "A file cannot be read, or ONNX's own checker refuses it",
         "check that the file is whole; export the model again"),
    Code("model_loaded", _INPUT,
         "`elk.compile` is given a loaded model and options of loading; or `elk.sweep` one whose "
         "weights are too large to travel",
         "give the options to `elk.load_model`, the file to `elk.sweep`"),
    Code("no_buffers", _INPUT, "A forecast is asked for buffers", "plan with another policy"),
    Code("no_caps", _INPUT, "An executor cannot end a point that takes too much time or memory",
         "leave `timeout_s` and `memory_bytes` out, or take workers of this machine or of Dask"),
    Code("no_energy", _INPUT, "A chip without energy coefficients is to be planned for energy",
         "give the chip an `[energy]` table, or take `objective=\"latency\"`"),
    Code("no_model", _INPUT, "A plan from a file or another process is to be planned again",
         "give the model: `elk.what_if(plan, ..., model=...)`"),
    Code("no_pairs", _INPUT, "No two points of a sweep differ in the compared axis alone",
         "sweep a product of it and the other axes"),
    Code("no_replay", _INPUT, "A run of fidelity `flows`, or one whose tile model is gone, is to "
         "be played again",
         "simulate with fidelity `core` or `symmetric`, and give the tile model"),
    Code("no_scheduler", "ElkError", "A scheduler of Dask does not answer, or no longer",
         "start it, or check its address; then resume the sweep"),
    Code("no_values", _INPUT, "No point of a sweep has the result that is asked for",
         "keep that result; see `status` for points that are not done"),
    Code("no_variance", _INPUT, "A result of a sweep is the same in all points",
         "vary an axis, or ask for another result"),
    Code("not_a_number", _MODEL, "An attribute of a node is NaN",
         "write a number, or leave it out"),
    Code("not_simulated", _INPUT, "Simulated times are asked of a plan that was not simulated",
         "simulate it first (`plan.simulate()`), or ask for the predicted ones"),
    Code("not_text", _MODEL, "A name in a model is no UTF-8", "export the model again"),
    Code("not_there_yet", _INPUT, "An option is for a later version", "use one of those named"),
    Code("other_model", _INPUT, "A plan is to be planned again with a model that is not its own",
         "give the model and sizes that the message names"),
    Code("other_version", _INPUT, "A pickled run was made by another version of ELK",
         "install one version on both sides"),
    Code("output_file", "OutputFileError", "A file cannot be written; one that was there before is "
         "unchanged", "make room on the disk, or choose a folder that may be written"),
    Code("placement", "InfeasibleError", "No order of addresses holds the buffers of any plan, "
         "though each op fits", "take a little more SRAM, another policy or more effort"),
    Code("plan_file", "PlanFileError", "A plan file cannot be read, or is of another version",
         "compile again"),
    Code("profile_file", "ProfileFileError", "A file of measured tiles cannot be read",
         "correct the line that is named"),
    Code("recursive_function", _MODEL, "A local function calls itself",
         "unroll the recursion before the model is exported"),
    Code("reference", "ReferenceRunError", "ONNX Runtime refuses a model whose results are to be "
         "compared with its own, or ends its process", "emulate without `check=True`"),
    Code("several_points", _INPUT, "A cell of a heat map would hold several points of a sweep",
         "fix the other axes with `where`, or give them to `col` or `row`"),
    Code("sram_overflow", "InfeasibleError", "An op and what must stay on chip beside it exceed "
         "SRAM; the message says by how much", "bind less, or take more cores or SRAM"),
    Code("store_busy", "SweepStoreError", "Another process runs the sweep of a store",
         "wait for it; reading is possible meanwhile"),
    Code("store_differs", "SweepStoreError", "A store holds another sweep than the call's",
         "give another path, or add points with `extend`"),
    Code("store_follows", "SweepStoreError", "Points are added to a sweep with an axis or a "
         "constraint that is a function, which its store does not hold", "give values of all axes"),
    Code("store_older", "SweepStoreError", "A store holds results of another version of ELK",
         "say whether they are kept or found anew: `older=`"),
    Code("strategy", _INPUT, "Fields of a strategy of training have no value that they may have, "
         "or do not suit machine, model and batch: all are listed", "correct each of them"),
    Code("sweep_file", "SweepFileError", "A file that describes a sweep cannot be read, or is "
         "wrong: all of it is listed with lines", "correct each line; the nearest name is given"),
    Code("sweep_store", "SweepStoreError", "A store cannot be read or written; what was reported "
         "as done is kept", "make room or correct the path, and resume"),
    Code("tile_model", _INPUT, "A function given as `tile_model` raises, or returns no cycles",
         "return a finite number above 0 for every call"),
    Code("tile_model_file", "TileModelFileError", "A tile model cannot be read",
         "fit it again with `elk fit`"),
    Code("trace_file", "TraceFileError", "A trace file cannot be read, or lacks what a trace needs",
         "save or export it again"),
    Code("trace_format", _INPUT, "A trace is saved under a suffix of no format",
         "end it in .pftrace, .json or .html"),
    Code("training_memory", "InfeasibleError", "The memory of a device does not hold its stage; "
         "the message has the bytes by kind", "take more stages, recomputation, a higher `zero` or "
         "a smaller micro-batch"),
    Code("unbound_symbols", "UnboundSymbolsError", "Dimensions have no number; all are listed",
         "pass `bindings={...}`"),
    Code("unknown_name", _INPUT, "There is no such preset, option or operator",
         "take the nearest, which is named"),
    Code("unknown_opset", _MODEL, "An operator set does not exist",
         "convert the model with `onnx.version_converter`, or install a newer onnx"),
    Code("unknown_symbol", _INPUT, "A binding names no dimension of the model",
         "take one of those listed"),
    Code("unsound_program", "InternalError", "A planned program breaks a rule: a bug in ELK",
         "report it"),
    Code("unsupported_model", "UnsupportedModelError", "Nodes cannot be planned; each is listed "
         "with its shapes and the reason", "replace these nodes, or cut them off"),
    Code("usage", _INPUT, "The command line is wrong", "see `elk COMMAND --help`"),
    Code("worker_start", "ElkError", "Workers of a sweep end before they have begun",
         "start one by hand, as the message says, to see why"),
    Code("worker_version", "ElkError", "A worker of Dask has another version of ELK",
         "install one version on all workers"),
)  # fmt: skip


_PLAN_FILES = (
    "## Plan files",
    "",
    "`elk.load_plan` checks all of a file before anything simulates, draws or lists it; what",
    "breaks a rule is a `PlanFileError` that names the key, its value and the rule. A file is",
    "regular and at most `plan_bytes` long, unpacked. Its rows are held to the schema as they are",
    "parsed: no key twice, finite numbers, each of its type and range. Then:",
    "",
    "| what | how it is held |",
    "| --- | --- |",
    "| names of kinds, axes, tensors, policies, the tile model | there is what they name: a "
    "buffer's tensor is one of its op's, a tile model ships with ELK, is a file or a caller's "
    "function |",
    "| chip, graph, cuts, divisors, order of instructions, buffers | by the core's own rules, "
    "those of `Plan.check` among them |",
    "| cores, steps, spaces, bytes (of tensors, from HBM, over links, exchanged, sent between "
    "chips), orders and numbers of preloads, repeats, columns of fronts and of explored points, "
    "sums and totals | worked out again and compared |",
    "| times | an instruction begins when the program reaches it, the last end is the total, parts "
    "add up; bytes take what rates leave, executes what they compute, corners of the bound are "
    "not above it |",
    "| times of tiles and exchanges, the bound and the ideal, what was searched, rates of the "
    "chip, FLOPs, names of kernels | by the digest alone |",
    "",
    "A tile model that is a file (`.json`) may be missing where a plan is only read; a run of the "
    "plan needs it.",
    "",
    "The digest is a key of files that ELK wrote: the SHA-256 of the rest. A file of another tool",
    "has none, and figures of the last row are then taken as they are, within their ranges.",
)


def page() -> str:
    """The whole page."""
    rows = [
        "## Codes",
        "",
        "| code | class | when | what to do |",
        "| --- | --- | --- | --- |",
        *(f"| `{c.code}` | `{c.kind}` | {c.when} | {c.remedy} |" for c in CODES),
        "",
        "## Limits",
        "",
        "`elk.load_model(..., limits=elk.Limits(nodes=500_000))`, `elk.compile(..., limits=...)`",
        "and `elk model --limit nodes=500000` change them; the rest keep their defaults.",
        "",
        "| limit | default | what it bounds |",
        "| --- | ---: | --- |",
        *(f"| `{f.name}` | {f.default:,} | {said(f.name)} |" for f in fields(elk.Limits)),
        "",
        "A chip file has at most 64 KiB, tables at most 32 deep, and counts up to 2^31.",
        "",
        *_PLAN_FILES,
    ]
    return "\n".join([_HEAD, "", *rows, ""])


def said(limit: str) -> str:
    """What the docstring of `elk.Limits` says of a limit."""
    text = inspect.getdoc(elk.Limits) or ""
    found = re.search(rf"^ +{limit}: (.*?)(?=^ +\w+: |\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        raise LookupError(limit)
    return " ".join(found[1].split())


if __name__ == "__main__":
    print(page(), end="")
