"""`python -m elk` is the command `elk`."""

from __future__ import annotations

import sys

from elk.cli import main

if __name__ == "__main__":
    sys.exit(main())
