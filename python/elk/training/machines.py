"""What trains: cores of a chip, or GPUs of a cluster; presets and files of both."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Final

from elk import _core
from elk.chip import presets
from elk.chip.check import ChipError, complaints_about_bare_numbers, nearest
from elk.chip.chip import Chip
from elk.chip.documents import FileKind, read_document
from elk.chip.published import matrix_flops_per_s
from elk.errors import ChipFileError, InvalidInputError
from elk.tile.tilemodel import load_tile_model
from elk.training.cluster import SCHEMA, Cluster

_PRESETS: Final = Path(__file__).parents[1] / "data" / "clusters"
_CLUSTER_FILE: Final = FileKind(
    noun="cluster file", error=ChipFileError, begin=f'begin with schema = "{SCHEMA}"'
)


@dataclass(frozen=True, slots=True)
class Machine:
    """Devices that train.

    Attributes:
        name: What reports call it.
        chip: Its network and memory; of a cluster, nodes as chips.
        devices: How many there are.
        flops_per_s: Products of one device, at its peak.
        gpu: What kernels reach on a GPU; None where devices are cores.
    """

    name: str
    chip: Chip
    devices: int
    flops_per_s: float
    gpu: _core.Gpu | None

    def tiles(self) -> _core.TileModel | None:
        """The tile model of cores."""
        return None if self.gpu is not None else load_tile_model(self.chip.core.tile_model)


def names_of_clusters() -> list[str]:
    """The presets, in alphabetical order.

    Example:
        >>> elk.clusters.names()
        ['dgx-a100']
    """
    return sorted(path.stem for path in _PRESETS.glob("*.toml"))


def get_cluster(name: str) -> Cluster:
    """The preset `name`.

    Example:
        >>> elk.clusters.get("dgx-a100").gpu.units
        108

    Raises:
        InvalidInputError: There is no such preset; the message lists those that there are.
    """
    known = names_of_clusters()
    if name not in known:
        raise InvalidInputError(
            f"no cluster is called {name!r}; there are {', '.join(known)}",
            code="unknown_name",
            remedy=nearest(str(name), known),
        )
    return load_cluster(_PRESETS / f"{name}.toml")


def load_cluster(path: str | PathLike[str]) -> Cluster:
    """The cluster that a TOML, YAML or JSON file of schema "elk.cluster/1" describes.

    Every quantity in the file has a unit: `memory_bytes = "80 GB"`. The keys are those of
    `Cluster.to_dict`, and `[confidence]`, which lists the fields to be careful with.

    Raises:
        ChipFileError: The file cannot be read, or describes no possible cluster; the message names
            file, line and field.
    """
    document = read_document(Path(fspath(path)), _CLUSTER_FILE)
    tables = document.tables(SCHEMA)
    bare = list(complaints_about_bare_numbers(tables, Cluster))
    try:
        cluster = Cluster(**tables)
    except ChipError as error:
        raise document.error([*bare, *error.complaints]) from None
    if bare:
        raise document.error(bare)
    return cluster


def find_machine(machine: Chip | Cluster | str | PathLike[str]) -> Machine:
    """The devices of a chip, a cluster, the preset of either, or a file of either.

    Raises:
        InvalidInputError: it is none of these.
    """
    if isinstance(machine, str) and machine in names_of_clusters():
        machine = get_cluster(machine)
    elif isinstance(machine, str | PathLike) and _is_cluster_file(Path(fspath(machine))):
        machine = load_cluster(machine)
    if isinstance(machine, Cluster):
        return Machine(
            name=machine.name,
            chip=machine.to_chip(),
            devices=machine.devices,
            flops_per_s=machine.gpu.flops_per_s,
            gpu=_gpu(machine),
        )
    if isinstance(machine, str) and not Path(machine).suffix and machine not in presets.names():
        known = [*presets.names(), *names_of_clusters()]
        raise InvalidInputError(
            f"no chip or cluster is called {machine!r}; there are {', '.join(known)}",
            code="unknown_name",
            place="machine",
            remedy=nearest(machine, known),
        )
    chip = presets.find(machine)
    return Machine(
        name=chip.name,
        chip=chip,
        devices=chip.total_cores,
        flops_per_s=matrix_flops_per_s(chip) / chip.core.cores,
        gpu=None,
    )


def _is_cluster_file(path: Path) -> bool:
    """Whether a file says that it describes a cluster."""
    if not path.suffix or not path.is_file():
        return False
    return read_document(path, _CLUSTER_FILE).data.get("schema") == SCHEMA


def _gpu(cluster: Cluster) -> _core.Gpu:
    """What kernels reach on a device, as the core holds it."""
    gpu = cluster.gpu
    return _core.Gpu(
        peak_flops=gpu.flops_per_s,
        product_share=gpu.product_share,
        memory_rate=gpu.memory_bytes_per_s,
        memory_share=gpu.memory_share,
        launch_s=gpu.launch_s,
        units=gpu.units,
        tile_rows=gpu.tile[0],
        tile_columns=gpu.tile[1],
    )
