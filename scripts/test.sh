#!/usr/bin/env bash
# Runs every test, C++ first: scripts/test.sh [wheel]. Tests this wheel of ELK if one is given, and
# else the one that is built from here.
set -euo pipefail
wheel=${1:+$(realpath "$1")}
cd "$(dirname "$0")/.."
source scripts/machine.sh

need_to_test
if [ -z "$wheel" ]; then
  build_wheel
  wheel=$(echo "$PWD"/build/wheel/*.whl)
fi
say "installing ELK and what its tests need into .venv-test"
make_environment .venv-test
.venv-test/bin/pip uninstall --quiet --yes elk-icca
.venv-test/bin/pip install --quiet --group native --group test "$wheel"
export PATH="$PWD/.venv-test/bin:$PATH"

say "building the C++ tests with sanitizers (about 6 minutes on 2 cores the first time)"
cmake --preset test
cmake --build --preset test
say "running the C++ tests (about 5 minutes on 2 cores)"
ctest --preset test
say "running the Python tests and notebooks (about 10 minutes on 2 cores)"
pytest --numprocesses logical --dist loadgroup
