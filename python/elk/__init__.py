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
    from elk.chip import Chip as Chip
    from elk.chips import load_chip as load_chip
    from elk.comparison import Comparison as Comparison
    from elk.comparison import compare as compare
    from elk.limits import Limits as Limits
    from elk.model import Model as Model
    from elk.model import load_model as load_model
    from elk.plan import Plan as Plan
    from elk.plan import load_plan as load_plan
    from elk.planning import compile as compile
    from elk.run import Run as Run
    from elk.sharding import Sharding as Sharding
    from elk.sharding import shard as shard
    from elk.sweeps.entry import sweep as sweep
    from elk.sweeps.scales import between as between
    from elk.sweeps.scales import linspace as linspace
    from elk.sweeps.scales import logspace as logspace
    from elk.sweeps.search import search as search
    from elk.sweeps.space import sampled as sampled
    from elk.sweeps.space import union as union
    from elk.sweeps.space import zip_axes as zip  # noqa: A004 - elk.zip, beside elk.union
    from elk.sweeps.sweep import Sweep as Sweep
    from elk.transfers import play_transfers as play_transfers

# Where each public name lives; imported when it is first used.
_LAZY = {
    "Chip": "elk.chip",
    "Comparison": "elk.comparison",
    "Limits": "elk.limits",
    "Model": "elk.model",
    "Plan": "elk.plan",
    "Run": "elk.run",
    "Sharding": "elk.sharding",
    "Sweep": "elk.sweeps.sweep",
    "__version__": "elk._core",
    "between": "elk.sweeps.scales",
    "chips": "elk.chips",
    "compare": "elk.comparison",
    "compile": "elk.planning",
    "linspace": "elk.sweeps.scales",
    "load_chip": "elk.chips",
    "load_model": "elk.model",
    "load_plan": "elk.plan",
    "logspace": "elk.sweeps.scales",
    "models": "elk.models",
    "play_transfers": "elk.transfers",
    "sampled": "elk.sweeps.space",
    "search": "elk.sweeps.search",
    "shard": "elk.sharding",
    "sweep": "elk.sweeps.entry",
    "union": "elk.sweeps.space",
    "zip": "elk.sweeps.space",
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
    "play_transfers",
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
