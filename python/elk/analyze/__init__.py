"""What stalled in a run, what its units and memories did, and what to change."""
