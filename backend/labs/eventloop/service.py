"""An asyncio HTTP service that makes a report for one in so many requests, in its event loop or another process.

Stand-alone: python service.py --listen=ADDRESS:PORT --report-every=N --report-rows=N --off-loop=0|1.
"""

from __future__ import annotations

import asyncio
import gc
import json
import multiprocessing
import signal
import sys
from concurrent.futures import Executor, ProcessPoolExecutor

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n" + b"x" * 2000


def report(rows: int) -> int:
    """What a service does that reads rows, changes them, and writes them as JSON."""
    every = [{"id": n, "name": f"item {n}", "price": n * 1.5, "tags": ["new", "sale"]} for n in range(rows)]
    read = json.loads(json.dumps(every))
    return len(json.dumps([one for one in read if one["price"] > 1]))


class Service:
    """Reports are made in the event loop until `move_off` is called."""

    def __init__(self, every: int, rows: int) -> None:
        self._every, self._rows = every, rows
        self._pool: Executor | None = None
        self._served = 0

    def move_off(self) -> None:
        """From now on, make reports in another process."""
        self._pool = self._pool or ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer requests of one connection until the client closes it."""
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                self._served += 1
                if self._every and self._served % self._every == 0:
                    await self._report()
                writer.write(_ANSWER)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _report(self) -> None:
        if self._pool is None:
            report(self._rows)
        else:
            await asyncio.get_running_loop().run_in_executor(self._pool, report, self._rows)


async def main() -> None:
    given = dict(argument.split("=", 1) for argument in sys.argv[1:])
    address, port = given["--listen"].split(":")
    service = Service(int(given["--report-every"]), int(given["--report-rows"]))
    if given["--off-loop"] == "1":
        service.move_off()
    # Like a release that does so: connections stay open.
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR2, service.move_off)
    server = await asyncio.start_server(service.answer, address, int(port), backlog=4096)
    gc.freeze()  # what stays for good is not gone through again: only the report stops the loop
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
