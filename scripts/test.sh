#!/usr/bin/env bash
# Runs every test, C++ first: scripts/test.sh [wheel]. Tests this wheel of ELK if one is given, and
# else one that pip builds from here.
set -euo pipefail
package=$(realpath "${1:-$(dirname "$0")/..}")
cd "$(dirname "$0")/.."
source scripts/machine.sh

need_to_test
make_environment .venv-test
.venv-test/bin/pip uninstall --quiet --yes elk-icca
.venv-test/bin/pip install --quiet --group native --group test "$package"
export PATH="$PWD/.venv-test/bin:$PATH"

cmake --preset test
cmake --build --preset test
ctest --preset test
pytest --numprocesses logical --dist loadgroup
