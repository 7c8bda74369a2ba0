"""Whether a plan's document agrees with itself: what follows of its program is compared."""

from __future__ import annotations

import math
from typing import Final

from elk import _core
from elk.base.policies import FORECASTS
from elk.chip.chip import Chip
from elk.document.compiled import preload_numbers
from elk.document.listing import PlacedProgram
from elk.document.names import check_names
from elk.document.rebuild import placed, running
from elk.document.rules import Path, at_least, at_most, near, refusal, same, shown
from elk.document.schema import OpRow, PlanDocument
from elk.document.times import check_times
from elk.errors import ElkError, PlanFileError
from elk.tile.tilemodel import may_name_one, names

_SHOWN: Final = 3


def audited(document: PlanDocument) -> PlacedProgram:
    """The program of a document that breaks no rule, with the graph and the chip that it is for.

    Names, the chip, the graph, the cuts, the order and the buffers are checked by the core; spaces,
    bytes, counts and totals are worked out again. What rests on times of tiles is held to what
    physics and arithmetic leave: docs/errors.md says what is what.

    Raises:
        PlanFileError: The message names the key, its value and the rule that it breaks.
    """
    check_names(document)
    chip = _chip(document)
    try:
        program = placed(document)
    except (ElkError, OverflowError) as error:
        raise PlanFileError(str(error), remedy="compile the model again") from error
    check = _core.check_unplaced if document["policy"] in FORECASTS else _core.check_program
    graph = running(document, program.graph)
    broken = check(graph, program.chip, program.program)
    if broken:
        more = f"; and {len(broken) - _SHOWN} more" if len(broken) > _SHOWN else ""
        raise PlanFileError(
            f"program: {'; '.join(broken[:_SHOWN])}{more}", remedy="compile the model again"
        )
    audit = _Audit(document, chip, program, graph)
    audit.program()
    audit.operands()
    audit.executes()
    audit.preloads()
    audit.idle()
    audit.fronts()
    audit.explored()
    audit.totals()
    check_times(document)
    return program


def _chip(document: PlanDocument) -> Chip:
    """The chip, every key of which is a number or a word as `Chip.to_dict` writes it."""
    found = document["chip"]
    try:
        chip = Chip.from_dict(found)
    except ElkError as error:
        raise PlanFileError(
            f"chip: {error.message}", remedy="compile the model again, or correct the file"
        ) from error
    _same_keys(found, chip.to_dict(), ("chip",))
    if not may_name_one(tiles := chip.core.tile_model):
        known = f"one of {', '.join(names())}, a file (.json) or a function"
        raise refusal(("chip", "core", "tile_model"), tiles, known)
    return chip


def _same_keys(found: object, right: object, path: Path) -> None:
    if isinstance(found, dict) and isinstance(right, dict):
        for key, value in found.items():
            _same_keys(value, right.get(key), (*path, key))
    elif found != right or isinstance(found, bool) != isinstance(right, bool):
        raise refusal(path, found, f"written as {shown(right)}")


class _Audit:
    """Compares a document with what follows of its program."""

    def __init__(
        self, document: PlanDocument, chip: Chip, program: PlacedProgram, graph: _core.Graph
    ) -> None:
        self._document = document
        self._ops = document["ops"]
        self._chip = chip
        self._program = program
        self._chips = chip.chips if document["pod"] == "sharded" else 1
        figures = _core.figures if graph is program.graph else _core.figures_unmoved
        self._figures = figures(graph, program.chip, program.program)
        # A forecast moves what no program does.
        self._placed = document["policy"] not in FORECASTS

    def program(self) -> None:
        """The order and the numbers of preloads, and who has one."""
        document, count = self._document, len(self._ops)
        preloads = [op for opcode, op in document["program"] if opcode == "preload_async"]
        same(document["preload_order"], preloads, ("preload_order",), "the program's order")
        numbers = preload_numbers(document["program"], count)
        same(document["preload_number"], numbers, ("preload_number",), "those of the program")
        loaded = set(preloads)
        for i, op in enumerate(self._ops):
            if (op["preload"] is not None) != (i in loaded):
                raise refusal(
                    ("ops", i, "preload"), op["preload"], "given where the program has one"
                )
        repeat, found = document["repeat"], self._program.graph.repeat
        right = found and {"begin": found.begin, "period": found.period, "count": found.count}
        same(repeat, right, ("repeat",), "the longest run of equal layers")

    def operands(self) -> None:
        """Every row of a tensor says the same of it."""
        known: dict[str, tuple[object, ...]] = {}
        bytes_of: dict[tuple[str, tuple[int, ...]], int] = {}
        for i, op in enumerate(self._ops):
            for k, row in enumerate(op["operands"]):
                at = ("ops", i, "operands", k)
                facts = (row["dtype"], row["shape"], row.get("chip_shape"))
                if known.setdefault(row["tensor"], facts) != facts:
                    raise refusal(at, facts, f"as elsewhere {known[row['tensor']]}")
                whole = (row["dtype"], tuple(row["shape"]))
                if whole not in bytes_of:
                    bytes_of[whole] = _tensor_bytes(*whole)
                same(row["bytes"], bytes_of[whole], (*at, "bytes"), "those of shape and dtype")

    def executes(self) -> None:
        """Cores, steps, spaces and exchanged bytes of executes, and what their time adds up to."""
        for i, (op, figures) in enumerate(zip(self._ops, self._figures, strict=True)):
            row, at = op["execute"], ("ops", i, "execute")
            same(row["cores"], figures.cores, (*at, "cores"), "the product of factors")
            same(row["steps"], figures.steps, (*at, "steps"), "the product of the loops' trips")
            space = dict(zip(_tensors(op), figures.space_bytes, strict=True))
            same(row["space_by_tensor"], space, (*at, "space_by_tensor"), "what the cut holds")
            same(row["space_bytes"], sum(space.values()), (*at, "space_bytes"), "their sum")
            if self._placed:
                moved = figures.exchange_bytes
                same(row["exchange_bytes"], moved, (*at, "exchange_bytes"), "what it exchanges")
            if "collective" in op:
                sent, path = op["collective"]["sent_bytes"], ("ops", i, "collective", "sent_bytes")
                same(sent, figures.sent_bytes, path, "what a chip sends")
            parts = row["distribute_s"] + row["compute_s"] + row["shift_s"] + row["reduce_s"]
            near(row["time_s"], parts, (*at, "time_s"), "the sum of its four parts")

    def preloads(self) -> None:
        """Spaces and bytes of preloads, and the time that their bytes take at least."""
        hbm, link = self._chip.hbm, self._chip.interconnect.link_bytes_per_s
        one_way_in = not _core.routed(self._program.chip)
        rate = hbm.bytes_per_s * self._chip.chips if hbm else math.inf
        for i, (op, figures) in enumerate(zip(self._ops, self._figures, strict=True)):
            row, at = op["preload"], ("ops", i, "preload")
            if row is None or hbm is None:
                continue
            space = figures.preload_space_bytes
            same(row["space_bytes"], space, (*at, "space_bytes"), "what the divisors leave")
            read = figures.hbm_bytes * self._chips
            same(row["hbm_bytes"], read, (*at, "hbm_bytes"), "what all chips read")
            picks = any("pick" in x for x in op["operands"])
            if not picks or row["link_bytes"] > space:
                same(row["link_bytes"], space, (*at, "link_bytes"), "what arrives on a core")
            if self._placed:
                sent = figures.distribute_bytes
                same(row["distribute_bytes"], sent, (*at, "distribute_bytes"), "the rest of it")
            at_least(row["time_s"], read / rate, (*at, "time_s"), "bytes over the HBM's rate")
            if one_way_in:  # Elsewhere several links lead to a core.
                least = row["link_bytes"] / link
                at_least(row["time_s"], least, (*at, "time_s"), "bytes over a link's rate")

    def idle(self) -> None:
        """What a chip without HBM keeps all the time, and what setups bring."""
        for i, (op, figures) in enumerate(zip(self._ops, self._figures, strict=True)):
            row, at = op["idle"], ("ops", i, "idle")
            kept = 0 if self._chip.hbm else figures.preload_space_bytes
            if (row is not None) != (kept > 0):
                raise refusal(at, row, "given where the chip keeps weights or states of the op")
            if row is None:
                continue
            same(row["space_bytes"], kept, (*at, "space_bytes"), "what the divisors keep")
            if self._placed:
                brought = figures.distribute_bytes
                same(row["setup_bytes"], brought, (*at, "setup_bytes"), "what the setup brings")
            if row["setup_bytes"] > 0 and row["setup_s"] == 0.0:
                raise refusal((*at, "setup_s"), 0.0, "above 0, for the setup brings something")

    def fronts(self) -> None:
        """Columns of one length, and of each op's choice what its execute says."""
        for n, front in enumerate(self._document["fronts"]):
            at = ("fronts", n)
            count = len(front["time_s"])
            for key in ("factors", "steps", "cores", "space_bytes", "compute_s", "exchange_bytes"):
                same(len(front[key]), count, (*at, key), f"as long as time_s: {count}")
            same(len(front["hbm_bytes"]), count, (*at, "hbm_bytes"), f"as long as time_s: {count}")
            if front["fastest"] >= count:
                raise refusal((*at, "fastest"), front["fastest"], f"below {count}")
            for p, factors in enumerate(front["factors"]):
                same(len(factors), len(front["axes"]), (*at, "factors", p), "as many as axes")
            products = [math.prod(factors) for factors in front["factors"]]
            same(front["cores"], products, (*at, "cores"), "products of factors")
            if not front["pareto"] <= front["filtered"] <= front["complete"]:
                raise refusal((*at, "filtered"), front["filtered"], "from pareto to complete")
        for i, op in enumerate(self._ops):
            self._choice(op, i)

    def _choice(self, op: OpRow, i: int) -> None:
        fronts, at = self._document["fronts"], ("ops", i)
        if op["front"] >= len(fronts):
            raise refusal((*at, "front"), op["front"], f"below {len(fronts)}")
        front, names = fronts[op["front"]], [axis["name"] for axis in op["axes"]]
        if op["choice"] >= len(front["time_s"]):
            raise refusal((*at, "choice"), op["choice"], f"below {len(front['time_s'])}")
        if len(front["axes"]) != len(names):
            raise refusal((*at, "front"), op["front"], "a front of as many axes")
        factors = [op["execute"]["factors"].get(name, 1) for name in names]
        chosen = front["factors"][op["choice"]]
        same(factors, chosen, (*at, "choice"), "the place of its cut on the front")
        for key in ("steps", "cores", "space_bytes", "compute_s"):
            path = ("fronts", op["front"], key, op["choice"])
            same(front[key][op["choice"]], op["execute"][key], path, f"that of op {i}")

    def explored(self) -> None:
        """Points of T10's trade of memory: columns of one length, within the SRAM of a core."""
        if (found := self._document["search"].get("explored")) is None:
            return
        at = ("search", "explored")
        count, most = len(found["time_s"]), self._chip.core.sram_bytes
        if self._chip.hbm or not count:
            raise refusal(at, found, "left out where no idle memory was traded")
        for key in ("idle_bytes", "peak_bytes"):
            same(len(found[key]), count, (*at, key), f"as long as time_s: {count}")
        points = zip(found["idle_bytes"], found["peak_bytes"], strict=True)
        for i, (idle, peak) in enumerate(points):
            at_most(idle, peak, (*at, "idle_bytes", i), "peak_bytes")
            at_most(peak, most, (*at, "peak_bytes", i), "the SRAM of a core")

    def totals(self) -> None:
        """Sums over the whole plan, and what bounds it."""
        document, fronts = self._document, self._document["fronts"]
        search = document["search"]
        for key, column in (("complete", 0), ("filtered", 1), ("pareto", 2)):
            right = [sum(f[k] for f in fronts) for k in ("complete", "filtered", "pareto")][column]
            same(search[f"plans_{key}"], right, ("search", f"plans_{key}"), "summed over fronts")  # type: ignore[literal-required]
        bounds = document["bounds"]
        for key in () if bounds.get("withheld") else ("hbm_s", "execute_s", "link_s"):
            most = bounds["lower_bound_s"]
            at_most(bounds[key], most, ("bounds", key), "lower_bound_s")  # type: ignore[literal-required]
        hbm = self._chip.hbm
        read = sum(op["preload"]["hbm_bytes"] for op in self._ops if op["preload"] is not None)
        rate = hbm.bytes_per_s * self._chip.chips if hbm else math.inf
        at_most(bounds["hbm_s"], read / rate, ("bounds", "hbm_s"), "bytes over rate")


def _tensors(op: OpRow) -> list[str]:
    """The tensors of an op's operands, by first mention."""
    return list(dict.fromkeys(x["tensor"] for x in op["operands"]))


def _tensor_bytes(dtype: str, shape: tuple[int, ...]) -> int:
    eight = _core.Tensor(
        name="", dtype=_core.DType[dtype], shape=[8], home=_core.Home.Activation
    )  # Whose bytes are the bits of one element; a whole shape may not fit the core's integers.
    return -(-math.prod(shape) * eight.bytes // 8)
