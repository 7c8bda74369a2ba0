"""One test for many cases: every case runs, and those that fail are told together."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

Test = Callable[..., None]


def each(names: str | Sequence[str], cases: Iterable[Any]) -> Callable[[Test], Test]:
    """Calls a test with each of `cases` in turn, as `parametrize` would, but as one test.

    The fixtures of the test are made once. A failure names its case; decorators stack.
    """
    keys, rows = (names,) if isinstance(names, str) else tuple(names), list(cases)
    if not rows:
        raise ValueError(f"there is no case of {', '.join(keys)}")

    def for_all(test: Test) -> Test:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            failures: list[BaseException] = []
            for row in rows:
                values = (row,) if isinstance(names, str) else row
                try:
                    test(**fixtures, **dict(zip(keys, values, strict=True)))
                except (Exception, pytest.fail.Exception) as failure:
                    failure.add_note(f"in the case {', '.join(keys)} = {row!r:.300}")
                    failures.append(failure)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(rows)} cases fail", failures)

        signature = inspect.signature(test)
        kept = [x for name, x in signature.parameters.items() if name not in keys]
        run.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return run

    return for_all
