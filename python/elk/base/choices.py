"""Options that are words: one of a few, and a wrong one lists the right ones."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from elk.errors import InvalidInputError


def one_of(
    name: str,
    value: object,
    known: Sequence[str],
    *,
    later: Mapping[str, str] | None = None,
) -> str:
    """`value`, if it is one of the words that option `name` takes.

    Args:
        name: What the option is called.
        value: What the caller gave.
        known: The words that it takes.
        later: Words that it will take, and why not yet.

    Raises:
        InvalidInputError: it is not; the message lists the right words, the nearest first.

    Example:
        >>> one_of("policy", "static", ("basic", "static"))
        'static'
    """
    if isinstance(value, str) and value in known:
        return value
    if isinstance(value, str) and later is not None and value in later:
        raise InvalidInputError(
            f"{name} {value!r} is not there yet: {later[value]}",
            code="not_there_yet",
            remedy=f"use {', '.join(known)}",
        )
    text = str(value)
    near = sorted(known, key=lambda word: -difflib.SequenceMatcher(None, text, word).ratio())
    raise InvalidInputError(
        f"{name} must be one of {', '.join(map(repr, near))}, got {value!r}", code="unknown_name"
    )
