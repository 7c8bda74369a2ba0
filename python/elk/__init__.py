"""Plans deep learning models for chips whose cores exchange data directly."""

from __future__ import annotations

from elk._core import ElkError, InfeasibleError, InternalError, InvalidInputError, __version__

__all__ = [
    "ElkError",
    "InfeasibleError",
    "InternalError",
    "InvalidInputError",
    "__version__",
]
