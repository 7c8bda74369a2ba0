# Sourced by the other scripts: what a fresh machine needs before ELK builds on it.

PYTHON=${PYTHON:-python3}

# Installs the Debian packages among "$@" ("package:test", the test being a command that succeeds
# when the package is not needed), or says which are missing where that takes another user.
need() {
  local missing=() entry
  for entry in "$@"; do
    bash -c "${entry#*:}" >/dev/null 2>&1 || missing+=("${entry%%:*}")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    return
  fi
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "ELK needs these Debian packages, or what is like them here: ${missing[*]}" >&2
    exit 1
  fi
  echo "installing ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" >/dev/null
}

# What `pip install .` needs: a compiler, and Python with its headers and virtual environments.
need_to_build() {
  need "python3:command -v $PYTHON"
  need "g++:command -v c++" "python3-venv:$PYTHON -c 'import ensurepip'" \
    "python3-dev:test -f \$($PYTHON -c 'import sysconfig; print(sysconfig.get_path(\"include\"))')/Python.h"
  if ! "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "ELK needs Python 3.11 or newer, $PYTHON is $("$PYTHON" --version)" >&2
    exit 1
  fi
}

# What the C++ tests and benchmarks need on top.
need_to_test() {
  need_to_build
  need "libgtest-dev:echo '#include <gtest/gtest.h>' | c++ -E -x c++ -" \
    "libbenchmark-dev:echo '#include <benchmark/benchmark.h>' | c++ -E -x c++ -"
}

# What the script does now, and how long it has run.
say() {
  echo "[${SECONDS} s] $1"
}

# Builds the wheel of ELK into build/wheel; the next time, what has changed since. Its build
# environment stays, for a compiler run is kept only as long as its headers lie where they lay.
build_wheel() {
  say "setting up what builds ELK, in .venv-build"
  make_environment .venv-build
  .venv-build/bin/pip install --quiet --group native
  say "building ELK (about 3 minutes on 2 cores the first time)"
  rm -rf build/wheel
  PATH="$PWD/.venv-build/bin:$PATH" .venv-build/bin/python -m build \
    --wheel --no-isolation --outdir build/wheel .
}

# A virtual environment at $1 whose pip knows dependency groups.
make_environment() {
  if [ ! -x "$1/bin/pip" ]; then
    "$PYTHON" -m venv "$1"
  fi
  "$1/bin/python" -m pip install --quiet --upgrade "pip>=25.1"
}
