"""Starts a server process: `python launch.py [options] -- COMMAND…`. Stand-alone, standard library only.

Servers that refuse root (PostgreSQL) run in a user namespace where root has another number; nothing on the host
changes and files stay owned by whoever started it. `--root` runs the command inside a folder with another
distribution, `--bind` shows it a host folder there; both exist only for that process.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import pwd
import select
import signal
import sys
import time
from pathlib import Path

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 1 << 18
# An id that /etc/passwd of every distribution has: initdb looks it up.
INNER_ID = 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--not-root", action="store_true", help="where we are root, be somebody else in a user namespace"
    )
    parser.add_argument("--root", help="folder that becomes / for the command")
    parser.add_argument("--bind", action="append", default=[], metavar="DIR", help="host folder shown at the same path")
    parser.add_argument("--pgdata", help="remove a postmaster.pid in here that no live PostgreSQL owns")
    parser.add_argument("--wait-file", help="start the command only when this file exists")
    parser.add_argument("--with-stdin", action="store_true", help="end the command when standard input closes")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    while options.wait_file and not os.path.exists(options.wait_file):
        time.sleep(0.05)
    if options.pgdata:
        remove_stale_pid(Path(options.pgdata))
    child = 0 if not options.with_stdin else os.fork()
    if child:
        sys.exit(guard(child))
    enter(options.root, options.bind, options.not_root)
    os.execvp(options.command[0], options.command)  # noqa: S606


def remove_stale_pid(pgdata: Path) -> None:
    """Delete a stale postmaster.pid: after a SIGKILL or a reboot its pid may belong to another process."""
    pid_file = pgdata / "postmaster.pid"
    try:
        pid = int(pid_file.read_text().split("\n", 1)[0])
        executable = os.readlink(f"/proc/{pid}/exe")
        working_folder = os.readlink(f"/proc/{pid}/cwd")
    except FileNotFoundError:
        executable = working_folder = ""
    except (OSError, ValueError):
        return  # not ours to inspect: let PostgreSQL decide
    # PostgreSQL changes into its data folder.
    if os.path.basename(executable) != "postgres" or os.path.basename(working_folder) != pgdata.name:
        pid_file.unlink(missing_ok=True)


def enter(root: str | None, binds: list[str], not_root: bool) -> None:
    """Switch to another user id and another root folder, as far as requested and needed."""
    if root is None and not (not_root and (os.geteuid() == 0 or nameless())):
        return
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    call(libc.unshare(CLONE_NEWUSER | (CLONE_NEWNS if root else 0)), "make a user namespace")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{INNER_ID} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{INNER_ID} {group} 1")
    if root is None:
        return
    call(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "keep mounts private")
    for folder in ["/proc", "/dev", "/tmp", *binds]:  # noqa: S108
        inside = root + folder
        os.makedirs(inside, exist_ok=True)
        call(libc.mount(folder.encode(), inside.encode(), None, MS_BIND | MS_REC, None), f"bind {folder}")
    os.chroot(root)
    os.chdir("/")


def nameless() -> bool:
    """Whether our user id has no name, as in some containers."""
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        return True
    return False


def call(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        sys.exit(
            f"cannot {what}: {os.strerror(number)}. PostgreSQL refuses to run as root, and this machine does not allow "
            "user namespaces: run as an ordinary user, or allow them (sysctl kernel.unprivileged_userns_clone=1)."
        )


def guard(child: int) -> int:
    """Wait for the child; end it when standard input closes, that is, when our parent is gone."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, lambda received, _frame: os.kill(child, received))
    ended = os.pidfd_open(child)
    watched = [ended, 0]
    while True:
        readable, _, _ = select.select(watched, [], [])
        if ended in readable:
            _, status = os.waitpid(child, 0)
            return os.waitstatus_to_exitcode(status) & 0xFF
        if 0 in readable and not os.read(0, 4096):
            watched.remove(0)
            os.kill(child, signal.SIGINT)  # PostgreSQL: fast shutdown


if __name__ == "__main__":
    main()
