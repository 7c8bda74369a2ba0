"""`elk chip`: which chips there are, what they consist of, and what limits them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from elk.cli.output import print_json, print_table

if TYPE_CHECKING:
    from elk._core import Delivery
    from elk.chip import Chip

chip_app = typer.Typer(
    help="Show, check and compare chips: presets by name, chip files by path.",
    rich_markup_mode=None,
)

ChipName = Annotated[str, typer.Argument(metavar="NAME|FILE", help="A preset or a chip file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_LIMITS = {
    "hbm": "rate of its modules, their ports and what they keep in flight",
    "injection": "one link of each node that a module is attached to",
    "edge_cut": "links from those nodes on, for data that all cores share evenly",
    "receive": "receive ports of all cores",
}


@chip_app.command("list")
def list_command(*, json: AsJson = False) -> None:
    """List the presets."""
    from elk import chips  # noqa: PLC0415 help does not wait for pydantic

    found = [chips.get(name) for name in chips.names()]
    if json:
        print_json([{"name": chip.name, **chip.summary()} for chip in found])
    else:
        print_table([[chip.name, ", ".join(chip.summary().values())] for chip in found])


@chip_app.command("show")
def show_command(chip: ChipName, *, json: AsJson = False) -> None:
    """Show every field of a chip, defaults included."""
    machine = _find(chip)
    if json:
        print_json(machine.to_dict())
        return
    print_table([[key, text] for key, text in _leaves(machine).items()])


@chip_app.command("check")
def check_command(chip: ChipName, *, json: AsJson = False) -> None:
    """Check a chip, and say what limits the data that its HBM delivers.

    A chip that breaks a rule is an error that names file, line and field.
    """
    machine = _find(chip)
    delivery = machine.delivery() if machine.hbm else None
    if json:
        limits = _limits(machine, delivery) if delivery else None
        print_json({"name": machine.name, "valid": True, "delivery": limits})
        return
    typer.echo(f"{machine!r} is valid")
    if delivery:
        _print_delivery(machine, delivery)


@chip_app.command("diff")
def diff_command(chip: ChipName, other: ChipName, *, json: AsJson = False) -> None:
    """List the fields in which two chips differ; exit code 1 if there are any."""
    one, two = _find(chip), _find(other)
    if json:
        first, second = _flat(one.to_dict()), _flat(two.to_dict())
        print_json(
            {
                "differences": {
                    key: [first.get(key), second.get(key)]
                    for key in {**first, **second}
                    if first.get(key) != second.get(key)
                }
            }
        )
    else:
        shown, other_shown = _leaves(one), _leaves(two)
        keys = [k for k in {**shown, **other_shown} if shown.get(k) != other_shown.get(k)]
        rows = [[key, shown.get(key, "-"), other_shown.get(key, "-")] for key in keys]
        print_table([["", one.name, two.name], *rows] if rows else [["no field differs"]])
    if one != two:
        raise typer.Exit(1)


def _find(chip: str) -> Chip:
    from elk import chips  # noqa: PLC0415 help does not wait for pydantic

    return chips.find(chip)


def _flat(tables: dict[str, Any]) -> dict[str, Any]:
    """The leaves of nested tables by their dotted names."""
    leaves: dict[str, Any] = {}
    for key, value in tables.items():
        inner = _flat(value) if isinstance(value, dict) else {}
        leaves |= {f"{key}.{name}": leaf for name, leaf in inner.items()} or {key: value}
    return leaves


def _leaves(chip: Chip) -> dict[str, str]:
    """Every field by its dotted name, as people read it."""
    from elk import quantity  # noqa: PLC0415 help does not wait for it
    from elk.chip_check import unit_of  # noqa: PLC0415 help does not wait for pydantic

    shown = {}
    for key, value in _flat(chip.to_dict()).items():
        unit = unit_of(type(chip), tuple(key.split(".")))
        if unit:
            shown[key] = quantity.show_exactly(value, unit)
        elif isinstance(value, bool):
            shown[key] = "true" if value else "false"
        else:
            shown[key] = " x ".join(map(str, value)) if isinstance(value, list) else str(value)
    return shown


def _limits(chip: Chip, delivery: Delivery) -> dict[str, float | str]:
    return {
        "hbm_bytes_per_s": delivery.hbm_bytes_per_s,
        "injection_bytes_per_s": delivery.injection_bytes_per_s,
        "edge_cut_bytes_per_s": delivery.edge_cut_bytes_per_s,
        "receive_bytes_per_s": delivery.receive_bytes_per_s,
        "bisection_bytes_per_s": delivery.bisection_bytes_per_s,
        "bytes_per_s": delivery.bytes_per_s,
        "total_bytes_per_s": delivery.bytes_per_s * chip.chips,
        "bound_by": delivery.bound_by,
    }


def _print_delivery(chip: Chip, delivery: Delivery) -> None:
    from elk.quantity import BYTES_PER_S, show  # noqa: PLC0415 help does not wait for it

    def rate(bytes_per_s: float) -> str:
        return "no limit" if bytes_per_s == float("inf") else show(bytes_per_s, BYTES_PER_S)

    limits = _limits(chip, delivery)
    rows = [
        [name.replace("_", " "), rate(float(limits[f"{name}_bytes_per_s"])), meaning]
        for name, meaning in _LIMITS.items()
    ]
    bisection = "each way between two halves of the cores, for data that both need"
    typer.echo("into one chip:")
    print_table(
        [*rows, ["bisection", rate(delivery.bisection_bytes_per_s), bisection]], indent="  "
    )
    total = show(delivery.bytes_per_s * chip.chips, BYTES_PER_S)
    bound = delivery.bound_by.replace("_", " ")
    at_edges = chip.hbm is not None and chip.hbm.position != "nodes" and bound != "hbm"
    where = "at its edges, " if at_edges else ""
    several = f" ({total} in all)" if chip.chips > 1 else ""
    typer.echo(
        f"bound {where}by {bound}: preloads bring {rate(delivery.bytes_per_s)} into a chip{several}"
    )
