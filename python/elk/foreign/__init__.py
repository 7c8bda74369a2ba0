"""Foreign: traces that other tools recorded on real machines."""
