"""Chips: what they consist of, the presets, chip files, and what is wrong with one."""
