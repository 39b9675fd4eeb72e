"""The bulk lane's process (see `bulk`): the application behind a Unix socket, on CPU time that others leave."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading

import uvicorn
from anyio import to_thread

from jitterscope.main import create_app

# Threads that compute at once: each may hold a connection, and PostgreSQL does not know about priorities. So at most
# half of the CPUs work for the lane, both here and in PostgreSQL.
_THREADS = max(1, len(os.sched_getaffinity(0)) // 2)


def main() -> None:
    """Serve on the socket in the first argument until standard input, a pipe from the parent, ends."""
    # SCHED_IDLE yields as soon as another process wants the CPU; with a nice value it would first finish its time
    # slice.
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    asyncio.run(_serve(sys.argv[1]))


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


async def _serve(socket: str) -> None:
    to_thread.current_default_thread_limiter().total_tokens = _THREADS
    await uvicorn.Server(
        uvicorn.Config(
            create_app(), uds=socket, log_config=None, access_log=False, server_header=False, proxy_headers=False
        )
    ).serve()


if __name__ == "__main__":
    main()
