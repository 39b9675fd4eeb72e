"""Stops the stack when the process that started it is gone: `python -m jitterscope.devstack.guardian PID`."""

from __future__ import annotations

import os
import select
import signal
import sys


def main() -> None:
    """Wait for the process to end, then end supervisord, our parent, and with it the whole stack."""
    try:
        descriptor = os.pidfd_open(int(sys.argv[1]))
        select.select([descriptor], [], [])
    except ProcessLookupError:
        pass
    os.kill(os.getppid(), signal.SIGTERM)
    signal.pause()


if __name__ == "__main__":
    main()
