"""Plans deep learning models for chips whose cores exchange data directly."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

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
    UnboundSymbolsError,
    UnsupportedModelError,
)

if TYPE_CHECKING:
    from elk import chips as chips
    from elk import models as models
    from elk._core import __version__ as __version__
    from elk.chip.chip import Chip as Chip
    from elk.chip.presets import load_chip as load_chip
    from elk.limits import Limits as Limits
    from elk.model.model import Model as Model
    from elk.model.model import load_model as load_model
    from elk.plan.comparison import Comparison as Comparison
    from elk.plan.comparison import compare as compare
    from elk.plan.plan import Plan as Plan
    from elk.plan.plan import load_plan as load_plan
    from elk.plan.planning import compile as compile
    from elk.plan.sharding import Sharding as Sharding
    from elk.plan.sharding import shard as shard
    from elk.points.scales import between as between
    from elk.points.scales import linspace as linspace
    from elk.points.scales import logspace as logspace
    from elk.points.space import sampled as sampled
    from elk.points.space import union as union
    from elk.points.space import zip_axes as zip  # noqa: A004 - elk.zip, beside elk.union
    from elk.run.run import Run as Run
    from elk.sweeps.entry import sweep as sweep
    from elk.sweeps.search import search as search
    from elk.sweeps.sweep import Sweep as Sweep

# Where each public name lives; imported when it is first used.
_LAZY = {
    "Chip": "elk.chip.chip",
    "Comparison": "elk.plan.comparison",
    "Limits": "elk.limits",
    "Model": "elk.model.model",
    "Plan": "elk.plan.plan",
    "Run": "elk.run.run",
    "Sharding": "elk.plan.sharding",
    "Sweep": "elk.sweeps.sweep",
    "__version__": "elk._core",
    "between": "elk.points.scales",
    "chips": "elk.chips",
    "compare": "elk.plan.comparison",
    "compile": "elk.plan.planning",
    "linspace": "elk.points.scales",
    "load_chip": "elk.chip.presets",
    "load_model": "elk.model.model",
    "load_plan": "elk.plan.plan",
    "logspace": "elk.points.scales",
    "models": "elk.models",
    "sampled": "elk.points.space",
    "search": "elk.sweeps.search",
    "shard": "elk.plan.sharding",
    "sweep": "elk.sweeps.entry",
    "union": "elk.points.space",
    "zip": "elk.points.space",
}
# Names that differ where they live: `zip` is Python's own there.
_THERE = {"zip": "zip_axes"}

__all__ = [
    "BoundWarning",
    "Chip",
    "ChipFileError",
    "Comparison",
    "ElkError",
    "InfeasibleError",
    "InternalError",
    "InvalidInputError",
    "LimitError",
    "Limits",
    "MissingPackageError",
    "Model",
    "ModelFileError",
    "OutputFileError",
    "Plan",
    "PlanFileError",
    "ReferenceRunError",
    "Run",
    "Sharding",
    "Sweep",
    "SweepFileError",
    "SweepStoreError",
    "UnboundSymbolsError",
    "UnsupportedModelError",
    "__version__",
    "between",
    "chips",
    "compare",
    "compile",
    "linspace",
    "load_chip",
    "load_model",
    "load_plan",
    "logspace",
    "models",
    "sampled",
    "search",
    "shard",
    "sweep",
    "union",
    "zip",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'elk' has no attribute {name!r}")
    module = importlib.import_module(_LAZY[name])
    value = module if module.__name__ == f"elk.{name}" else getattr(module, _THERE.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
