"""PALM's figures: rings, contention, mappings of stages on a wafer, adapters between groups."""

from __future__ import annotations

import itertools
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from elk.figures.figure import Claim, Made, PaperFigure, Study, compared, holds
from elk.figures.palm import MEMORY_BINDS, PRESET, WAFER, on_wafer, table_of, wafers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.figure import Figure

_MB: Final = 1_000_000
_PERCENT: Final = 100
_TASKS: Final = ("all_reduce", "all_to_all", "read", "write", "all_reduce")
_MAPPINGS: Final = tuple(itertools.product(("s-shape", "line"), ("near", "far")))
_CORES: Final = 16  # of a die
_MEMORY: Final = "64 TB"  # of a die: more than any point needs
_ALONE: Final = 50.0  # percent that alone is less than together, at most
_RING: Final = 5.0  # percent
_TWICE: Final = 2.0
_LEAST: Final = "2"  # tp of least link time
_BECAUSE: Final = {
    "endless": "21 micro-batches share one exchange of gradients, which PALM's Equation 6 weighs "
    "as much as the activations of one, and computation binds",
    "3 MB a core": f"{MEMORY_BINDS}; stages on lines share memories with stages that wait",
}
_MESH: Final = (4, 8)  # tiles on which two groups exchange
_APART: Final = 4  # columns from one group to the other
_ACTIVATIONS: Final = 512 * 768 * 2  # bytes of BERT-base, 512 tokens: assumed
_ADAPTERS: Final = (1, 2, 3, 4, 6)
# Twelve tiles around a ring of rows 0 to 2 and columns 0 to 3, and one more.
_GROUP: Final = (0, 1, 2, 3, 11, 19, 18, 10, 9, 17, 16, 8, 24)


def _snake(count: int, columns: int = 4) -> list[int]:
    """The first cores of a mesh, row by row, every other row backwards."""
    rows = [range(row * columns, (row + 1) * columns) for row in range(-(-count // columns))]
    ordered = [core for i, row in enumerate(rows) for core in (row if i % 2 == 0 else row[::-1])]
    return ordered[:count]


def rings(study: Study) -> Made:
    """Figure 6."""
    from elk.chip import presets  # noqa: PLC0415 - `elk paper list` needs no chips
    from elk.training.collectives import play_collectives  # noqa: PLC0415 as above

    rate = presets.get(PRESET).interconnect.link_bytes_per_s
    rows = []
    for cores, size in itertools.product((4, 16), study.few((1, 4, 16, 64, 256))):
        (seconds,) = play_collectives(PRESET, [("all_reduce", _snake(cores), size * _MB)])
        closed = 2 * (cores - 1) * size * _MB / cores / rate
        error = seconds / closed - 1
        rows.append({"cores": cores, "bytes": size * _MB, "seconds": seconds, "error": error})
    table = table_of(rows)

    def draw(figure: Figure) -> None:
        ax = figure.subplots()
        for cores, own in table.groupby("cores"):
            ax.plot(own["bytes"] / _MB, own["seconds"] * 1e6, "o-", label=f"{cores} cores")
        ax.set(xlabel="MB", ylabel="all-reduce (µs)", xscale="log", yscale="log")
        ax.legend()

    worst = _PERCENT * table["error"].abs().max()
    return Made(
        table=table,
        claims=lambda: [
            holds("largest error, %", "within 5", f"{worst:.2g}", "", true=worst < _RING)
        ],
        draw=draw,
        note="Cores of a die of palm-wafer in a ring, against 2 (P - 1) S / (P B).",
        size=(5, 3.4),
    )


def contention(study: Study) -> Made:
    """Figure 7."""
    from elk.training.collectives import play_collectives  # noqa: PLC0415 - as above

    rows = []
    for size, count in itertools.product(study.few((1, 8, 64)), range(1, len(_TASKS) + 1)):
        tasks = [(kind, _snake(_CORES), size * _MB) for kind in _TASKS[:count]]
        alone = max(play_collectives(PRESET, [task])[0] for task in tasks)
        for links in ("shared", "exclusive"):
            together = max(play_collectives(PRESET, tasks, links=links))
            less = 1 - alone / together
            rows.append(
                {
                    "bytes": size * _MB,
                    "tasks": count,
                    "links": links,
                    "alone_s": alone,
                    "together_s": together,
                    "alone_less": less,
                }
            )
    table = table_of(rows)

    def draw(figure: Figure) -> None:
        ax = figure.subplots()
        for (links, size), own in table.groupby(["links", "bytes"]):
            label = f"{links}, {int(str(size)) // _MB} MB"
            ax.plot(own["tasks"], _PERCENT * own["alone_less"], "o-", label=label)
        ax.set_xticks(range(1, len(_TASKS) + 1))
        ax.set(xlabel="tasks at once", ylabel="analytic model is less by (%)")
        ax.legend(fontsize="small")

    def claims() -> list[Claim]:
        exclusive = table[table["links"] == "exclusive"]
        most = _PERCENT * exclusive["alone_less"].max()
        eight = exclusive[(exclusive["tasks"] == len(_TASKS)) & (exclusive["bytes"] == 8 * _MB)]
        because = "PALM does not say which links and memories its tasks share"
        return [
            holds(
                "alone is less by, % at most",
                "50",
                f"{most:.3g}",
                because,
                true=0.9 * _ALONE < most < 1.1 * _ALONE,
            ),
            compared(
                "alone is less by, %, five tasks of 8 MB",
                30,
                _PERCENT * eight["alone_less"].iloc[0],
                because,
            ),
        ]

    return Made(
        table=table,
        claims=claims,
        draw=draw,
        note="16 cores of a die of palm-wafer: an all-reduce, an all-to-all, reads, writes and an "
        "all-reduce once more, the first so many of them at once.",
        size=(5.5, 3.6),
    )


@cache
def _mapped(study: Study) -> pd.DataFrame:
    """Training on the wafer for each model, tp, layout and groups."""
    rows = []
    for (sram, wafer), name, tp in itertools.product(
        wafers().items(), study.few(WAFER), study.few((1, 2, 4, 8, 16))
    ):
        chip = wafer.replace(capacity_bytes=_MEMORY)
        for layout, groups in study.few(_MAPPINGS):
            mapping = {"layout": layout, "groups": groups}
            training = on_wafer(name, chip, tp=tp, micro=tp, zero=1, **mapping)
            run = training.simulate(fidelity="flows")
            links = run.links()
            between = links[links["kind"] == "link"]
            rows.append(
                {
                    "model": f"T-{name}",
                    "sram": sram,
                    "tp": tp,
                    **mapping,
                    "samples_per_s": run.samples_per_s,
                    "link_busy_s": between["busy_s"].mean(),
                    "link_use": between["used"].mean(),
                    "memory_share": run.split_ps[0]["memory"] / run.total_ps,
                }
            )
    return table_of(rows)


def mappings(study: Study) -> Made:
    """Figure 10."""
    table = _mapped(study)

    def draw(figure: Figure) -> None:
        panels = table.groupby(["sram", "model"], sort=False)
        for ax, (title, own) in zip(figure.subplots(2, 3).flat, panels, strict=False):
            for mapping, line in own.groupby(["layout", "groups"]):
                ax.plot(
                    line["tp"], line["samples_per_s"], "o-", label=f"{mapping[0]}, {mapping[1]}"
                )
            ax.set(title=f"{title[0]}, {title[1]}", xlabel="tp", ylabel="samples/s")
            ax.set_xscale("log", base=2)
        ax.legend(fontsize="small")

    return Made(
        table=table,
        claims=lambda: _mapping_claims(table),
        draw=draw,
        note="Preset palm-wafer, 20 stages of 16 cores, tp times dp is 16, micro-batches of tp "
        "samples, 336 samples a step, ZeRO 1, full recomputation; memory off the cores holds "
        "everything, as PALM does not ask. Links: those between cores. PALM's repository moves "
        "next to nothing to memory, for which SRAM without a limit stands.",
        size=(9, 6),
    )


def _mapping_claims(table: pd.DataFrame) -> list[Claim]:
    return [
        claim
        for sram, own in table.groupby("sram", sort=False)
        for claim in _claims_of(own, f"{sram} SRAM", because=_BECAUSE[str(sram)])
    ]


def _claims_of(table: pd.DataFrame, where: str, because: str) -> list[Claim]:
    best = table[(table["layout"] == "s-shape") & (table["groups"] == "near")]
    claims = []
    for name, palm in {"T-18B": 2, "T-76B": 2, "T-145B": 4}.items():
        own = best[best["model"] == name].set_index("tp")["samples_per_s"]
        fastest = f"{own.idxmax()}"
        what = f"{name}, {where}: fastest tp"
        claims.append(holds(what, str(palm), fastest, because, true=fastest == str(palm)))
    busy = best[best["model"] == "T-145B"].set_index("tp")["link_busy_s"]
    what = f"T-145B, {where}: tp of least link time"
    least = f"{busy.idxmin()}"
    claims.append(holds(what, _LEAST, least, because, true=least == _LEAST))
    by = table.groupby(["layout", "groups"])["samples_per_s"].sum()
    near = by["s-shape", "near"]
    for what, ratio in (
        ("s-shape over line", near / by["line", "near"]),
        ("near over far", near / by["s-shape", "far"]),
    ):
        claims.append(holds(f"{where}: {what}", "faster", f"{ratio:.4g}", because, true=ratio > 1))
    of_model = table.groupby("model")["samples_per_s"]
    spread = (of_model.max() / of_model.min()).max()
    what = f"{where}: best over worst"
    claims.append(holds(what, "2 at least", f"{spread:.3g}", because, true=spread >= _TWICE))
    return claims


def occupancy(study: Study) -> Made:
    """Figure 9."""
    made = mappings(study)
    all_models = made.table["model"]
    table = made.table[all_models == all_models.iloc[-1]].reset_index(drop=True)

    def draw(figure: Figure) -> None:
        panels = table.groupby("sram", sort=False)
        for axes, (sram, own) in zip(figure.subplots(2, 2), panels, strict=False):
            for ax, column, label in zip(
                axes, ("link_busy_s", "link_use"), ("busy (s)", "used"), strict=True
            ):
                for mapping, line in own.groupby(["layout", "groups"]):
                    ax.plot(line["tp"], line[column], "o-", label=f"{mapping[0]}, {mapping[1]}")
                ax.set(title=f"{sram} SRAM", xlabel="tp", ylabel=label)
                ax.set_xscale("log", base=2)
        ax.legend(fontsize="small")

    return Made(
        table=table,
        claims=lambda: [one for one in _mapping_claims(made.table) if "link time" in one.what],
        draw=draw,
        note=made.note,
        size=(8, 6),
    )


def adapters(study: Study) -> Made:
    """Figure 12."""
    from elk.chip import presets  # noqa: PLC0415 - `elk paper list` needs no chips

    mesh = presets.get(PRESET).replace(chips=1, grid=list(_MESH), hbm=None)
    rows = []
    for tiles, count in itertools.product((12, 13), study.few(_ADAPTERS)):
        source = list(_GROUP[:tiles])
        target = [core + _APART for core in source]
        first = _first_way(mesh, source, target[:12], count)
        second = _second_way(mesh, source, target[:12], count)
        rows.append({"tiles": tiles, "adapters": count, "first_s": first, "second_s": second})
    table = table_of(rows)

    def draw(figure: Figure) -> None:
        for ax, (tiles, own) in zip(figure.subplots(1, 2), table.groupby("tiles"), strict=True):
            for way in ("first", "second"):
                ax.plot(own["adapters"], own[f"{way}_s"] * 1e6, "o-", label=f"{way} way")
            ax.set(title=f"{tiles} tiles", xlabel="adapters", ylabel="µs")
        ax.legend()

    def claims() -> list[Claim]:
        best = {tiles: (own["second_s"] / own["first_s"]) for tiles, own in table.groupby("tiles")}
        because = "PALM states neither tokens nor where its tiles lie"
        return [
            compared("12 tiles: the first way is faster, times", 3.08, best[12].max(), because),
            compared("13 tiles: the second is faster, times", 1.23, (1 / best[13]).max(), because),
        ]

    return Made(
        table=table,
        claims=claims,
        draw=draw,
        note="Two groups on a mesh with links of palm-wafer, activations of BERT-base with 512 "
        "tokens. First: all-reduce in the source, to each adapter, broadcasts. Second: reduce onto "
        "as many as there are adapters, to these, all-reduce among them, broadcasts. Twelve tiles "
        "are a ring on the mesh; thirteen cannot be one.",
        size=(8, 3.4),
    )


def _groups(members: Sequence[int], count: int) -> list[list[int]]:
    """As many runs of equal length, of which the last may be longer."""
    length = len(members) // count
    begins = [i * length for i in range(count)] + [len(members)]
    return [list(members[a:b]) for a, b in itertools.pairwise(begins)]


def _slowest(mesh: Any, kind: str, groups: Sequence[Sequence[int]]) -> float:
    from elk.training.collectives import play_collectives  # noqa: PLC0415 - as above

    return max(play_collectives(mesh, [(kind, group, _ACTIVATIONS) for group in groups]))


def _sent(mesh: Any, pairs: Sequence[tuple[int, int]]) -> float:
    from elk.chip.transfers import play_transfers  # noqa: PLC0415 - as above

    return max(play_transfers(mesh, [(a, b, _ACTIVATIONS, 0.0) for a, b in pairs]))


def _first_way(mesh: Any, source: list[int], target: list[int], count: int) -> float:
    """Formula 7: seconds of an all-reduce, of hand-overs to adapters and of their broadcasts."""
    parts = _groups(target, count)
    senders = [group[0] for group in _groups(source, count)]
    pairs = [(a, group[0]) for a, group in zip(senders, parts, strict=True)]
    return (
        _slowest(mesh, "all_reduce", [source])
        + _sent(mesh, pairs)
        + _slowest(mesh, "broadcast", parts)
    )


def _second_way(mesh: Any, source: list[int], target: list[int], count: int) -> float:
    """Formula 8: reductions, hand-overs, an all-reduce among adapters and their broadcasts."""
    from_, to = _groups(source, count), _groups(target, count)
    pairs = [(a[0], b[0]) for a, b in zip(from_, to, strict=True)]
    return (
        _slowest(mesh, "reduce", from_)
        + _sent(mesh, pairs)
        + _slowest(mesh, "all_reduce", [[group[0] for group in to]])
        + _slowest(mesh, "broadcast", to)
    )


FIGURES: Final = (
    PaperFigure(
        name="palm-6",
        title="Figure 6: ring all-reduce",
        shows="The time of an all-reduce among 4 and 16 cores, against its closed form.",
        make=rings,
        page="palm",
    ),
    PaperFigure(
        name="palm-7",
        title="Figure 7: tasks at once",
        shows="By how much an analytic model, each task alone, is below tasks that meet.",
        make=contention,
        page="palm",
    ),
    PaperFigure(
        name="palm-9",
        title="Figure 9: links by tensor parallelism",
        shows="How long and how much links between cores are used, training T-145B.",
        make=occupancy,
        page="palm",
    ),
    PaperFigure(
        name="palm-10",
        title="Figure 10: parallelism and mapping",
        shows="Samples a second by tensor parallelism, for two layouts and two kinds of groups.",
        make=mappings,
        page="palm",
    ),
    PaperFigure(
        name="palm-12",
        title="Figure 12: from one group of tiles to another",
        shows="The time of two ways to sum activations and hand them over, by adapters.",
        make=adapters,
        page="palm",
    ),
)
