"""Points of a design space: axes and their names, scales, spaces, and results by name."""
