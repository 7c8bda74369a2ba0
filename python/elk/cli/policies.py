"""`elk policies`: who may decide a schedule."""

from __future__ import annotations

from elk.cli.output import print_json, print_table
from elk.cli.reading import AsJson

_STARTS = {
    "nothing": "by itself",
    "below": "with those above it in this table",
    "all": "from all others",
}


def policies_command(*, json: AsJson = False) -> None:
    """List the policies: what each starts from, and what it does."""
    from elk.base.policies import POLICIES  # noqa: PLC0415 help does not wait for the core

    if json:
        keys = ("starts", "counts_energy", "colour", "summary")
        print_json(
            {name: {key: getattr(one, key) for key in keys} for name, one in POLICIES.items()}
        )
        return
    print_table([[name, _STARTS[one.starts], one.summary] for name, one in POLICIES.items()])
