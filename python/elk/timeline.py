"""Timelines: see `elk.report.timeline`."""

from __future__ import annotations

from elk.report.events import Counter, Flow, Slice, Track
from elk.report.timeline import Timeline

__all__ = ["Counter", "Flow", "Slice", "Timeline", "Track"]
