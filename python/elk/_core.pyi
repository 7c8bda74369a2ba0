import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, TypeVar, type_check_only

import numpy as np
from numpy.typing import NDArray

__version__: str

_Result = TypeVar("_Result")

# What every class of pybind11 is an instance, and a child, of.
@type_check_only
class _Metaclass(type): ...

@type_check_only
class _Struct(metaclass=_Metaclass):
    def __init__(self, *args: object, **kwargs: object) -> None: ...

@type_check_only
class _Pickled(_Struct):
    def __getstate__(self) -> tuple[Any, ...]: ...
    def __setstate__(self, state: tuple[Any, ...], /) -> None: ...

# --- chip ---

class Topology(enum.Enum):
    AllToAll = 0
    Mesh2d = 1
    Torus2d = 2
    Ring = 3
    Mesh3d = 4
    Groups = 5

class HbmPosition(enum.Enum):
    Nodes = 0
    EdgesLeftRight = 1
    EdgesAll = 2

class Core(_Struct):
    def __init__(
        self,
        *,
        count: int,
        rows: int,
        cols: int,
        depth: int,
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
    def depth(self) -> int: ...
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

class Interconnect(_Struct):
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
        node_ports: int | None = None,
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
    @property
    def node_ports(self) -> int | None: ...

class Hbm(_Struct):
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

class InterChip(_Struct):
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

class Energy(_Struct):
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

class Chip(_Struct):
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

class Delivery(_Struct):
    @property
    def hbm_bytes_per_s(self) -> float: ...
    @property
    def injection_bytes_per_s(self) -> float: ...
    @property
    def edge_cut_bytes_per_s(self) -> float: ...
    @property
    def crossing_bytes_per_s(self) -> float: ...
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
def one_of(pod: Chip) -> Chip: ...
def routed(chip: Chip) -> bool: ...
def total_cores(chip: Chip) -> int: ...
def room(chip: Chip) -> int: ...

# --- ir ---

class DType(enum.Enum):
    f64 = 0
    f32 = 1
    f16 = 2
    bf16 = 3
    f8 = 4
    i64 = 5
    i32 = 6
    i16 = 7
    i8 = 8
    i4 = 9
    u64 = 10
    u32 = 11
    u16 = 12
    u8 = 13
    u4 = 14
    bool = 15

class Home(enum.Enum):
    Weight = 0
    State = 1
    Input = 2
    Output = 3
    Activation = 4
    Spilled = 5

class Access(enum.Enum):
    Read = 0
    Write = 1

class AxisRole(enum.Enum):
    Parallel = 0
    Reduction = 1
    Row = 2

class TileDim(enum.Enum):
    None_ = 0
    Group = 1
    M = 2
    N = 3
    K = 4
    Batch = 5
    OutH = 6
    OutW = 7
    InCh = 8
    OutCh = 9
    KernelH = 10
    KernelW = 11
    Rows = 12
    Cols = 13
    Elements = 14
    Slices = 15
    SliceElements = 16

class OpKind(enum.Enum):
    MatMul = 0
    Conv = 1
    DepthwiseConv = 2
    Pool = 3
    Elementwise = 4
    Reduce = 5
    Softmax = 6
    Norm = 7
    Gather = 8
    Copy = 9
    Opaque = 10
    AllReduce = 11
    AllGather = 12
    ReduceScatter = 13
    AllToAll = 14

class Axis(_Pickled):
    def __init__(
        self,
        *,
        name: str,
        size: int,
        role: AxisRole,
        tile_dim: TileDim,
    ) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def role(self) -> AxisRole: ...
    @property
    def tile_dim(self) -> TileDim: ...

class Dim(_Pickled):
    def __init__(
        self,
        *,
        axes: Sequence[int],
        coef: Sequence[int],
        offset: int,
    ) -> None: ...
    @property
    def axes(self) -> list[int]: ...
    @property
    def coef(self) -> list[int]: ...
    @property
    def offset(self) -> int: ...

class Indirect(_Pickled):
    def __init__(
        self,
        *,
        index: int,
        dim: int,
        axes: Sequence[int],
        expected_picks: float,
    ) -> None: ...
    @property
    def index(self) -> int: ...
    @property
    def dim(self) -> int: ...
    @property
    def axes(self) -> list[int]: ...
    @property
    def expected_picks(self) -> float: ...

class Operand(_Pickled):
    def __init__(
        self,
        *,
        tensor: int,
        access: Access,
        dims: Sequence[Dim],
        indirect: Indirect | None = None,
        input: int = -1,
        covers: bool = False,
    ) -> None: ...
    @property
    def tensor(self) -> int: ...
    @property
    def access(self) -> Access: ...
    @property
    def dims(self) -> tuple[Dim, ...]: ...
    @property
    def indirect(self) -> Indirect | None: ...
    @property
    def input(self) -> int: ...
    @property
    def covers(self) -> bool: ...

class Tensor(_Pickled):
    def __init__(
        self,
        *,
        name: str,
        dtype: DType,
        shape: Sequence[int],
        home: Home,
    ) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> DType: ...
    @property
    def shape(self) -> list[int]: ...
    @property
    def home(self) -> Home: ...
    @property
    def bytes(self) -> int: ...

class Op(_Pickled):
    def __init__(
        self,
        *,
        name: str,
        kind: OpKind,
        onnx_type: str,
        function: str,
        params: Sequence[int],
        compute: DType,
        accumulate: DType,
        axes: Sequence[Axis],
        operands: Sequence[Operand],
        flops: int,
        scalars: Sequence[float],
        constants: Sequence[int],
    ) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> OpKind: ...
    @property
    def onnx_type(self) -> str: ...
    @property
    def function(self) -> str: ...
    @property
    def params(self) -> list[int]: ...
    @property
    def compute(self) -> DType: ...
    @property
    def accumulate(self) -> DType: ...
    @property
    def axes(self) -> tuple[Axis, ...]: ...
    @property
    def operands(self) -> tuple[Operand, ...]: ...
    @property
    def flops(self) -> int: ...
    @property
    def scalars(self) -> list[float]: ...
    @property
    def constants(self) -> list[int]: ...

class GraphStore(_Struct):
    @property
    def tensor(self) -> int: ...
    @property
    def op(self) -> int: ...
    @property
    def run_bytes(self) -> int: ...
    @property
    def into(self) -> int: ...
    @property
    def begin(self) -> list[int]: ...

class Repeat(_Struct):
    @property
    def begin(self) -> int: ...
    @property
    def period(self) -> int: ...
    @property
    def count(self) -> int: ...

class Graph(_Pickled):
    def __init__(
        self,
        *,
        name: str,
        tensors: Sequence[Tensor],
        patterns: Sequence[Op],
        ops: Sequence[tuple[str, int, Sequence[int]]],
        stores: Sequence[tuple[int, int, int, int, Sequence[int]]],
        outputs: Sequence[int],
    ) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def tensors(self) -> Sequence[Tensor]: ...
    @property
    def ops(self) -> Sequence[Op]: ...
    @property
    def stores(self) -> tuple[GraphStore, ...]: ...
    @property
    def repeat(self) -> Repeat | None: ...
    @property
    def outputs(self) -> list[int]: ...

# --- program ---

class Opcode(enum.IntEnum):
    Preload = 0
    Store = 1
    Execute = 2

class Role(enum.IntEnum):
    Preload = 0
    Execute = 1
    Activation = 2
    Store = 3
    Resident = 4

class ExecutePlan(_Struct):
    def __init__(
        self,
        *,
        factors: Sequence[int],
        temporal: Sequence[Sequence[int]],
        pace: Sequence[int],
        order: Sequence[int],
        loops: Sequence[int],
        mesh_dims: Sequence[int],
    ) -> None: ...
    @property
    def factors(self) -> list[int]: ...
    @property
    def temporal(self) -> list[list[int]]: ...
    @property
    def pace(self) -> list[int]: ...
    @property
    def order(self) -> list[int]: ...
    @property
    def loops(self) -> list[int]: ...
    @property
    def mesh_dims(self) -> list[int]: ...

class OpPlan(_Struct):
    def __init__(
        self, *, execute: ExecutePlan, divisor: Sequence[int], tree: bool, ring: bool
    ) -> None: ...
    @property
    def execute(self) -> ExecutePlan: ...
    @property
    def divisor(self) -> list[int]: ...
    @property
    def tree(self) -> bool: ...
    @property
    def ring(self) -> bool: ...

class Instruction(_Struct):
    def __init__(self, opcode: Opcode, subject: int) -> None: ...
    @property
    def opcode(self) -> Opcode: ...
    @property
    def subject(self) -> int: ...

class Buffer(_Struct):
    def __init__(
        self,
        *,
        op: int,
        tensor: int,
        role: Role,
        offset_bytes: int,
        bytes: int,
        span: tuple[int, int],
    ) -> None: ...

class Program(_Struct):
    def __init__(
        self, *, ops: Sequence[OpPlan], code: Sequence[Instruction], buffers: Sequence[Buffer]
    ) -> None: ...

def check_program(graph: Graph, chip: Chip, program: Program) -> list[str]: ...
def check_unplaced(graph: Graph, chip: Chip, program: Program) -> list[str]: ...

# --- compile ---

class Policy(_Struct):
    @property
    def name(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def colour(self) -> str: ...
    @property
    def counts_energy(self) -> bool: ...
    @property
    def forecasts(self) -> bool: ...
    def proposes(self, chip: Chip) -> bool: ...
    @property
    def starts(self) -> str: ...

def policies() -> list[Policy]: ...

class Watch(_Struct):
    def __init__(self) -> None: ...
    def stop(self) -> None: ...
    def abandon(self) -> None: ...
    def run(self, work: Callable[[], _Result]) -> _Result: ...
    @property
    def stopped(self) -> bool: ...
    @property
    def done(self) -> int: ...
    @property
    def all(self) -> int: ...

class Objective(enum.IntEnum):
    Latency = 0
    Energy = 1
    Edp = 2

class Aimed(_Struct):
    @property
    def objective(self) -> Objective: ...
    @property
    def joules(self) -> float: ...
    @property
    def shortest_ps(self) -> int: ...
    @property
    def shortest_joules(self) -> float: ...

class Kept(_Struct):
    def __init__(self) -> None: ...
    @property
    def reuse(self) -> dict[str, tuple[int, int]]: ...

class Effort(enum.IntEnum):
    Fast = 0
    Default = 1
    Max = 2

class Pod(enum.IntEnum):
    Sharded = 0
    Pooled = 1

class NamedPlan(_Struct):
    def __init__(
        self,
        *,
        factors: Mapping[str, int],
        temporal: Mapping[str, Sequence[int]],
        pace: Sequence[tuple[str, int]] | None = None,
        order: Sequence[str] | None = None,
        mesh_dims: Mapping[str, int] | None = None,
    ) -> None: ...

class GivenPlans(_Struct):
    def __init__(self, *, op: str, plans: Sequence[NamedPlan]) -> None: ...
    @property
    def op(self) -> str: ...

class Options(_Struct):
    def __init__(
        self,
        *,
        policy: Policy,
        effort: Effort,
        objective: Objective = ...,
        pod: Pod,
        threads: int,
        min_core_share: float,
        max_padding: float,
    ) -> None: ...
    @property
    def waves(self) -> bool: ...
    @waves.setter
    def waves(self, arg: bool, /) -> None: ...
    @property
    def plans(self) -> list[GivenPlans]: ...
    @plans.setter
    def plans(self, arg: Sequence[GivenPlans], /) -> None: ...

class Footprint(_Struct):
    @property
    def operand_bytes(self) -> list[int]: ...
    @property
    def tensor_bytes(self) -> list[int]: ...
    @property
    def tensors(self) -> list[int]: ...
    @property
    def rest_bytes(self) -> int: ...
    @property
    def space_bytes(self) -> int: ...

class Exchange(_Struct):
    @property
    def time_s(self) -> float: ...
    @property
    def bytes(self) -> int: ...
    @property
    def wire_s(self) -> float: ...

class PreloadState(_Struct):
    @property
    def divisor(self) -> list[int]: ...
    @property
    def space_bytes(self) -> int: ...
    @property
    def link_bytes(self) -> int: ...
    @property
    def hbm_bytes(self) -> int: ...
    @property
    def hbm_time_s(self) -> float: ...
    @property
    def time_s(self) -> float: ...
    @property
    def distribute(self) -> Exchange: ...

class PlanOption(_Struct):
    @property
    def plan(self) -> ExecutePlan: ...
    @property
    def footprint(self) -> Footprint: ...
    @property
    def cores(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def compute_s(self) -> float: ...
    @property
    def gather(self) -> Exchange: ...
    @property
    def shift(self) -> Exchange: ...
    @property
    def reduce(self) -> Exchange: ...
    @property
    def time_s(self) -> float: ...
    @property
    def exchange_bytes(self) -> int: ...
    @property
    def tree(self) -> bool: ...
    @property
    def padded_flops(self) -> float: ...
    @property
    def extrapolated(self) -> float: ...
    @property
    def hbm_bytes(self) -> int: ...
    @property
    def states(self) -> list[PreloadState]: ...
    @property
    def ring(self) -> bool: ...
    @property
    def crossing_bytes(self) -> int: ...

class Counts(_Struct):
    @property
    def complete(self) -> int: ...
    @property
    def filtered(self) -> int: ...
    @property
    def pareto(self) -> int: ...

class Front(_Struct):
    def keep(self, options: Sequence[int]) -> Front: ...
    @property
    def options(self) -> list[PlanOption]: ...
    @property
    def counts(self) -> Counts: ...
    @property
    def fastest(self) -> int: ...
    @property
    def smallest_bytes(self) -> int: ...
    @property
    def given(self) -> bool: ...

class PlannedOp(_Struct):
    @property
    def option(self) -> PlanOption: ...
    @property
    def state(self) -> PreloadState: ...
    @property
    def has_preload(self) -> bool: ...
    @property
    def front(self) -> int: ...
    @property
    def choice(self) -> int: ...
    @property
    def rounds(self) -> tuple[int, int]: ...

class Search(_Struct):
    @property
    def complete(self) -> int: ...
    @property
    def filtered(self) -> int: ...
    @property
    def pareto(self) -> int: ...
    @property
    def orders(self) -> OrderSearch: ...
    @property
    def explored(self) -> list[tuple[int, int, float]]: ...

class OrderSearch(_Struct):
    @property
    def heavy_fit(self) -> int: ...
    @property
    def heavy(self) -> int: ...
    @property
    def plans(self) -> int: ...
    @property
    def fit(self) -> int: ...
    @property
    def ops(self) -> int: ...
    @property
    def generated(self) -> int: ...
    @property
    def pruned(self) -> int: ...
    @property
    def scheduled(self) -> int: ...
    @property
    def complete(self) -> bool: ...
    @property
    def edit_distance(self) -> float: ...

class Bounds(_Struct):
    @property
    def ideal_s(self) -> float: ...
    @property
    def lower_bound_s(self) -> float: ...
    @property
    def hbm_s(self) -> float: ...
    @property
    def execute_s(self) -> float: ...
    @property
    def link_s(self) -> float: ...

class Plan(_Struct):
    @property
    def policy(self) -> str: ...
    @property
    def origin(self) -> str: ...
    @property
    def pod(self) -> Pod: ...
    @property
    def shard(self) -> OneChip | None: ...
    @property
    def parts(self) -> list[tuple[str, list[int]]]: ...
    @property
    def ops(self) -> list[PlannedOp]: ...
    @property
    def fronts(self) -> list[Front]: ...
    @property
    def front_of(self) -> list[int]: ...
    @property
    def program(self) -> Program: ...
    @property
    def preload_order(self) -> list[int]: ...
    @property
    def code(self) -> dict[str, NDArray[np.int32]]: ...
    @property
    def buffers(self) -> dict[str, NDArray[np.int64]]: ...
    @property
    def predicted(self) -> dict[str, NDArray[np.int64]]: ...
    @property
    def total_ps(self) -> int: ...
    @property
    def raw_ps(self) -> int: ...
    @property
    def bounds(self) -> Bounds: ...
    @property
    def simulated_s(self) -> float | None: ...
    @property
    def run(self) -> Run | None: ...
    @property
    def search(self) -> Search: ...
    @property
    def aimed(self) -> Aimed | None: ...

class Figures(_Struct):
    @property
    def cores(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def space_bytes(self) -> list[int]: ...
    @property
    def preload_space_bytes(self) -> int: ...
    @property
    def hbm_bytes(self) -> int: ...
    @property
    def exchange_bytes(self) -> int: ...
    @property
    def distribute_bytes(self) -> int: ...
    @property
    def sent_bytes(self) -> int: ...

def in_rounds(graph: Graph, rounds: Sequence[tuple[int, int]]) -> Graph: ...
def figures(graph: Graph, chip: Chip, program: Program) -> list[Figures]: ...
def figures_unmoved(graph: Graph, chip: Chip, program: Program) -> list[Figures]: ...
def compile(
    graph: Graph,
    chip: Chip,
    tiles: TileModel,
    options: Options,
    watch: Watch | None = None,
    kept: Kept | None = None,
) -> Plan: ...

# --- schedule ---

class Choice(_Struct):
    @property
    def option(self) -> int: ...
    @property
    def state(self) -> int: ...

class Found(_Struct):
    @property
    def choices(self) -> list[Choice]: ...
    @property
    def preload_order(self) -> list[int]: ...
    @property
    def issued_before(self) -> list[int]: ...
    @property
    def total_s(self) -> float: ...

class Problem(_Struct):
    def __init__(
        self,
        graph: Graph,
        chip: Chip,
        tiles: TileModel,
        fronts: Sequence[Front],
        front_of: Sequence[int],
    ) -> None: ...
    @property
    def fronts(self) -> list[Front]: ...
    @property
    def front_of(self) -> list[int]: ...
    @property
    def loaded(self) -> list[int]: ...
    @property
    def readers(self) -> list[list[int]]: ...
    @property
    def room_bytes(self) -> int: ...
    def situation(
        self, choices: Sequence[tuple[int, int]]
    ) -> dict[str, NDArray[np.float64 | np.int64]]: ...
    def search(self, policy: Policy, threads: int) -> Found: ...

# --- sim ---

class Fidelity(enum.IntEnum):
    Core = 0
    Symmetric = 1
    Flows = 2

class LinkKind(enum.IntEnum):
    Link = 0
    Send = 1
    Receive = 2
    PortIn = 3
    PortOut = 4
    FromHbm = 5
    ToHbm = 6
    ChipOut = 7
    ChipIn = 8

class PhaseKind(enum.IntEnum):
    Distribute = 0
    Gather = 1
    Compute = 2
    Shift = 3
    Reduce = 4

class RunTotals(_Struct):
    @property
    def hbm_bytes(self) -> int: ...
    @property
    def received_bytes(self) -> int: ...
    @property
    def hop_bytes(self) -> int: ...
    @property
    def between_bytes(self) -> int: ...
    @property
    def loaded_bytes(self) -> int: ...
    @property
    def operand_bytes(self) -> int: ...
    @property
    def flops(self) -> float: ...
    @property
    def matrix_s(self) -> float: ...
    @property
    def vector_s(self) -> float: ...

class Run(_Struct):
    @property
    def fidelity(self) -> Fidelity: ...
    @property
    def total_ps(self) -> int: ...
    @property
    def split_ps(self) -> dict[str, int]: ...
    @property
    def ops(self) -> dict[str, NDArray[np.int64]]: ...
    @property
    def work(self) -> dict[str, NDArray[Any]]: ...
    @property
    def stores(self) -> dict[str, NDArray[np.int64]]: ...
    @property
    def transfers(self) -> dict[str, NDArray[Any]]: ...
    @property
    def phases(self) -> dict[str, NDArray[Any]]: ...
    @property
    def cores(self) -> list[list[int]]: ...
    @property
    def links(self) -> dict[str, NDArray[np.int64]]: ...
    @property
    def totals(self) -> RunTotals: ...

def fidelity(pod: Chip) -> Fidelity: ...
def simulate(
    graph: Graph,
    chip: Chip,
    program: Program,
    tiles: TileModel,
    fidelity: Fidelity,
    kept: Kept | None = None,
) -> Run: ...

# --- record ---

class Recording(_Struct):
    @staticmethod
    def of_columns(columns: dict[str, NDArray[Any]]) -> Recording: ...
    def at_speeds(self, speeds: Sequence[float]) -> Recording: ...
    def columns(self) -> dict[str, NDArray[Any]]: ...
    def play(self) -> Run: ...
    def units(self, begin_ps: float, end_ps: float, bins: int) -> dict[Any, Any]: ...
    def window(self, begin: int, end: int) -> Recording: ...

def record(
    graph: Graph,
    chip: Chip,
    program: Program,
    tiles: TileModel,
    fidelity: Fidelity,
    kept: Kept | None = None,
) -> Recording: ...

# --- analyze ---

class AccessList(_Struct):
    def __init__(
        self,
        issues: NDArray[Any],
        light: NDArray[Any],
        awaited: NDArray[Any],
        accesses: NDArray[Any],
        sizes: Sequence[int],
    ) -> None: ...
    def columns(self) -> dict[str, NDArray[Any]]: ...
    def dependences(self) -> dict[str, NDArray[np.int64]]: ...
    def memory_states(self, memory: int) -> dict[str, NDArray[np.int64]]: ...
    def blocks(self, memory: int, count: int, at: Sequence[int]) -> NDArray[np.int64]: ...

def program_accesses(
    graph: Graph, room_bytes: int, program: Program
) -> tuple[AccessList, list[int]]: ...
def play_machine(
    rates: Sequence[int],
    latency_ps: int,
    action: NDArray[np.int64],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    moved: NDArray[np.int64],
) -> dict[str, NDArray[np.int64]]: ...

# --- tasks ---

class Links(enum.Enum):
    Shared = 0
    Exclusive = 1

def play_transfers(
    chip: Chip, rows: Sequence[tuple[int, int, int, float]], links: Links
) -> NDArray[np.int64]: ...
def simulate_flows(
    graph: Graph, chip: Chip, program: Program, tiles: TileModel, links: Links
) -> Run: ...

# --- tile ---

TILE_DIMS: tuple[str, ...]

class TileModel(_Struct):
    def __init__(self, kernels: list[dict[str, object]], opaque: dict[str, float]) -> None: ...
    @staticmethod
    def asking(
        kernels: Sequence[tuple[str, str, str]],
        function: Callable[[tuple[str, str, str], dict[str, int], tuple[int, int]], float],
    ) -> TileModel: ...
    def cycles(
        self, kernel: tuple[str, str, str], shapes: NDArray[np.int64]
    ) -> NDArray[np.float64]: ...
    def extrapolated(
        self, kernel: tuple[str, str, str], shapes: NDArray[np.int64]
    ) -> NDArray[np.bool_]: ...
    def find(self, kernel: tuple[str, str, str]) -> tuple[str, bool]: ...

def fit_tile_kernel(
    kernel: tuple[str, str, str],
    shapes: NDArray[np.int64],
    cycles: NDArray[np.float64],
    origins: tuple[NDArray[np.int64], NDArray[np.int64]],
    alternatives: list[list[dict[str, object]]],
) -> dict[str, object]: ...

# --- train ---

@type_check_only
class _Sharding(TypedDict):
    axes: list[int]
    collectives: list[tuple[int, int, str, str | int, str | int]]
    seconds: float
    replicated_seconds: float
    pooled_seconds: float
    sent_bytes: int
    hbm_bytes: int

class OneChip(_Struct):
    @property
    def graph(self) -> Graph: ...
    @property
    def forms(self) -> list[str | int]: ...
    @property
    def whole(self) -> list[list[int]]: ...
    @property
    def axes(self) -> list[int]: ...
    @property
    def slices(self) -> list[int]: ...

def shard(graph: Graph, chip: Chip, tiles: TileModel) -> _Sharding: ...

# --- emulate ---

class Action(enum.IntEnum):
    Allocate = 0
    Preload = 1
    Store = 2
    Distribute = 3
    Gather = 4
    Compute = 5
    Shift = 6
    Reduce = 7

class Parcel(_Struct):
    @property
    def cores(self) -> list[int]: ...
    @property
    def bytes(self) -> int: ...
    @property
    def runs(self) -> int: ...

class Area(_Struct):
    @property
    def tensor(self) -> int: ...
    @property
    def box(self) -> list[list[tuple[int, int]]]: ...
    @property
    def places(self) -> list[tuple[int, int]]: ...

class CoreInstruction(_Struct):
    @property
    def action(self) -> Action: ...
    @property
    def op(self) -> int: ...
    @property
    def number(self) -> int: ...
    @property
    def until(self) -> int: ...
    @property
    def role(self) -> Role: ...
    @property
    def areas(self) -> list[Area]: ...
    @property
    def bytes(self) -> int: ...
    @property
    def from_(self) -> list[Parcel]: ...
    @property
    def to(self) -> list[Parcel]: ...
    @property
    def loads(self) -> int: ...
    @property
    def sub_tasks(self) -> list[list[tuple[int, int]]]: ...
    @property
    def parts(self) -> int: ...
    @property
    def elements(self) -> int: ...

class Coder(_Struct):
    def __init__(self, graph: Graph, chip: Chip, program: Program) -> None: ...
    def at(self, position: int, cores: Sequence[int]) -> list[list[CoreInstruction]]: ...

def no_kernel(graph: Graph, op: int) -> str: ...
def compute_op(
    graph: Graph, op: int, operands: Sequence[NDArray[np.uint8]], factors: Sequence[int]
) -> list[NDArray[np.uint8]]: ...
def emulate(
    graph: Graph,
    chip: Chip,
    program: Program,
    slices: Sequence[int],
    given: Sequence[Mapping[int, NDArray[np.uint8]]],
    wanted: Sequence[int],
) -> list[tuple[dict[int, NDArray[np.uint8]], dict[str, NDArray[np.int64]]]]: ...

# --- train ---

class Schedule(enum.Enum):
    GPipe = 0
    OneForwardOneBackward = 1
    Interleaved = 2

class Recompute(enum.Enum):
    None_ = 0
    Full = 1
    Auto = 2

class Optimizer(enum.Enum):
    None_ = 0
    Sgd = 1
    Adam = 2

class Layout(enum.Enum):
    SShape = 0
    Line = 1

class Groups(enum.Enum):
    Near = 0
    Far = 1

class CollectiveKind(enum.Enum):
    ReduceScatter = 0
    AllGather = 1
    AllReduce = 2
    AllToAll = 3
    Reduce = 4
    Broadcast = 5
    Read = 6
    Write = 7

class Strategy(_Struct):
    def __init__(self) -> None: ...
    pp: int
    tp: int
    dp: int
    chunks: int
    micro_batch: int
    schedule: Schedule
    zero: int
    recompute: Recompute
    optimizer: Optimizer
    overlap_dp: bool
    overlap_pp: bool
    layout: Layout
    groups: Groups
    def give_stages(self, stages: Sequence[tuple[Sequence[int], Sequence[int]]]) -> None: ...
    def give_degrees(self, degrees: Sequence[tuple[str, Sequence[tuple[str, int]]]]) -> None: ...

class Gpu(_Struct):
    def __init__(
        self,
        *,
        peak_flops: float,
        product_share: float,
        memory_rate: float,
        memory_share: float,
        launch_s: float,
        units: int,
        tile_rows: int,
        tile_columns: int,
    ) -> None: ...

class TrainingPlan(_Struct):
    @property
    def stages(self) -> list[dict[str, Any]]: ...
    @property
    def product_flops(self) -> float: ...
    @property
    def repeated_flops(self) -> float: ...
    @property
    def micros(self) -> int: ...

class TrainingRun(_Struct):
    @property
    def fidelity(self) -> Fidelity: ...
    @property
    def total_ps(self) -> int: ...
    @property
    def rows(self) -> dict[str, NDArray[np.int64]]: ...
    @property
    def split_ps(self) -> list[list[int]]: ...
    @property
    def sent_bytes(self) -> list[list[int]]: ...
    @property
    def links(self) -> dict[str, NDArray[np.int64]]: ...

def plan_training(
    graph: Graph,
    chip: Chip,
    tiles: TileModel | None,
    gpu: Gpu | None,
    strategy: Strategy,
    batch: int,
) -> TrainingPlan: ...
def simulate_training(
    plan: TrainingPlan, chip: Chip, fidelity: Fidelity | None, links: Links
) -> TrainingRun: ...
def forecast_training(plan: TrainingPlan, chip: Chip) -> int: ...
def strategy_complaints(
    strategy: Strategy, batch: int | None, devices: int | None
) -> list[str]: ...
def play_collectives(
    chip: Chip, rows: Sequence[tuple[CollectiveKind, Sequence[int], int]], links: Links
) -> NDArray[np.int64]: ...
