"""Clusters by name, the presets that come with ELK, and cluster files: see `elk.training`."""

from __future__ import annotations

from elk.training.cluster import SCHEMA
from elk.training.machines import get_cluster as get
from elk.training.machines import load_cluster
from elk.training.machines import names_of_clusters as names

__all__ = ["SCHEMA", "get", "load_cluster", "names"]
