"""Plants bugs one at a time in a copy of ELK, and says whether the tests of every run find them.

`faults.toml` lists the faults: each replaces some text of one source by a plausible bug, and names
the tests that have to fail with it. A test in C++ is `module: Suite.Name`, one of the front end the
node id of pytest. The copy and its build stay in one folder, so the next run builds what changed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from copied_core import environment_of  # noqa: E402 - from the folder above

LIST = Path(__file__).with_name("faults.toml")
PASSED, FAILED, CAUGHT = "passed", "failed", "caught"
LIMIT_S = 900  # for one test; whoever waits longer has not been told


@dataclass(frozen=True)
class Fault:
    """A bug to plant.

    Attributes:
        name: What it is called on the command line.
        area: The planner, the program, the simulator or the front end.
        file: The source, from the root of the repository.
        old: Text that stands in it exactly once.
        new: What takes its place.
        caught_by: The tests that have to fail with it.
    """

    name: str
    area: str
    file: str
    old: str
    new: str
    caught_by: list[str]


def listed() -> list[Fault]:
    """All faults, those of one source together."""
    rows = tomllib.loads(LIST.read_text(encoding="utf-8"))["fault"]
    return sorted((Fault(**row) for row in rows), key=lambda fault: fault.file)


class Copy:
    """A copy of the repository, built apart from it."""

    def __init__(self, folder: Path) -> None:
        self.tree = folder / "tree"
        self.build = folder / "cmake"

    def update(self) -> None:
        """Makes the copy what the repository is; files that are the same keep their time."""
        listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.check_output(listing, cwd=ROOT, text=True).split("\0")
        wanted = {name for name in names if name and (ROOT / name).is_file()}
        for path in sorted(self.tree.rglob("*")):
            if path.is_file() and path.relative_to(self.tree).as_posix() not in wanted:
                path.unlink()
        for name in wanted:
            data, target = (ROOT / name).read_bytes(), self.tree / name
            if not target.is_file() or target.read_bytes() != data:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)

    @contextmanager
    def planted(self, fault: Fault) -> Iterator[None]:
        """The copy with one fault in it."""
        path = self.tree / fault.file
        sound = path.read_text(encoding="utf-8")
        path.write_text(sound.replace(fault.old, fault.new), encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(sound, encoding="utf-8")

    def prepare(self, tests: list[str]) -> None:
        """Has all that these tests need, but for what `make` builds."""
        if any(is_cpp(test) for test in tests) and not (self.build / "build.ninja").exists():
            # One source at a time: after a fault, that one alone is compiled again. A fault may
            # leave a variable without use.
            where = ["-B", str(self.build), "-DELK_BUILD_BINDINGS=OFF", "-DELK_WERROR=OFF"]
            subprocess.run(["cmake", "--preset", "dev", *where], cwd=self.tree, check=True)
        if not all(is_cpp(test) for test in tests):
            core = find_spec("elk._core")
            if core is None or core.origin is None:
                raise SystemExit("tests of the front end need ELK to be installed")
            shutil.copy2(core.origin, self.tree / "python" / "elk")

    def make(self, tests: list[str], jobs: str) -> bool:
        """Builds what these tests run; whether that can be built."""
        targets = sorted({f"test_{test.partition(':')[0]}" for test in tests if is_cpp(test)})
        command = ["cmake", "--build", str(self.build), "-j", jobs, "--target", *targets]
        return not targets or run(*command) == 0

    def outcome(self, test: str) -> str:
        """What becomes of a test: `PASSED`, `FAILED`, or why neither."""
        if is_cpp(test):
            module, _, name = test.partition(": ")
            which = ["--no-tests=error", "-L", f"^{module}$", "-R", f"(^|/){re.escape(name)}(/|$)"]
            command, failed = ["ctest", "--test-dir", str(self.build), *which], 8
        else:
            command, failed = [sys.executable, "-m", "pytest", "-q", "-x", test], 1
        try:
            code = run(*command, cwd=self.tree, timeout=LIMIT_S, env=self._environment())
        except subprocess.TimeoutExpired:
            return f"ran for more than {LIMIT_S} s"
        return {0: PASSED, failed: FAILED}.get(code, f"did not run: exit status {code}")

    def _environment(self) -> dict[str, str]:
        """Has the tests import the copy; no byte code, which may be older than a second is long."""
        return {**environment_of(self.tree / "python"), "PYTHONDONTWRITEBYTECODE": "1"}


def is_cpp(test: str) -> bool:
    """Whether a test is one in C++."""
    return ".py" not in test


def run(*command: str, **how: Any) -> int:
    """Runs a command without a word, and returns its exit status."""
    return subprocess.run(command, text=True, capture_output=True, check=False, **how).returncode


def tell(line: str) -> None:
    """Prints a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def unsound(copy: Copy, tests: list[str], jobs: str) -> list[str]:
    """The tests of a list that do not even pass with nothing planted, and what they do."""
    if not copy.make(tests, jobs):
        raise SystemExit("the copy cannot be built, with nothing planted in it")
    found = {test: copy.outcome(test) for test in tests}
    return [
        f"{test}: {what} with nothing planted" for test, what in found.items() if what != PASSED
    ]


def verdicts(copy: Copy, fault: Fault, jobs: str) -> list[tuple[str, str]]:
    """For each test that should find a fault: whether it does."""
    count = (copy.tree / fault.file).read_text(encoding="utf-8").count(fault.old)
    if count != 1:
        return [(fault.file, f"the old text stands there {count} times")]
    with copy.planted(fault):
        if not copy.make(fault.caught_by, jobs):
            return [(fault.file, "cannot be built")]
        found = [(test, copy.outcome(test)) for test in fault.caught_by]
    names = {FAILED: CAUGHT, PASSED: "missed"}
    return [(test, names.get(what, what)) for test, what in found]


def main() -> int:
    """Plants faults, and prints a table of what found them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="print the faults and plant none")
    parser.add_argument("--only", action="append", metavar="NAME", help="plant this fault alone")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "faults", metavar="FOLDER")
    parser.add_argument("--jobs", default=str(os.cpu_count()), help="compilers at a time")
    asked = parser.parse_args()
    faults = [fault for fault in listed() if not asked.only or fault.name in asked.only]
    if unknown := set(asked.only or ()) - {fault.name for fault in faults}:
        parser.error(f"no fault is called {', '.join(sorted(unknown))}")
    width = max(len(fault.name) for fault in faults)
    if asked.list:
        for fault in faults:
            tell(f"{fault.name:{width}}  {fault.area:9}  {fault.file}")
        return 0
    copy = Copy(asked.build.resolve())
    tests = sorted({test for fault in faults for test in fault.caught_by})
    copy.update()
    copy.prepare(tests)
    if broken := unsound(copy, tests, asked.jobs):
        tell("\n".join(broken))
        return 1
    missed = 0
    for fault in faults:
        for test, what in verdicts(copy, fault, asked.jobs):
            missed += what != CAUGHT
            tell(f"{fault.name:{width}}  {what:6}  {test}")
    tell(f"{len(faults)} faults, {missed} not caught")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
