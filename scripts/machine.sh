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

# What the C++ tests need on top.
need_to_test() {
  need_to_build
  need "libgtest-dev:echo '#include <gtest/gtest.h>' | c++ -E -x c++ -"
}

# What the script does now, and how long it has run.
say() {
  echo "[${SECONDS} s] $1"
}

# Builds the wheel of ELK into build/wheel: build_elk OFF. build_elk ON builds the C++ tests beside it, of
# the same objects. What was built before is used again, by either: the build environment stays where
# it is, for a compiler run is kept only as long as its headers lie where they lay. More arguments are
# those of `python -m build`.
build_elk() {
  say "setting up what builds ELK, in .venv-build"
  make_environment .venv-build
  install_into .venv-build --group native
  say "building ELK (about 3 minutes on 2 cores the first time; a minute more with the C++ tests)"
  rm -rf build/wheel
  PATH="$PWD/.venv-build/bin:$PATH" .venv-build/bin/python -m build --wheel --no-isolation \
    --outdir build/wheel -C build-dir=build/release -C cmake.define.ELK_BUILD_TESTS="$1" "${@:2}" .
}

# Installs into the virtual environment at $1 what pip is told to. Python compiles the modules that it
# meets, when it meets them: pip would spend a minute on all that there are.
install_into() {
  "$1/bin/pip" install --quiet --no-compile "${@:2}"
}

# A virtual environment at $1 whose pip knows dependency groups.
make_environment() {
  if [ ! -x "$1/bin/pip" ]; then
    "$PYTHON" -m venv "$1"
  fi
  install_into "$1" --upgrade "pip>=25.1"
}

# Installs the wheel in build/wheel and what its tests need into .venv-test; $@ says what else.
install_to_test() {
  say "installing ELK and what its tests need into .venv-test"
  make_environment .venv-test
  .venv-test/bin/pip uninstall --quiet --yes elk-icca
  install_into .venv-test --group native --group test "$@" build/wheel/*.whl
}

# The tests of what build_elk ON has built and install_to_test installed, C++ first.
run_tests() {
  export PATH="$PWD/.venv-test/bin:$PATH"
  say "running the C++ tests (about 1 minute on 2 cores)"
  # tests/python/test_threads.py holds plans of several threads against each other; what is left out
  # does so for the thread sanitizer.
  ctest --test-dir build/release --output-on-failure --no-tests=error --parallel 2 \
    --exclude-regex "^OnAnyNumberOfThreads.CompileGives"
  say "running the Python tests and notebooks (about 5 minutes on 2 cores)"
  pytest --numprocesses logical --dist loadgroup
}
