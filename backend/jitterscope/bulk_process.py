"""The process of the bulk lane (see `bulk`): the application behind a Unix socket, on CPU time that others leave."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading

import uvicorn
from anyio import to_thread

from jitterscope.main import create_app

# What computes at once, on threads: each may hold a connection, and PostgreSQL knows nothing of priorities. So at most
# half of the CPUs work for the lane, there as here.
_THREADS = max(1, len(os.sched_getaffinity(0)) // 2)


def main() -> None:
    """Serve at the socket of the first argument until standard input ends: it is the parent's."""
    # At once whenever another process wants the CPU: with a nice value it would finish its time slice first.
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
