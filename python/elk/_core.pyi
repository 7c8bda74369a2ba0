import enum

__version__: str

# --- chip ---

class Topology(enum.Enum):
    AllToAll = 0
    Mesh2d = 1
    Torus2d = 2
    Ring = 3

class HbmPosition(enum.Enum):
    Nodes = 0
    EdgesLeftRight = 1
    EdgesAll = 2

class Core:
    def __init__(
        self,
        *,
        count: int,
        rows: int,
        cols: int,
        sram_bytes: int,
        reserved_bytes: int,
        clock_hz: float,
        sram_bytes_per_s: float,
        remote_access_blocks: bool,
        tile_model: str,
    ) -> None: ...
    @property
    def count(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def cols(self) -> int: ...
    @property
    def sram_bytes(self) -> int: ...
    @property
    def reserved_bytes(self) -> int: ...
    @property
    def clock_hz(self) -> float: ...
    @property
    def sram_bytes_per_s(self) -> float: ...
    @property
    def remote_access_blocks(self) -> bool: ...
    @property
    def tile_model(self) -> str: ...

class Interconnect:
    def __init__(
        self,
        *,
        topology: Topology,
        link_bytes_per_s: float,
        hop_latency_s: float,
        sync_latency_s: float,
        fragment_latency_s: float,
        multicast: bool,
        overlaps_compute: bool,
        native_shift: bool,
    ) -> None: ...
    @property
    def topology(self) -> Topology: ...
    @property
    def link_bytes_per_s(self) -> float: ...
    @property
    def hop_latency_s(self) -> float: ...
    @property
    def sync_latency_s(self) -> float: ...
    @property
    def fragment_latency_s(self) -> float: ...
    @property
    def multicast(self) -> bool: ...
    @property
    def overlaps_compute(self) -> bool: ...
    @property
    def native_shift(self) -> bool: ...

class Hbm:
    def __init__(
        self,
        *,
        modules: int,
        bytes_per_s: float,
        port_bytes_per_s: float,
        latency_s: float,
        channels: int,
        refresh_interval_s: float,
        refresh_stall_s: float,
        outstanding_bytes: int,
        capacity_bytes: int,
        position: HbmPosition,
    ) -> None: ...
    @property
    def modules(self) -> int: ...
    @property
    def bytes_per_s(self) -> float: ...
    @property
    def port_bytes_per_s(self) -> float: ...
    @property
    def latency_s(self) -> float: ...
    @property
    def channels(self) -> int: ...
    @property
    def refresh_interval_s(self) -> float: ...
    @property
    def refresh_stall_s(self) -> float: ...
    @property
    def outstanding_bytes(self) -> int: ...
    @property
    def capacity_bytes(self) -> int: ...
    @property
    def position(self) -> HbmPosition: ...

class InterChip:
    def __init__(
        self,
        *,
        bytes_per_s: float,
        latency_s: float,
        sync_latency_s: float,
        port_cores: int,
        topology: Topology,
    ) -> None: ...
    @property
    def bytes_per_s(self) -> float: ...
    @property
    def latency_s(self) -> float: ...
    @property
    def sync_latency_s(self) -> float: ...
    @property
    def port_cores(self) -> int: ...
    @property
    def topology(self) -> Topology: ...

class Energy:
    def __init__(
        self,
        *,
        pj_per_flop: float,
        pj_per_sram_byte: float,
        pj_per_link_byte_hop: float,
        pj_per_hbm_byte: float,
        pj_per_inter_chip_byte: float,
        static_w: float,
    ) -> None: ...
    @property
    def pj_per_flop(self) -> float: ...
    @property
    def pj_per_sram_byte(self) -> float: ...
    @property
    def pj_per_link_byte_hop(self) -> float: ...
    @property
    def pj_per_hbm_byte(self) -> float: ...
    @property
    def pj_per_inter_chip_byte(self) -> float: ...
    @property
    def static_w(self) -> float: ...

class Chip:
    def __init__(
        self,
        *,
        name: str,
        chips: int,
        core: Core,
        interconnect: Interconnect,
        hbm: Hbm | None = None,
        inter_chip: InterChip | None = None,
        host_bytes_per_s: float,
        energy: Energy | None = None,
    ) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def chips(self) -> int: ...
    @property
    def core(self) -> Core: ...
    @property
    def interconnect(self) -> Interconnect: ...
    @property
    def hbm(self) -> Hbm | None: ...
    @property
    def inter_chip(self) -> InterChip | None: ...
    @property
    def host_bytes_per_s(self) -> float: ...
    @property
    def energy(self) -> Energy | None: ...

class Delivery:
    @property
    def hbm_bytes_per_s(self) -> float: ...
    @property
    def injection_bytes_per_s(self) -> float: ...
    @property
    def edge_cut_bytes_per_s(self) -> float: ...
    @property
    def receive_bytes_per_s(self) -> float: ...
    @property
    def bisection_bytes_per_s(self) -> float: ...
    @property
    def bytes_per_s(self) -> float: ...
    @property
    def bound_by(self) -> str: ...

def delivery(chip: Chip) -> Delivery: ...
def hbm_time(chip: Chip, bytes: float, idle: bool) -> float: ...
def total_cores(chip: Chip) -> int: ...
def room(chip: Chip) -> int: ...
