"""Coverage-guided fuzzing of the model loader: `pip install atheris`, then

    PYTHONPATH=tests/support python tests/fuzz/fuzz_model.py -max_total_time=300 FOLDER

with the folder where new inputs go; add those that fail to tests/fuzz/corpus/model.
"""

from __future__ import annotations

import sys

import atheris  # type: ignore[import-untyped]  # Only who fuzzes installs it.

with atheris.instrument_imports(include=["elk"]):
    from fuzz_targets import CORPUS, changed_model, read_model


def _mutated(data: bytes, largest: int, seed: int) -> bytes:
    """Every other time a message changes, so that the rest of the file still parses."""
    new = changed_model(data, seed) if seed % 2 else None
    if new is None or len(new) > largest:
        return bytes(atheris.Mutate(data, largest))
    return new


if __name__ == "__main__":
    atheris.Setup(
        [*sys.argv, str(CORPUS / "model")],
        read_model,
        custom_mutator=_mutated,
        internal_libfuzzer=True,
    )
    atheris.Fuzz()
