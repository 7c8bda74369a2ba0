#!/usr/bin/env bash
# Runs clang-tidy, slow as it is (10 s a file), on the C++ sources that differ from a commit:
# scripts/tidy.sh [commit], HEAD by default; scripts/tidy.sh --all takes every source.
# Needs build/dev, as `cmake --preset dev` makes it.
set -euo pipefail
cd "$(dirname "$0")/.."

since=${1:-HEAD}
if [ "$since" = --all ]; then
  files=$(git ls-files -- 'cpp/*.cpp' 'bindings/*.cpp')
else
  files=$(git diff --name-only --diff-filter=d "$since" -- 'cpp/*.cpp' 'bindings/*.cpp')
fi
# parallel_std.cpp stands in for parallel_tbb.cpp in the tsan build alone.
files=$(grep -v parallel_std <<<"$files" || true)
if [ -z "$files" ]; then
  echo "no C++ source differs from $since"
  exit
fi
if [ -n "${TIDY_AT_MOST:-}" ] && [ "$(wc -l <<<"$files")" -gt "$TIDY_AT_MOST" ]; then
  echo "more than $TIDY_AT_MOST sources differ from $since: run scripts/tidy.sh $since by hand"
  exit
fi
# The commands are GCC's, some of whose warnings clang does not know.
xargs -P 2 -n 1 clang-tidy -p build/dev --quiet --extra-arg=-Wno-unknown-warning-option <<<"$files"
