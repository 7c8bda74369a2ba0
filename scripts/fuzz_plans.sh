#!/usr/bin/env bash
# Fuzzes the plan reader for some seconds on a core with address and undefined-behaviour sanitizers:
# scripts/fuzz_plans.sh SECONDS [python]. What fails is left in build/fuzz/found: add it to
# tests/fuzz/corpus/plan. The python needs what ELK's tests need.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=$1
python=${2:-python3}

cmake --preset test
cmake --build --preset test --target _core
mkdir -p build/fuzz/found
rm -rf build/fuzz/elk
cp -r python/elk build/fuzz/elk
rm -f build/fuzz/elk/_core*.so
cp build/test/bindings/_core*.so build/fuzz/elk/
# Python frees little when it ends: leaks are not asked for. The sanitizers' library comes first, and
# the one whose exceptions it watches with it.
ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
  LD_PRELOAD="$(c++ -print-file-name=libasan.so) $(c++ -print-file-name=libstdc++.so.6)" \
  PYTHONPATH=build/fuzz:tests/support "$python" tests/fuzz/fuzz_plan.py "$seconds" build/fuzz/found
