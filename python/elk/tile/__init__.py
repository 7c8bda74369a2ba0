"""Tile models: what a kernel costs on one core, and how that is fitted to profiles."""
