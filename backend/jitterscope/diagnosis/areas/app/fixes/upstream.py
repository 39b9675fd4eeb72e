"""What to do about a server that is asked and slow: find what it waits for, and end what holds its locks."""

from __future__ import annotations

from dataclasses import dataclass

from jitterscope.diagnosis.areas.app.readings.calls import Waits
from jitterscope.diagnosis.core import predicted
from jitterscope.diagnosis.core.finding import Fix, Found, Patch, predictions
from jitterscope.diagnosis.core.landing import FixKind, Unseen

RELEASED = 0.7
VERIFY = (
    "Watch this incident: before and after are compared, and it closes as verified once slow answers are gone. By "
    "hand: the slowest answer of the server that is called falls to its usual time."
)


@dataclass(frozen=True, slots=True)
class _Software:
    """How to see what a server waits for. `programs` are names of executables."""

    programs: tuple[str, ...]
    name: str
    summary: str
    shell: str
    reference: str


_POSTGRES = _Software(
    ("postgres", "postgresql"), "PostgreSQL",
    "pg_blocking_pids names the sessions that hold the lock another one waits for, and `wait_event` says what else it "
    "waits for. log_lock_waits logs waits over deadlock_timeout (1 s by default).",
    "psql -c \"SELECT pid, pg_blocking_pids(pid) AS blocked_by, wait_event_type, wait_event, state,\n"
    "  now() - xact_start AS in_transaction, query FROM pg_stat_activity\n"
    "  WHERE backend_type = 'client backend' ORDER BY xact_start\"\n"
    "psql -c 'ALTER SYSTEM SET log_lock_waits = on' -c \"ALTER SYSTEM SET deadlock_timeout = '100ms'\" "
    "-c 'SELECT pg_reload_conf()'",
    "https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ACTIVITY-VIEW",
)  # fmt: skip
_MYSQL = _Software(
    ("mysqld", "mariadbd"), "MySQL",
    "innodb_lock_waits names the session that holds the row lock another one waits for. The slow log names long "
    "queries.",
    "mysql -e 'SELECT * FROM sys.innodb_lock_waits\\G' -e 'SHOW FULL PROCESSLIST'",
    "https://dev.mysql.com/doc/refman/8.4/en/sys-innodb-lock-waits.html",
)  # fmt: skip
_REDIS = _Software(
    ("redis-server", "valkey-server"), "Redis",
    "It runs one command at a time: the slow log names the commands that hold up all others.",
    "redis-cli config set slowlog-log-slower-than 10000\nredis-cli slowlog get 25",
    "https://redis.io/docs/latest/operate/oss_and_stack/management/optimization/latency/",
)  # fmt: skip
_KNOWN = (_POSTGRES, _MYSQL, _REDIS)


def propose(found: Found, waits: Waits) -> list[Fix]:
    software = _software(waits)
    proposals = [_look(waits, software)]
    # Nobody waits for a lock who does not even read, and who waited for one goes on together with others.
    reads = waits.account is not None and (waits.account.unread is None or waits.account.unread < 0.5)
    if software is _POSTGRES and reads and waits.together >= RELEASED:
        proposals.append(_idle_transactions(found, waits))
    return proposals


def _software(waits: Waits) -> _Software | None:
    name = None if waits.account is None else waits.account.server.fact("tcp.program")
    return next((one for one in _KNOWN if name in one.programs), None)


def _look(waits: Waits, software: _Software | None) -> Fix:
    where = waits.address if software is None else f"{software.name} at {waits.address}"
    text = f"ss -tnpi dst {waits.address}" if software is None else software.shell
    return Fix(
        id="look_at_upstream",
        title=f"See what {where} waits for",
        summary="Shows its connections, the processes that hold them, and the round-trip times that the kernel "
        "measures."
        if software is None
        else software.summary,
        verdict="unknown",
        precondition="Works only while stalls recur.",
        patches=[
            Patch(
                label="On the node of the caller, as root" if software is None else "Where the server runs",
                language="shell",
                text=text,
            )
        ],
        verify=VERIFY,
        undo="Nothing to undo."
        if software is not _POSTGRES
        else "`ALTER SYSTEM RESET log_lock_waits` and `ALTER SYSTEM RESET deadlock_timeout`, then `pg_reload_conf()`.",
        references=["https://man7.org/linux/man-pages/man8/ss.8.html" if software is None else software.reference],
    )


def _idle_transactions(found: Found, waits: Waits) -> Fix:
    return Fix(
        id="end_idle_transactions",
        title="Set `idle_in_transaction_session_timeout` for one role in PostgreSQL",
        summary="A session that has begun a transaction and is idle keeps its locks, and every session that needs "
        "them waits. PostgreSQL ends such sessions after this timeout.",
        verdict="unknown",
        predicted=predictions(slow_ratio=predicted.scaled(found.impact, waits.hits, 0.0, 0.5, 1.0)),
        precondition="Works only if pg_stat_activity shows sessions `idle in transaction` that block others. A long "
        "query that holds a lock is not ended.",
        patches=[
            Patch(
                label="Where the server runs",
                language="shell",
                text='psql -c "SELECT usename, datname, pid, now() - state_change AS idle, query\n'
                "  FROM pg_stat_activity WHERE state = 'idle in transaction' ORDER BY idle DESC\"\n"
                "psql -c \"ALTER ROLE ROLE SET idle_in_transaction_session_timeout = 'TIMEOUT'\"",
            )
        ],
        caveats=[
            "ROLE is the role of the sessions that hold the locks, and TIMEOUT is above the longest pause that its "
            "transactions need: how long they pause is not recorded, and ordinary ORM work pauses for seconds.",
            "Clients whose sessions are ended get an error and have to reconnect. It applies to new sessions.",
        ],
        verify=VERIFY,
        undo="`ALTER ROLE ROLE RESET idle_in_transaction_session_timeout`.",
        references=[
            "https://www.postgresql.org/docs/current/runtime-config-client.html#GUC-IDLE-IN-TRANSACTION-SESSION-TIMEOUT"
        ],
    )


FIXES = (
    FixKind(
        id="look_at_upstream",
        title="See what the called server waits for",
        precondition="Stalls recur.",
        landing=Unseen("Looking changes nothing."),
    ),
    FixKind(
        id="end_idle_transactions",
        title="End idle transactions in PostgreSQL",
        precondition="PostgreSQL whose sessions hold locks while they are idle in a transaction.",
        landing=Unseen("The collector does not read settings of a database."),
        measures=("slow_ratio",),
        lab="slow-dependency --apply end_idle_transactions",
    ),
)
