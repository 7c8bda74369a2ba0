"""What every core of a chip does: see `elk.document.listing`."""

from __future__ import annotations

from elk.document.listing import (
    Area,
    Coder,
    CoreInstruction,
    ListedOp,
    Listing,
    Parcel,
    PlacedProgram,
    listed_ops,
    listing,
)

__all__ = [
    "Area",
    "Coder",
    "CoreInstruction",
    "ListedOp",
    "Listing",
    "Parcel",
    "PlacedProgram",
    "listed_ops",
    "listing",
]
