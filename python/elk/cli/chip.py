"""`elk chip`: which chips there are, what they consist of, and what limits them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from elk.cli.output import print_json, print_table
from elk.cli.reading import AsJson

if TYPE_CHECKING:
    from elk.chip.chip import Chip

chip_app = typer.Typer(
    help="Show, check and compare chips: presets by name, chip files by path.",
    rich_markup_mode=None,
)

ChipName = Annotated[str, typer.Argument(metavar="NAME|FILE", help="A preset or a chip file.")]
AsToml = Annotated[
    bool, typer.Option("--toml", help="Print a chip file; of a preset its own, with sources.")
]
AsYaml = Annotated[bool, typer.Option("--yaml", help="Print a chip file in YAML.")]

_MARKS = {"known": "", "low": "low confidence", "assumed": "assumed"}


@chip_app.command("list")
def list_command(*, json: AsJson = False) -> None:
    """List the presets."""
    from elk.chip import presets  # noqa: PLC0415 help does not wait for pydantic

    found = [presets.get(name) for name in presets.names()]
    if json:
        print_json([{"name": chip.name, **chip.summary()} for chip in found])
    else:
        print_table([[chip.name, ", ".join(chip.summary().values())] for chip in found])


@chip_app.command("show")
def show_command(
    chip: ChipName, *, json: AsJson = False, toml: AsToml = False, yaml: AsYaml = False
) -> None:
    """Show every field of a chip, defaults included, and which of them are assumed."""
    from elk.errors import InvalidInputError  # noqa: PLC0415 help does not wait for it

    if json + toml + yaml > 1:
        raise InvalidInputError(
            "--json, --toml and --yaml exclude one another", code="usage", remedy="give one of them"
        )
    machine = _find(chip)
    if toml or yaml:
        typer.echo(_file_text(chip, machine, yaml=yaml), nl=False)
        return
    marks = machine.confidence
    if json:
        beside = {"published": machine.published, "confidence": marks}
        print_json(
            machine.to_dict()
            | ({"streaming": machine.streaming} if machine.streaming else {})
            | {key: table.model_dump(mode="json") for key, table in beside.items() if table}
        )
        return
    print_table(
        [
            [key, text, _MARKS[marks.level(key)] if marks else ""]
            for key, text in _leaves(machine).items()
        ]
    )


@chip_app.command("check")
def check_command(chip: ChipName, *, json: AsJson = False) -> None:
    """Check a chip and its tile model, and say what limits the data that its HBM delivers.

    A chip that breaks a rule is an error that names file, line and field.
    """
    from elk.cli.chip_report import as_json, print_report  # noqa: PLC0415 as above

    machine = _find(chip)
    if json:
        print_json(as_json(machine))
    else:
        print_report(machine)


@chip_app.command("diff")
def diff_command(chip: ChipName, other: ChipName, *, json: AsJson = False) -> None:
    """List the fields in which two chips differ; exit code 1 if there are any.

    Of two numbers it gives the ratio too: the second over the first.
    """
    from elk.chip.confidence import flat  # noqa: PLC0415 help does not wait for pydantic

    one, two = _find(chip), _find(other)
    first, second = flat(one.to_dict()), flat(two.to_dict())
    tables = list(type(one).model_fields)
    keys = [key for key in {**first, **second} if first.get(key) != second.get(key)]
    keys.sort(key=lambda key: tables.index(key.split(".")[0]))
    ratios = {key: _ratio(first.get(key), second.get(key)) for key in keys}
    if json:
        print_json(
            {
                "differences": {key: [first.get(key), second.get(key)] for key in keys},
                "ratios": {key: ratio for key, ratio in ratios.items() if ratio is not None},
            }
        )
    else:
        shown, other_shown = _leaves(one), _leaves(two)
        rows = [
            [key, shown.get(key, "-"), other_shown.get(key, "-"), _times(ratios[key])]
            for key in keys
        ]
        print_table([["", one.name, two.name, "ratio"], *rows] if rows else [["no field differs"]])
    if one != two:
        raise typer.Exit(1)


def _find(chip: str) -> Chip:
    from elk.chip import presets  # noqa: PLC0415 help does not wait for pydantic

    return presets.find(chip)


def _file_text(name: str, chip: Chip, *, yaml: bool) -> str:
    """The chip file of a preset as it ships, or one that says the same as `chip`."""
    from elk.chip import presets  # noqa: PLC0415 help does not wait for pydantic
    from elk.chip.chip import tables_of  # noqa: PLC0415 as above
    from elk.chip.write import as_toml, as_yaml  # noqa: PLC0415 as above

    if yaml:
        return as_yaml(tables_of(chip))
    if name in presets.names():
        return presets.preset_file(name).read_text(encoding="utf-8")
    return as_toml(tables_of(chip))


def _ratio(first: Any, second: Any) -> float | None:
    """The second number over the first; None where one is no number, or the first is zero."""
    numbers = [v for v in (first, second) if isinstance(v, int | float) and not isinstance(v, bool)]
    return numbers[1] / numbers[0] if len(numbers) == 2 and numbers[0] else None  # noqa: PLR2004


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.4g}"


def _leaves(chip: Chip) -> dict[str, str]:
    """Every field by its dotted name, as people read it."""
    from elk.base import quantity  # noqa: PLC0415 help does not wait for it
    from elk.chip.check import unit_of  # noqa: PLC0415 help does not wait for pydantic
    from elk.chip.confidence import flat  # noqa: PLC0415 as above

    shown = {}
    for key, value in flat(chip.to_dict()).items():
        unit = unit_of(type(chip), tuple(key.split(".")))
        if unit:
            shown[key] = quantity.show_exactly(value, unit)
        elif isinstance(value, bool):
            shown[key] = "true" if value else "false"
        else:
            shown[key] = " x ".join(map(str, value)) if isinstance(value, list) else str(value)
    return shown
