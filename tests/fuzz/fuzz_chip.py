"""Coverage-guided fuzzing of the chip reader: `pip install atheris`, then

    PYTHONPATH=tests/support python tests/fuzz/fuzz_chip.py -max_total_time=300 FOLDER

with the folder where new inputs go; add those that fail to tests/fuzz/corpus/chip.
"""

from __future__ import annotations

import sys

import atheris  # type: ignore[import-untyped]  # Only who fuzzes installs it.

with atheris.instrument_imports(include=["elk"]):
    from fuzz_targets import CORPUS, read_chip


if __name__ == "__main__":
    atheris.Setup([*sys.argv, str(CORPUS / "chip")], read_chip)
    atheris.Fuzz()
