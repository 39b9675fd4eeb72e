"""The network agent in its pod: loads eBPF programs for each pod that the CNI plugin asks for.

It keeps them until the pod is gone. Arguments: the socket, and the loader with its options. The variable PROGRAMS sets
their number.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys


def main() -> None:
    """Serve one plugin call after another."""
    path, loader = sys.argv[1], sys.argv[2:]
    held: dict[str, subprocess.Popen[bytes]] = {}
    if os.path.exists(path):
        os.unlink(path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen(64)
        while True:
            asking, _ = server.accept()
            with asking, asking.makefile("rw") as lines:
                command, _, pod = lines.readline().strip().partition(" ")
                if command == "ADD" and pod not in held:
                    held[pod] = _loaded([*loader, f"--sections={os.environ['PROGRAMS']}"])
                elif command == "DEL" and pod in held:
                    _free(held.pop(pod))
                lines.write("done\n")


def _loaded(command: list[str]) -> subprocess.Popen[bytes]:
    """The loader, once its programs are loaded; they stay as long as it runs."""
    program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert program.stdout is not None
    if not program.stdout.readline():
        sys.exit(f"{command[0]} loaded nothing")
    return program


def _free(program: subprocess.Popen[bytes]) -> None:
    assert program.stdin is not None
    program.stdin.close()
    program.wait()


if __name__ == "__main__":
    main()
