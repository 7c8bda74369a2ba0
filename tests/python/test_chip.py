"""Chips: presets, resolved fields, changes, quantities."""

from __future__ import annotations

import contextlib
import math
from fractions import Fraction
from typing import Any

import elk
import pytest
from each_case import each
from elk import _core
from elk.base import quantity
from elk.chip.replace import squarest_grid
from hypothesis import given
from hypothesis import strategies as st

POD = elk.chips.get("ipu-pod4-hbm")
TINY = elk.chips.get("tiny")


def test_the_pod_resolves_to_the_numbers_of_the_design() -> None:
    assert POD.to_dict() == {
        "name": "ipu-pod4-hbm",
        "chips": 4,
        "core": {
            "count": 1472,
            "sram_bytes": 624 * 1024,
            "reserved_bytes": 8192,
            "clock_hz": 1.33e9,
            "sram_bytes_per_s": 21.3e9,
            "remote_access_blocks": True,
            "tile_model": "ipu-mk2",
        },
        "interconnect": {
            "topology": "all_to_all",
            "link_bytes_per_s": 5.5e9,
            "hop_latency_s": 0.0,
            "sync_latency_s": 89e-9,
            "fragment_latency_s": 3 / 1.33e9,
            "multicast": True,
            "overlaps_compute": False,
            "native_shift": False,
        },
        "hbm": {
            "modules": 4,
            "bytes_per_s": 4e12,
            "port_bytes_per_s": 1e12,
            "latency_s": 100e-9,
            "channels": 16,
            "refresh_interval_s": 0.0,
            "refresh_stall_s": 0.0,
            "outstanding_bytes": 16384,
            "capacity_bytes": 96_000_000_000,
            "position": "nodes",
        },
        "inter_chip": {
            "bytes_per_s": 160e9,
            "latency_s": 500e-9,
            "sync_latency_s": 111e-9,
            "port_cores": 1472,
            "topology": "all_to_all",
        },
        "host": {"bytes_per_s": 16e9},
        "energy": {
            "pj_per_flop": 0.36,
            "pj_per_sram_byte": 1.652,
            "pj_per_link_byte_hop": 11.93,
            "pj_per_hbm_byte": 31.36,
            "pj_per_inter_chip_byte": 80.0,
            "static_w": 117.9,
        },
    }


def test_a_chip_without_hbm_has_no_such_table() -> None:
    assert "hbm" not in elk.chips.get("ipu-mk2").to_dict()


def test_the_mesh_is_bound_by_its_edges() -> None:
    delivery = elk.chips.get("ipu-pod4-hbm-mesh").delivery()
    assert delivery.injection_bytes_per_s == 152 * 5.5e9
    assert delivery.bytes_per_s == 836e9
    assert delivery.bound_by == "injection"


def test_the_wide_mesh_injects_twice_its_hbm_rate() -> None:
    delivery = elk.chips.get("ipu-pod4-hbm-mesh-wide").delivery()
    assert delivery.injection_bytes_per_s == pytest.approx(2 * delivery.hbm_bytes_per_s)
    assert delivery.bound_by == "hbm"


def test_refresh_stalls_for_a_tenth_of_the_time() -> None:
    hbm = elk.chips.get("ipu-pod4-hbm-refresh").hbm
    assert hbm is not None
    assert 350e-9 <= hbm.refresh_stall_s <= 390e-9
    assert hbm.refresh_interval_s == 3.9e-6


def test_hbm_latency_is_paid_after_idling() -> None:
    core = TINY.to_core()
    assert _core.hbm_time(core, 64e3, True) == pytest.approx(1.1e-6)
    assert _core.hbm_time(core, 64e3, False) == pytest.approx(1e-6)


def test_a_wrong_name_lists_the_right_ones() -> None:
    with pytest.raises(elk.InvalidInputError, match="ipu-pod4-hbm-mesh-wide") as caught:
        elk.chips.get("tinny")
    assert caught.value.remedy == "did you mean 'tiny'?"


def test_a_chip_says_what_it_is_in_one_line() -> None:
    assert repr(POD) == (
        "Chip('ipu-pod4-hbm': 4 chips of 1472 cores, 624 KiB SRAM each, "
        "all_to_all at 5.5 GB/s, HBM 16 TB/s in all)"
    )


def test_a_card_is_small_and_escapes_names() -> None:
    card = POD.replace(name="<b>")._repr_html_()
    assert len(card) < 2000
    assert "&lt;b&gt;" in card


def test_chips_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        POD.chips = 8


def test_find_takes_chips_and_names() -> None:
    assert elk.chips.find(POD) is POD
    assert elk.chips.find("tiny") == TINY


# --- replace ---

FULL = POD.replace(
    energy={
        "pj_per_flop": 1,
        "pj_per_sram_byte": 1,
        "pj_per_link_byte_hop": 1,
        "pj_per_hbm_byte": 1,
        "pj_per_inter_chip_byte": 1,
        "static_w": "100 W",
    }
)
LEAVES = [
    (table, key)
    for table, fields in FULL.to_dict().items()
    if isinstance(fields, dict)
    for key in fields
]
SHARED = ("latency_s", "bytes_per_s")


@each(("table", "key"), LEAVES)
def test_replace_takes_every_key_by_its_name(table: str, key: str) -> None:
    value = FULL.to_dict()[table][key]
    changes = [{f"{table}_{key}": value}]
    if key not in (*SHARED, "sync_latency_s"):
        changes.append({key: value} if table != "inter_chip" or key != "topology" else {})
    for change in changes:
        assert FULL.replace(**change) == FULL


@each("key", [*SHARED, "sync_latency_s"])
def test_replace_refuses_a_key_of_several_tables(key: str) -> None:
    with pytest.raises(elk.InvalidInputError, match="several tables") as caught:
        POD.replace(**{key: 1e-9})
    assert f"inter_chip_{key}" in str(caught.value.remedy)


def test_replace_changes_nothing_else() -> None:
    slow = POD.replace(remote_access_blocks=False, hbm_latency_s="1 us")
    assert slow.hbm is not None
    assert slow.hbm.latency_s == 1e-6
    assert not slow.core.remote_access_blocks
    assert slow.replace(remote_access_blocks=True, hbm_latency_s=100e-9) == POD


def test_hbm_bandwidth_means_all_chips_together() -> None:
    assert POD.replace(hbm_bandwidth="24 TB/s") == POD.replace(hbm_bytes_per_s=6e12)
    assert POD.replace(hbm_bandwidth=8e12, chips=2).to_dict()["hbm"]["bytes_per_s"] == 4e12


def test_ports_follow_the_rate_unless_they_were_set() -> None:
    assert POD.replace(hbm_bandwidth="24 TB/s").to_dict()["hbm"]["port_bytes_per_s"] == 1.5e12
    wide = POD.replace(port_bytes_per_s="3 TB/s")
    assert wide.replace(hbm_bandwidth="24 TB/s").to_dict()["hbm"]["port_bytes_per_s"] == 3e12


def test_port_cores_follow_the_count() -> None:
    assert POD.replace(core_count=100).to_dict()["inter_chip"]["port_cores"] == 100


def test_a_mesh_takes_the_squarest_grid_and_all_edges() -> None:
    mesh = POD.replace(topology="mesh2d")
    assert mesh.core.grid == (46, 32)
    assert mesh.core.count is None
    assert mesh.hbm is not None
    assert mesh.hbm.position == "edges_all"
    hop = {"hop_latency_s": "0.75 ns", "pj_per_link_byte_hop": "0.4666 pJ"}
    preset = elk.chips.get("ipu-pod4-hbm-mesh")
    assert mesh.replace(**hop, name="ipu-pod4-hbm-mesh") == preset


def test_all_to_all_undoes_a_mesh() -> None:
    assert POD.replace(topology="mesh2d").replace(topology="all_to_all") == POD


def test_a_mesh_keeps_the_grid_and_position_that_are_named() -> None:
    mesh = POD.replace(topology="mesh2d", grid=[64, 23], position="edges_left_right")
    assert mesh.core.grid == (64, 23)
    assert mesh.hbm is not None
    assert mesh.hbm.position == "edges_left_right"


def test_a_mesh_of_another_count_is_as_square_as_can_be() -> None:
    assert POD.replace(topology="mesh2d").replace(core_count=64).core.grid == (8, 8)


@given(cores=st.integers(1, 20_000))
def test_the_squarest_grid_has_all_cores(cores: int) -> None:
    rows, cols = squarest_grid(cores)
    assert rows * cols == cores
    assert rows >= cols
    assert not any(cores % side == 0 for side in range(cols + 1, math.isqrt(cores) + 1))


def test_one_chip_needs_no_network_between_chips() -> None:
    assert POD.replace(chips=1).inter_chip is None


def test_tables_are_added_and_removed_whole() -> None:
    assert TINY.replace(hbm=None).hbm is None
    assert TINY.replace(hbm=None).replace(hbm=TINY.hbm) == TINY


@each(
    ("change", "message", "remedy"),
    [
        ({"sramm_bytes": 1}, "sramm_bytes is not a key", "did you mean 'sram_bytes'?"),
        ({"energy": None, "pj_per_flop": 1}, "which the chip does not have", "energy={...}"),
        ({"hbm_bandwidth": 1e12, "hbm_bytes_per_s": 1e12}, "same field", "one of them"),
        ({"hbm_bandwidth": "24 TB"}, "hbm_bandwidth must be a bandwidth", 'write "24 TB/s"'),
        ({"link_bytes_per_s": math.nan}, "positive and finite, got nan", "5.5 GB/s"),
        ({"link_bytes_per_s": -1}, "positive and finite, got -1", "5.5 GB/s"),
        ({"clock_hz": math.inf}, "positive and finite, got inf", "1.33 GHz"),
        ({"topology": "mesh"}, "must be one of all_to_all, mesh2d", "'mesh2d'"),
        ({"multicast": 1}, "must be true or false", "true"),
        ({"core_count": 0}, "core.count must be from 1", "count = 1472"),
        ({"core_count": 2.0}, "must be a whole number", "as in 4"),
        ({"grid": [4, 4]}, "core.grid must be absent", "mesh or torus"),
        ({"topology": "mesh2d", "grid": [4]}, "core.grid", "grid = [46, 32]"),
        ({"port_bytes_per_s": 1e9}, "hbm.port_bytes_per_s must be at least", "leave"),
        ({"sram_bytes": 1.5}, "whole number of bytes", "624 KiB"),
        ({"reserved_bytes": "1 MiB"}, "below core.sram_bytes", "reserve less"),
        ({"core": None}, "core is missing", "[core]"),
        ({"position": "edges_all"}, "hbm.position must be", "mesh2d"),
    ],
)
def test_replace_refuses(change: dict[str, Any], message: str, remedy: str) -> None:
    with pytest.raises(elk.InvalidInputError) as caught:
        POD.replace(**change)
    assert message in caught.value.message
    assert remedy in str(caught.value.remedy)


def test_all_faults_are_listed_at_once() -> None:
    with pytest.raises(elk.InvalidInputError) as caught:
        POD.replace(sram_bytes="624 KB", topology="star")
    assert "2 fields are wrong" in caught.value.message
    assert "core.sram_bytes" in caught.value.message
    assert "interconnect.topology" in caught.value.message


# --- quantities ---


@each(
    ("text", "unit", "value"),
    [
        ("624 KiB", quantity.BYTES, 638976),
        ("96GB", quantity.BYTES, 96_000_000_000),
        ("0.5 KiB", quantity.BYTES, 512),
        ("1e3 B", quantity.BYTES, 1000),
        ("5.5 GB/s", quantity.BYTES_PER_S, 5.5e9),
        ("89 ns", quantity.SECONDS, 89e-9),
        ("3.9 \N{MICRO SIGN}s", quantity.SECONDS, 3.9e-6),
        ("1.33 GHz", quantity.HERTZ, 1.33e9),
        ("1_000 MHz", quantity.HERTZ, 1e9),
        ("-1 ns", quantity.SECONDS, -1e-9),
    ],
)
def test_a_quantity_is_read_exactly(text: str, unit: quantity.Unit, value: float) -> None:
    assert quantity.parse(text, unit) == value


@each(
    ("text", "unit", "remedy"),
    [
        ("624 KB", quantity.BYTES, '"624 KiB"'),
        ("5.5 Gb/s", quantity.BYTES_PER_S, "5.5 GB/s"),
        ("1.3 Ghz", quantity.HERTZ, '"1.3 GHz"'),
        ("624", quantity.BYTES, "624 KiB"),
        ("nan GB/s", quantity.BYTES_PER_S, "5.5 GB/s"),
        ("1 B/s", quantity.BYTES, "1 B"),
        ("0.3 KiB", quantity.BYTES, "624 KiB"),
        ("1e999 GB/s", quantity.BYTES_PER_S, "5.5 GB/s"),
        ("1e999999999 B", quantity.BYTES, "624 KiB"),
        ("9e18 kB", quantity.BYTES, "624 KiB"),
        ("", quantity.BYTES, "624 KiB"),
        ("1" * 10_000 + " B", quantity.BYTES, "624 KiB"),
        (None, quantity.BYTES, "624 KiB"),
        (True, quantity.SECONDS, "89 ns"),
    ],
)
def test_a_wrong_quantity_says_what_to_write(
    text: object, unit: quantity.Unit, remedy: str
) -> None:
    with pytest.raises(elk.InvalidInputError) as caught:
        quantity.parse(text, unit)
    assert remedy in str(caught.value.remedy)
    assert len(str(caught.value)) < 400


@given(count=st.integers(0, 1 << 20), symbol=st.sampled_from(sorted(quantity.BYTES.factors)))
def test_sizes_are_never_rounded(count: int, symbol: str) -> None:
    exact = count * quantity.BYTES.factors[symbol]
    if exact < 1 << 63:
        assert quantity.parse(f"{count} {symbol}", quantity.BYTES) == exact
    else:
        with pytest.raises(elk.InvalidInputError, match=r"below 2\^63 bytes"):
            quantity.parse(f"{count} {symbol}", quantity.BYTES)


@given(thousandths=st.integers(0, 1 << 30), symbol=st.sampled_from(["KiB", "MiB", "kB"]))
def test_parts_of_a_byte_are_refused(thousandths: int, symbol: str) -> None:
    text = f"{thousandths // 1000}.{thousandths % 1000:03d} {symbol}"
    exact = Fraction(thousandths, 1000) * quantity.BYTES.factors[symbol]
    if exact.denominator == 1:
        assert quantity.parse(text, quantity.BYTES) == exact
    else:
        with pytest.raises(elk.InvalidInputError, match="whole number of bytes"):
            quantity.parse(text, quantity.BYTES)


@given(text=st.text(max_size=80))
def test_any_text_is_a_quantity_or_an_error_of_ours(text: str) -> None:
    for unit in (quantity.BYTES, quantity.BYTES_PER_S, quantity.SECONDS):
        with contextlib.suppress(elk.InvalidInputError):
            assert math.isfinite(quantity.parse(text, unit))


@given(value=st.floats(1e-13, 1e15))
def test_a_shown_number_reads_back(value: float) -> None:
    for unit in (quantity.BYTES_PER_S, quantity.SECONDS, quantity.HERTZ):
        shown = quantity.show_exactly(value, unit)
        assert quantity.parse(shown, unit) == pytest.approx(value, rel=1e-15)


@given(size_bytes=st.integers(0, (1 << 50)))
def test_a_shown_size_reads_back(size_bytes: int) -> None:
    assert quantity.parse(quantity.show_exactly(size_bytes, quantity.BYTES), quantity.BYTES) == (
        size_bytes
    )
