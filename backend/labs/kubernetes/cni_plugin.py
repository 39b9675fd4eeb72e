"""A CNI plugin at the end of a chain: the sandbox waits until the network agent has loaded its pod's programs.

If no agent runs, as while its own pod starts, it does not wait.
"""

from __future__ import annotations

import json
import os
import socket
import sys

_VERSIONS = ["0.4.0", "1.0.0"]


def main() -> None:
    """As in the CNI specification: the command is in the environment, the network on standard input."""
    command = os.environ["CNI_COMMAND"]
    if command == "VERSION":
        json.dump({"cniVersion": _VERSIONS[-1], "supportedVersions": _VERSIONS}, sys.stdout)
        return
    network = json.load(sys.stdin)
    if command in ("ADD", "DEL"):
        _ask(network["socket"], f"{command} {os.environ['CNI_CONTAINERID']}\n")
    if command == "ADD":
        json.dump(network["prevResult"], sys.stdout)


def _ask(path: str, words: str) -> None:
    with socket.socket(socket.AF_UNIX) as agent:
        try:
            agent.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            return
        with agent.makefile("rw") as lines:
            lines.write(words)
            lines.flush()
            lines.readline()


if __name__ == "__main__":
    main()
