"""Plans deep learning models for chips whose cores exchange data directly."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from elk import errors as errors
from elk.errors import (
    BoundWarning,
    ChipFileError,
    ElkError,
    InfeasibleError,
    InternalError,
    InvalidInputError,
    LimitError,
    MissingPackageError,
    ModelFileError,
    OutputFileError,
    PlanFileError,
    ReferenceRunError,
    SweepFileError,
    SweepStoreError,
    TraceFileError,
    UnboundSymbolsError,
    UnsupportedModelError,
)

if TYPE_CHECKING:
    from elk import chips as chips
    from elk import clusters as clusters
    from elk import limits as limits
    from elk import listing as listing
    from elk import models as models
    from elk import onnx_backend as onnx_backend
    from elk import program_file as program_file
    from elk import tilemodel as tilemodel
    from elk import timeline as timeline
    from elk._core import __version__ as __version__
    from elk.analyze.columns import Columns as Columns
    from elk.analyze.load import load_trace as load_trace
    from elk.analyze.machine import trace_of as trace_of
    from elk.analyze.machine_trace import MachineTrace as MachineTrace
    from elk.analyze.program_trace import ProgramTrace as ProgramTrace
    from elk.analyze.trace import Trace as Trace
    from elk.chip.chip import Chip as Chip
    from elk.chip.presets import load_chip as load_chip
    from elk.chip.transfers import play_transfers as play_transfers
    from elk.document.listing import CoreInstruction as CoreInstruction
    from elk.document.listing import Listing as Listing
    from elk.document.program_file import ProgramFile as ProgramFile
    from elk.document.program_file import load_program as load_program
    from elk.document.source import Bounds as Bounds
    from elk.emulation.compared import OutputCheck as OutputCheck
    from elk.emulation.emulate import Emulation as Emulation
    from elk.foreign.kineto import KinetoTrace as KinetoTrace
    from elk.limits import Limits as Limits
    from elk.model.facts import Facts as Facts
    from elk.model.model import Model as Model
    from elk.model.model import load_model as load_model
    from elk.plan.comparison import Comparison as Comparison
    from elk.plan.comparison import ComparisonRow as ComparisonRow
    from elk.plan.comparison import compare as compare
    from elk.plan.options import Options as Options
    from elk.plan.plan import Plan as Plan
    from elk.plan.plan import load_plan as load_plan
    from elk.plan.planning import compile as compile
    from elk.plan.sharding import Collective as Collective
    from elk.plan.sharding import Sharding as Sharding
    from elk.plan.sharding import shard as shard
    from elk.plan.what_if import WhatIf as WhatIf
    from elk.plan.what_if import what_if as what_if
    from elk.points.scales import Range as Range
    from elk.points.scales import Values as Values
    from elk.points.scales import between as between
    from elk.points.scales import linspace as linspace
    from elk.points.scales import logspace as logspace
    from elk.points.space import Space as Space
    from elk.points.space import sampled as sampled
    from elk.points.space import union as union
    from elk.points.space import zip_axes as zip  # noqa: A004 - elk.zip, beside elk.union
    from elk.report.events import Interval as Interval
    from elk.report.explain import Candidate as Candidate
    from elk.report.explain import Explanation as Explanation
    from elk.report.timeline import Timeline as Timeline
    from elk.run.run import Run as Run
    from elk.sweeps.analysis.pareto import Pareto as Pareto
    from elk.sweeps.analysis.ratios import Ratios as Ratios
    from elk.sweeps.analysis.sensitivity import Sensitivity as Sensitivity
    from elk.sweeps.entry import sweep as sweep
    from elk.sweeps.search import search as search
    from elk.sweeps.store import Progress as Progress
    from elk.sweeps.sweep import Sweep as Sweep
    from elk.sweeps.sweep import SweepPoint as SweepPoint
    from elk.training.cluster import Cluster as Cluster
    from elk.training.collectives import play_collectives as play_collectives
    from elk.training.job import Training as Training
    from elk.training.job import train as train
    from elk.training.machines import load_cluster as load_cluster
    from elk.training.step import TrainingRun as TrainingRun
    from elk.training.strategy import Strategy as Strategy

# Where each public name lives; imported when it is first used.
_LAZY = {
    "Bounds": "elk.document.source",
    "Candidate": "elk.report.explain",
    "Chip": "elk.chip.chip",
    "Cluster": "elk.training.cluster",
    "Collective": "elk.plan.sharding",
    "Columns": "elk.analyze.columns",
    "Comparison": "elk.plan.comparison",
    "ComparisonRow": "elk.plan.comparison",
    "CoreInstruction": "elk.document.listing",
    "Emulation": "elk.emulation.emulate",
    "Explanation": "elk.report.explain",
    "Facts": "elk.model.facts",
    "Interval": "elk.report.events",
    "KinetoTrace": "elk.foreign.kineto",
    "Limits": "elk.limits",
    "Listing": "elk.document.listing",
    "MachineTrace": "elk.analyze.machine_trace",
    "Model": "elk.model.model",
    "Options": "elk.plan.options",
    "OutputCheck": "elk.emulation.compared",
    "Pareto": "elk.sweeps.analysis.pareto",
    "Plan": "elk.plan.plan",
    "ProgramFile": "elk.document.program_file",
    "ProgramTrace": "elk.analyze.program_trace",
    "Progress": "elk.sweeps.store",
    "Range": "elk.points.scales",
    "Ratios": "elk.sweeps.analysis.ratios",
    "Run": "elk.run.run",
    "Sensitivity": "elk.sweeps.analysis.sensitivity",
    "Sharding": "elk.plan.sharding",
    "Space": "elk.points.space",
    "Strategy": "elk.training.strategy",
    "Sweep": "elk.sweeps.sweep",
    "SweepPoint": "elk.sweeps.sweep",
    "Timeline": "elk.report.timeline",
    "Trace": "elk.analyze.trace",
    "Training": "elk.training.job",
    "TrainingRun": "elk.training.step",
    "Values": "elk.points.scales",
    "WhatIf": "elk.plan.what_if",
    "__version__": "elk._core",
    "between": "elk.points.scales",
    "compare": "elk.plan.comparison",
    "compile": "elk.plan.planning",
    "linspace": "elk.points.scales",
    "load_chip": "elk.chip.presets",
    "load_cluster": "elk.training.machines",
    "load_model": "elk.model.model",
    "load_plan": "elk.plan.plan",
    "load_program": "elk.document.program_file",
    "load_trace": "elk.analyze.load",
    "logspace": "elk.points.scales",
    "play_collectives": "elk.training.collectives",
    "play_transfers": "elk.chip.transfers",
    "sampled": "elk.points.space",
    "search": "elk.sweeps.search",
    "shard": "elk.plan.sharding",
    "sweep": "elk.sweeps.entry",
    "trace_of": "elk.analyze.machine",
    "train": "elk.training.job",
    "union": "elk.points.space",
    "what_if": "elk.plan.what_if",
    "zip": "elk.points.space",
}
# Names that differ where they live: `zip` is Python's own there.
_THERE = {"zip": "zip_axes"}
_MODULES = {
    "chips",
    "clusters",
    "limits",
    "listing",
    "models",
    "onnx_backend",
    "program_file",
    "tilemodel",
    "timeline",
}

__all__ = [
    "BoundWarning",
    "Bounds",
    "Candidate",
    "Chip",
    "ChipFileError",
    "Cluster",
    "Collective",
    "Columns",
    "Comparison",
    "ComparisonRow",
    "CoreInstruction",
    "ElkError",
    "Emulation",
    "Explanation",
    "Facts",
    "InfeasibleError",
    "InternalError",
    "Interval",
    "InvalidInputError",
    "KinetoTrace",
    "LimitError",
    "Limits",
    "Listing",
    "MachineTrace",
    "MissingPackageError",
    "Model",
    "ModelFileError",
    "Options",
    "OutputCheck",
    "OutputFileError",
    "Pareto",
    "Plan",
    "PlanFileError",
    "ProgramFile",
    "ProgramTrace",
    "Progress",
    "Range",
    "Ratios",
    "ReferenceRunError",
    "Run",
    "Sensitivity",
    "Sharding",
    "Space",
    "Strategy",
    "Sweep",
    "SweepFileError",
    "SweepPoint",
    "SweepStoreError",
    "Timeline",
    "Trace",
    "TraceFileError",
    "Training",
    "TrainingRun",
    "UnboundSymbolsError",
    "UnsupportedModelError",
    "Values",
    "WhatIf",
    "__version__",
    "between",
    "chips",
    "clusters",
    "compare",
    "compile",
    "errors",
    "limits",
    "linspace",
    "listing",
    "load_chip",
    "load_cluster",
    "load_model",
    "load_plan",
    "load_program",
    "load_trace",
    "logspace",
    "models",
    "onnx_backend",
    "play_collectives",
    "play_transfers",
    "program_file",
    "sampled",
    "search",
    "shard",
    "sweep",
    "tilemodel",
    "timeline",
    "trace_of",
    "train",
    "union",
    "what_if",
    "zip",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"elk.{name}")
    if name not in _LAZY:
        raise AttributeError(f"module 'elk' has no attribute {name!r}")
    value = getattr(importlib.import_module(_LAZY[name]), _THERE.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
