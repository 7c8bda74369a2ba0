"""What a trace says of its plan besides what is played."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFacts:
    """What a trace says of its plan besides what is played.

    Attributes:
        model: The name of the model.
        chip: The name of the chip.
        policy: The policy of the plan.
        ops: The names of the operators.
        matrix: Of every operator, whether it is a product or a convolution.
        instructions: Of every instruction of the trace: `preload_async`, `store_async` or
            `execute`, and the operator's position or the stored tensor's name.
        before: What was issued before the trace and still matters: kind and name.
        copies: How many times the simulated chips are there.
        hbm_bytes_per_s: What their HBM moves in a second at its peak; 0 without HBM.
        cores: Of the simulated chips.
        link_bytes_per_s: What one core receives in a second.
        sram_bytes: One core's memory that the plan may use.
    """

    model: str
    chip: str
    policy: str
    ops: tuple[str, ...]
    matrix: tuple[bool, ...]
    instructions: tuple[tuple[str, int | str], ...]
    before: tuple[tuple[str, str], ...]
    copies: int
    hbm_bytes_per_s: float
    cores: int
    link_bytes_per_s: float
    sram_bytes: int
