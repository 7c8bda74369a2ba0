"""Figure 12: what the cost model says of tiles, beside what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from elk.errors import InvalidInputError
from elk.figures.figure import Claim, Made, PaperFigure, Study, unknown

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_FILES: Final = {
    "matmul": ("matmul_f16_random", "matmul_f16_decode", "batch_matmul_f16"),
    "elementwise": ("elementwise_binary", "elementwise_unary_f16"),
    "reduce": ("reduce",),
    "softmax": ("softmax",),
    "norm": ("norm",),
    "gather": ("gather",),
}
_SHOWN: Final = 400  # points of a panel
_HERTZ: Final = 1.33e9


def _profiles() -> Path:
    """The folder of measured tiles, which comes with ELK's sources.

    Raises:
        InvalidInputError: this is an installation without them.
    """
    places = [Path(__file__).resolve().parents[3], Path.cwd()]
    found = [place / "data" / "ipu_mk2_profile" for place in places]
    for folder in found:
        if folder.is_dir():
            return folder
    raise InvalidInputError(
        f"the measured tiles are not there: {found[0]}",
        code="file",
        remedy="run it in a clone of ELK's repository, which has them in data/ipu_mk2_profile",
    )


def errors(study: Study) -> Made:
    """Figure 12."""
    import pandas as pd  # noqa: PLC0415 - optional, and slow to import

    from elk.tile.fit import predict  # noqa: PLC0415 - needs the core
    from elk.tile.profile import read_profile  # noqa: PLC0415 - few figures read tiles
    from elk.tile.tilemodel import load_tile_model  # noqa: PLC0415 - few figures read tiles

    folder, model = _profiles(), load_tile_model("ipu-mk2")
    parts = []
    for kind in study.few(_FILES):
        for name in _FILES[kind]:
            profile = read_profile(folder / f"{name}.csv")
            kept = profile.held_out()
            times: dict[str, Any] = {
                "measured_s": profile.cycles[kept] / _HERTZ,
                "predicted_s": predict(profile, model)[kept] / _HERTZ,
            }
            parts.append(pd.DataFrame({"kind": kind, "file": name, **times}))
    table = pd.concat(parts, ignore_index=True)

    def draw(figure: Figure) -> None:
        kinds = list(dict.fromkeys(table["kind"]))
        axes = figure.subplots(1, len(kinds), squeeze=False)[0]
        for ax, kind in zip(axes, kinds, strict=True):
            rows = table[table["kind"] == kind]
            rows = rows.iloc[:: max(1, len(rows) // _SHOWN)]
            ax.loglog(
                rows["measured_s"] * 1e6, rows["predicted_s"] * 1e6, ".", ms=3, color="#6a51a3"
            )
            ends = [rows["measured_s"].min() * 1e6, rows["measured_s"].max() * 1e6]
            ax.plot(ends, ends, "k-", lw=0.8, label="equal")
            ax.set(title=kind, xlabel="measured (µs)")
        axes[0].set_ylabel("predicted (µs)")
        axes[0].legend(fontsize="small")

    return Made(
        table=table,
        claims=lambda: _claims(table),
        draw=draw,
        note="Rows of `data/ipu_mk2_profile` that a fit to these files leaves out (a fifth), under "
        "tile model `ipu-mk2`; measured is the vendor's cycle estimators at 1.33 GHz.",
        size=(13.0, 2.8),
    )


def _claims(table: pd.DataFrame) -> list[Claim]:
    errors = 100 * (table["predicted_s"] / table["measured_s"] - 1).abs()
    claims = [
        unknown(
            f"error of a predicted execution, {kind}, mean %",
            "no number",
            "the paper draws points; ours is against the vendor's estimators, no device",
            f"{mean:.2g}",
        )
        for kind, mean in errors.groupby(table["kind"], sort=False).mean().items()
    ]
    return [
        *claims,
        unknown(
            "error of a predicted transfer between cores",
            "no number",
            "no device measured transfers; docs/simulator.md holds forecasts against the simulator",
        ),
    ]


FIGURES: Final = (
    PaperFigure(
        name="elk-12",
        title="Figure 12: accuracy of the cost model",
        shows="Predicted over measured time of tiles of several operators, and of transfers.",
        make=errors,
    ),
)
