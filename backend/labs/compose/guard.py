"""`python -m labs.compose.guard PID`: removes the engine when its lab has ended without doing so itself."""

from __future__ import annotations

import os
import select
import sys

from labs.compose import engine


def main() -> None:
    """Wait for the lab's end."""
    try:
        owner = os.pidfd_open(int(sys.argv[1]))
    except ProcessLookupError:
        pass
    else:
        select.select([owner], [], [])
    engine.remove()


if __name__ == "__main__":
    main()
