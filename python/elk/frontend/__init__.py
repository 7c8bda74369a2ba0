"""The front end: ONNX models become planned graphs."""

from __future__ import annotations

from elk.frontend.build import Built, build
from elk.frontend.read.load import Loaded, load

__all__ = ["Built", "Loaded", "build", "load"]
