#!/usr/bin/env bash
# Measures which lines and branches the tests reach, C++ and Python: scripts/coverage.sh [pytest arguments].
# Prints a table a module; it takes about three times as long as the tests alone.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/machine.sh

need_to_test
say "building ELK with counters, into .venv-coverage"
make_environment .venv-coverage
export PATH="$PWD/.venv-coverage/bin:$PATH"
pip install --quiet --group native --group test --group coverage
pip install --quiet --no-build-isolation --editable . \
  --config-settings=build-dir=build/coverage \
  --config-settings=cmake.build-type=Debug \
  --config-settings=cmake.define.ELK_BUILD_TESTS=ON \
  --config-settings=cmake.define.CMAKE_CXX_FLAGS_DEBUG="-O1 -g1 --coverage -fprofile-update=atomic"
find build/coverage -name '*.gcda' -delete
say "running the C++ tests"
ctest --test-dir build/coverage --output-on-failure -j 2
say "running the Python tests"
coverage erase
coverage run --parallel-mode -m pytest --numprocesses logical --dist loadgroup "$@"
coverage combine --quiet
coverage json --quiet -o build/coverage/python.json
say "reading the counters"
gcovr --root . --filter cpp/ --filter bindings/ --exclude-throw-branches \
  --gcov-suspicious-hits-threshold 0 --json-summary build/coverage/cpp.json \
  build/coverage >/dev/null
python benchmarks/tables/coverage_table.py build/coverage/cpp.json build/coverage/python.json
