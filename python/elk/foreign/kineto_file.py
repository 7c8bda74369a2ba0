"""Files of PyTorch's profiler: the text, unpacked within bounds, and what is read of it."""

from __future__ import annotations

import gzip
import json
import re
import stat
import zlib
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

from pydantic import AliasChoices, AliasPath, BaseModel, FailFast, Field, ValidationError
from pydantic.dataclasses import dataclass

from elk.document.rules import dotted, shown
from elk.errors import LimitError, TraceFileError
from elk.foreign.bus_bandwidth import CollectiveFacts, Count, Name
from elk.limits import Limits

COMPUTE, COMMUNICATION, MEMORY = KINDS = ("compute", "communication", "memory")
"""What a device event does."""
TraceId: TypeAlias = Annotated[int, Field(strict=True, ge=0)] | Name
"""A device or a stream, as the file numbers or names it."""
_Microseconds: TypeAlias = Annotated[Decimal, Field(ge=0, lt=10**18)]
# In small letters; those without `gpu_` are of PyTorch before 1.12.
_CATEGORIES: Final = ("kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset")
_MOST_RATIO: Final = 50  # bytes that one byte unpacks to; of traces, 13 to 18 in those known
_SPARE: Final = 1 << 20  # bytes that a file may unpack to whatever the ratio
_MOST_US: Final = 10**12  # Picoseconds of more might not fit 64 bits.
_REMEDY: Final = "give a whole trace of one rank on one GPU, recorded with ProfilerActivity.CUDA"


@dataclass(slots=True, kw_only=True)
class Event:
    """A kernel, a copy or a fill."""

    cat: str
    name: Name
    ts: _Microseconds
    dur: _Microseconds
    pid: TraceId | None = None
    device: TraceId = Field(validation_alias=AliasChoices(AliasPath("args", "device"), "pid"))
    stream: TraceId = Field(validation_alias=AliasChoices(AliasPath("args", "stream"), "tid"))
    facts: CollectiveFacts | None = Field(None, alias="args")

    @property
    def kind(self) -> str:
        """What the device did: `compute`, `communication` or `memory`."""
        if self.cat.lower() != "kernel":
            return MEMORY
        return COMMUNICATION if re.search("nccl|rccl", self.name, re.IGNORECASE) else COMPUTE


class _Device(BaseModel):
    id: TraceId | None = None
    name: Name | None = None


class KinetoFile(BaseModel):
    """What is read of a file; an event of the host is None."""

    events: Annotated[list[Event | None], FailFast()] = Field(alias="traceEvents")
    devices: list[_Device] = Field([], alias="deviceProperties")
    rank: Count | None = Field(None, validation_alias=AliasPath("distributedInfo", "rank"))
    size: Count | None = Field(None, validation_alias=AliasPath("distributedInfo", "world_size"))


def read_file(path: Path, limits: Limits) -> tuple[KinetoFile, list[Event]]:
    """What a file says, and its device events; fractions are exact to the decimal context.

    Raises:
        TraceFileError: as `KinetoTrace.read` says.
    """
    cause: Exception
    try:
        found = json.loads(_text(path, limits), parse_float=Decimal, object_hook=_kept)
        table = found if isinstance(found, dict) else {"traceEvents": found}
        file = KinetoFile.model_validate(table)
        rows = [row for row in file.events if row]
        if not rows:
            raise ValueError("it has no device events")
        if len(owners := {(row.device, row.pid) for row in rows}) > 1:
            raise ValueError(f"its device events lie on {len(owners):,} devices or ranks")
        if max(row.ts + row.dur for row in rows) - min(row.ts for row in rows) >= _MOST_US:
            raise ValueError(f"its device events last {_MOST_US:,} microseconds or more")
        return file, rows
    except LimitError as e:
        raise TraceFileError(e.message, code=e.code, place=str(path), remedy=e.remedy) from e
    except ValidationError as e:
        wrong = e.errors(include_url=False)[0]
        cause, what = e, f"{dotted(wrong['loc'])}: {wrong['msg']}, got {shown(wrong['input'])}"
    except (OSError, EOFError, zlib.error, ValueError, RecursionError, MemoryError) as e:
        cause, what = e, str(e) or type(e).__name__
    message = f"the trace cannot be read: {what}"
    raise TraceFileError(message, place=str(path), remedy=_REMEDY) from cause


def _text(path: Path, limits: Limits) -> str:
    """The text of a file, plain or gzipped, of which no more is unpacked than a bound."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("it is no regular file")
    with path.open("rb") as file:
        packed = file.peek(2)[:2] == b"\x1f\x8b"
        most = (_MOST_RATIO if packed else 1) * status.st_size + _SPARE
        source = gzip.GzipFile(fileobj=file) if packed else file
        data = source.read(min(most, limits.plan_bytes) + 1)
    limits.check("plan_bytes", len(data), "the unpacked bytes of a trace")
    if len(data) > most:
        raise ValueError(f"a byte unpacks to more than {_MOST_RATIO}; if that is meant, gunzip it")
    return data.decode()


def _kept(row: dict[str, Any]) -> dict[str, Any] | None:
    """Any table but an event of the host, which is dropped before the next one is parsed."""
    of_device = row.get("ph") == "X" and str(row.get("cat")).lower() in _CATEGORIES
    return row if of_device or "ph" not in row else None
