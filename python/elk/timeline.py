"""Timelines: see `elk.report.timeline`."""

from __future__ import annotations

from elk.report.timeline import Counter, Flow, Slice, Timeline, Track

__all__ = ["Counter", "Flow", "Slice", "Timeline", "Track"]
