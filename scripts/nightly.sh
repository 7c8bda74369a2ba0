#!/usr/bin/env bash
# What takes too long for every change: sanitizers, every round of random C++ tests, fuzzing, clang-tidy over
# every source, the tests marked `nightly`, planted faults, and what the tests reach. Every stage runs,
# whatever the others found; at its end the script says which passed, and it fails if one did not.
# `scripts/nightly.sh STAGE ...` runs these stages alone. Some hours on 2 cores; what a stage prints is in
# build/nightly.
set -uo pipefail
cd "$(dirname "$0")/.."
source scripts/machine.sh

address() {
  cmake --preset test && cmake --build --preset test && ctest --preset test
}

rounds() {
  ELK_EVERY_ROUND=1 ctest --test-dir build/release --output-on-failure --no-tests=error --parallel 2
}

threads() {
  cmake --preset tsan && cmake --build --preset tsan && ctest --preset tsan
}

fuzz() {
  scripts/fuzz_plans.sh 600 python
}

tidy() {
  cmake --preset dev && scripts/tidy.sh --all
}

tests() {
  pytest -m nightly --numprocesses logical --dist loadgroup
}

tampers() {
  ELK_TAMPER_STEP=1 pytest tests/python/test_plan_tampers.py
}

faults() {
  python tests/faults/plant.py
}

coverage() {
  scripts/coverage.sh
}

set -e
need_to_test
need "libbenchmark-dev:echo '#include <benchmark/benchmark.h>' | c++ -E -x c++ -"
build_elk ON
install_to_test --group lint
set +e
export PATH="$PWD/.venv-test/bin:$PATH"
mkdir -p build/nightly
found=()
failed=0
stages=("$@")
[ $# -gt 0 ] || stages=(address threads rounds fuzz tidy tests tampers faults coverage)
for stage in "${stages[@]}"; do
  say "$stage: build/nightly/$stage.log"
  if "$stage" >"build/nightly/$stage.log" 2>&1; then
    found+=("passed  $stage")
  else
    found+=("FAILED  $stage: build/nightly/$stage.log")
    failed=1
    tail -20 "build/nightly/$stage.log"
  fi
done
say "done"
printf '%s\n' "${found[@]}"
exit "$failed"
