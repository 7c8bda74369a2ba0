"""What a run takes: joules by what they go to, and watts of every execute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from elk.analyze.amounts import AmountsMoved

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from elk import _core

_PS: Final = 1e12  # picoseconds of a second, and picojoules of a joule


def energy_parts_j(
    totals: _core.RunTotals, energy: Mapping[str, float], copies: int
) -> dict[str, float]:
    """Joules of what a run did and moved, without those of idling.

    Args:
        totals: What the chips that were simulated did.
        energy: The coefficients of the chip.
        copies: How many times these chips are there.
    """
    done = {
        "flops": totals.flops,
        "operand_bytes": totals.operand_bytes,
        "exchanged_bytes": totals.received_bytes - totals.loaded_bytes,
        "loaded_bytes": totals.loaded_bytes,
        "hop_bytes": totals.hop_bytes,
        "hbm_bytes": totals.hbm_bytes,
        "between_bytes": totals.between_bytes,
    }
    return {name: joules * copies for name, joules in _joules(done, energy).items()}


def execute_power_w(
    run: _core.Run, energy: Mapping[str, float], copies: int, chips: int
) -> NDArray[np.float64]:
    """Mean power of all chips over each execute, idling included, in watts.

    An execute takes what its work takes and, of each preload and store, the share of its bytes that
    moves meanwhile, as if they moved evenly. One that takes no time counts as idling.

    Args:
        run: The run of the chips that were simulated, in columns.
        energy: The coefficients of the chip.
        copies: How many times these chips are there.
        chips: All chips, which idle for `static_w` each.
    """
    ops, work, stores = run.ops, run.work, run.stores
    executes = {name: work[name] for name in ("flops", "operand_bytes", "hop_bytes")}
    executes |= {"exchanged_bytes": work["received_bytes"], "between_bytes": work["between_bytes"]}
    moves = {
        "loaded_bytes": np.concatenate([ops["loaded_bytes"], stores["moved_bytes"]]),
        "hop_bytes": np.concatenate([work["load_hop_bytes"], stores["hop_bytes"]]),
        "hbm_bytes": np.concatenate([ops["hbm_bytes"], stores["hbm_bytes"]]),
    }
    spent_j = sum(_joules(moves, energy).values())
    moved = moves["hbm_bytes"] + moves["loaded_bytes"] > 0
    queue = AmountsMoved(
        begin_ps=np.concatenate([ops["preload_begin_ps"], stores["begin_ps"]])[moved],
        end_ps=np.concatenate([ops["preload_end_ps"], stores["end_ps"]])[moved],
        amount=spent_j[moved],
    )
    begin, end = ops["execute_begin_ps"], ops["execute_end_ps"]
    beside_j = queue.until(end.astype(np.float64)) - queue.until(begin.astype(np.float64))
    joules = sum(_joules(executes, energy).values()) + beside_j
    seconds = (end - begin) / _PS
    dynamic = np.divide(joules, seconds, out=np.zeros(len(begin)), where=seconds > 0)
    return np.asarray(copies * dynamic + chips * energy["static_w"], dtype=np.float64)


def _joules(done: Mapping[str, Any], energy: Mapping[str, float]) -> dict[str, Any]:
    """Joules by what they go to, of numbers or of columns; what is not named was not done.

    SRAM is read and written by tile calls, read and written once for what cores exchange, and
    written or read once for what they exchange with the HBM.
    """
    exchanged, loaded = done.get("exchanged_bytes", 0), done.get("loaded_bytes", 0)
    sram = done.get("operand_bytes", 0) + 2 * exchanged + loaded
    picojoules = {
        "compute": energy["pj_per_flop"] * done.get("flops", 0.0),
        "sram": energy["pj_per_sram_byte"] * sram,
        "links": energy["pj_per_link_byte_hop"] * done.get("hop_bytes", 0),
        "hbm": energy["pj_per_hbm_byte"] * done.get("hbm_bytes", 0),
        "between chips": energy["pj_per_inter_chip_byte"] * done.get("between_bytes", 0),
    }
    return {name: pj / _PS for name, pj in picojoules.items()}
