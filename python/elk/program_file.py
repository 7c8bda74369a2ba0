"""Program files, schema `elk.program/1`: see `elk.document.program_file`."""

from __future__ import annotations

from elk.document.program_file import SCHEMA, ProgramFile, load_program, write_program

__all__ = ["SCHEMA", "ProgramFile", "load_program", "write_program"]
