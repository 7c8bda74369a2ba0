#!/usr/bin/env bash
# Builds ELK and runs every test, C++ first. What is built stays, and is used again.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/machine.sh

need_to_test
build_elk ON
install_to_test
run_tests
