"""The numbers and names of which a plan file is made, with the ranges in which they make sense."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Le, Len, MinLen

Count = Annotated[int, Ge(0), Le((1 << 63) - 1)]
"""How many there are of something, bytes and picoseconds among them."""
Size = Annotated[int, Ge(1), Le(1 << 56)]
"""Positions along a dimension, or parts that something is cut into."""
Position = Annotated[int, Ge(0), Le((1 << 31) - 1)]
"""A place in a list."""
Step = Annotated[int, Ge(-(1 << 56)), Le(1 << 56)]
"""Positions from one place to another."""
Name = Annotated[str, MinLen(1)]
"""The name of a tensor."""
Seconds = Annotated[float, Ge(0.0), Le(9e6)]
"""A length of time, or a moment of a run: what 64 bits of picoseconds hold."""
Span = Annotated[list[Seconds], Len(2, 2)]
"""When something begins and ends, in seconds."""
Interval = Annotated[list[Count], Len(2, 2)]
"""When something begins and ends, in picoseconds."""
