#!/usr/bin/env bash
# What takes too long for every change: the tests marked `nightly`, plan files with one changed value,
# every one of them, and ten minutes of fuzzing their reader. Run it with the virtual environment of the tests, which
# `scripts/test.sh` makes, first on PATH. An hour on 2 cores.
set -euo pipefail
cd "$(dirname "$0")/.."

pytest -m nightly --numprocesses logical
ELK_TAMPER_STEP=1 pytest tests/python/test_plan_tampers.py
scripts/fuzz_plans.sh 600 python
