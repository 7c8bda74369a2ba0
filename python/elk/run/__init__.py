"""Simulated runs of plans."""
