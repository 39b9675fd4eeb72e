"""Fixes: more processes that take requests, and less work at a time in the one thread."""

from __future__ import annotations

from jitterscope.diagnosis.areas.cpu.readings.event_loop import Loop
from jitterscope.diagnosis.core import owners, patches, predicted
from jitterscope.diagnosis.core.finding import Fix, Found, Patch, predictions
from jitterscope.diagnosis.core.landing import FixKind, Unseen
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs.event_loops import NODE, PYTHON, REDIS, VALKEY, EventLoop

VERIFY = (
    "Watch this incident: before and after are compared, and it closes as verified once slow answers are gone. "
    "By hand: no process of the server stays at 100 % of a CPU."
)
_REFERENCES = {
    NODE: ["https://nodejs.org/api/cluster.html", "https://nodejs.org/api/worker_threads.html"],
    PYTHON: [
        "https://docs.gunicorn.org/en/stable/design.html",
        "https://docs.python.org/3/library/concurrent.futures.html",
    ],
    REDIS: ["https://redis.io/docs/latest/operate/oss_and_stack/management/optimization/latency/"],
    VALKEY: ["https://valkey.io/topics/latency/"],
}
_MORE = {
    NODE: ("Start a process for each CPU", "const cluster = require('node:cluster');\nif (cluster.isPrimary) {\n"
           "  for (let n = 0; n < WORKERS; n++) cluster.fork();\n} else {\n  startServer();\n}"),
    PYTHON: ("Start worker processes", "gunicorn --workers WORKERS APP:app"),
}  # fmt: skip
_AWAY = {
    NODE: ("Find it, with a CPU profile", "node --cpu-prof SCRIPT  # then look for functions over 50 ms"),
    PYTHON: ("Find it, in the running process", "py-spy record --pid PID --duration 30 --output profile.svg"),
}


def propose(snapshot: Snapshot, found: Found, loop: Loop) -> list[Fix]:
    if loop.kind in (REDIS, VALKEY):
        return [_shorter_commands(found, loop), _shards(loop)]
    return [_workers(snapshot, found, loop), _off_loop(found, loop)]


def _workers(snapshot: Snapshot, found: Found, loop: Loop) -> Fix:
    label, text = _MORE[loop.kind]
    texts = [Patch(label=label, language="shell", text=text)]
    if patches.manager(snapshot) == "kubernetes" and (owner := owners.of(snapshot)).can_scale:
        namespace = snapshot.subject.fact("workload.namespace") or "NAMESPACE"
        scale = f"kubectl -n {namespace} scale {owner} --replicas=REPLICAS"
        texts.append(Patch(label="Or more replicas", language="shell", text=scale))
    return Fix(
        id="worker_processes",
        title=f"Run several processes of {loop.kind.program}",
        summary="Each process has its own thread: a long function holds up only the requests of its process. "
        f"{loop.idle:.2g} CPUs of the node were idle and could run the others.",
        # With no CPU idle they wait for a CPU instead of for the thread.
        verdict="reduces" if loop.idle >= 0.5 else "unknown",
        predicted=predictions(slow_ratio=predicted.remaining(found, "ran_meanwhile", 0.0, 0.5, 1.0)),
        patches=texts,
        caveats=[
            "Processes no longer share state in memory, such as sessions and caches.",
            "A CPU limit must allow as many CPUs as there are processes.",
        ],
        verify=VERIFY,
        undo="Run one process again.",
        references=_REFERENCES[loop.kind],
    )


def _off_loop(found: Found, loop: Loop) -> Fix:
    label, text = _AWAY[loop.kind]
    where = "a worker thread (node:worker_threads)" if loop.kind == NODE else "a process pool (concurrent.futures)"
    return Fix(
        id="off_loop",
        title=f"Move long {loop.kind.task}s off the {loop.kind.thread}",
        summary=f"Move what computes for longer than a few ms to {where}, or split it into steps that let requests "
        "run in between.",
        verdict="removes",
        predicted=predictions(slow_ratio=predicted.remaining(found, "ran_meanwhile", 0.0, 0.1, 0.5)),
        precondition=f"Works only if the {loop.kind.task}s that take long are known.",
        patches=[Patch(label=label, language="shell", text=text)],
        caveats=[
            "Typical candidates: parsing or printing large JSON, compression, cryptography, templates, regular "
            "expressions."
        ],
        verify=VERIFY,
        undo="Call them directly again.",
        references=_REFERENCES[loop.kind],
    )


def _shorter_commands(found: Found, loop: Loop) -> Fix:
    client = _client(loop.kind)
    return Fix(
        id="shorter_commands",
        title="Replace commands that run for long",
        summary=f"{loop.kind.program} runs one command at a time: KEYS, SMEMBERS, HGETALL, LRANGE, SORT, or a script "
        "over a large key hold up all others. SCAN and its variants do the same in steps.",
        verdict="removes",
        predicted=predictions(slow_ratio=predicted.remaining(found, "ran_meanwhile", 0.0, 0.1, 0.5)),
        precondition="Works only if the slow log names commands that clients can do without.",
        patches=[
            Patch(
                label="Find them",
                language="shell",
                text=f"{client} config set slowlog-log-slower-than 10000\n{client} slowlog get 25\n{client} --bigkeys",
            )
        ],
        caveats=["Deleting a large key blocks too: UNLINK frees it in the background."],
        verify=VERIFY,
        undo="Nothing to undo.",
        references=_REFERENCES[loop.kind],
    )


def _shards(loop: Loop) -> Fix:
    return Fix(
        id="shards",
        title="Spread the keys over several instances",
        summary="Each instance has its own thread: a long command holds up only the keys of its instance.",
        verdict="reduces",
        precondition="Works only if clients support the cluster protocol and commands do not span keys of different "
        "slots.",
        patches=[Patch(label="Configuration", language="shell", text="cluster-enabled yes")],
        caveats=[
            "`io-threads` spread only reading and writing: they help if answers are large, not if commands are long."
        ],
        verify=VERIFY,
        undo="Move the keys back into one instance.",
        references=_REFERENCES[loop.kind],
    )


def _client(kind: EventLoop) -> str:
    return "valkey-cli" if kind == VALKEY else "redis-cli"


_CODE = Unseen("What the program runs, and in how many threads or processes, is code: no collector reads it.")
FIXES = (
    FixKind(
        id="worker_processes",
        title="Run several processes",
        precondition="A program that can serve from several processes, and idle CPUs.",
        landing=Unseen("No collector records how many processes serve a port or sees replicas on other nodes."),
        measures=("slow_ratio",),
    ),
    FixKind(
        id="off_loop",
        title="Move long work off the event loop",
        precondition="Work that does not have to run in the thread that answers.",
        landing=_CODE,
        measures=("slow_ratio",),
        lab="event-loop --apply off_loop",
    ),
    FixKind(
        id="shorter_commands",
        title="Replace commands that run for long",
        precondition="Redis or Valkey, with long commands in the slow log.",
        landing=_CODE,
        measures=("slow_ratio",),
    ),
    FixKind(
        id="shards",
        title="Spread keys over several instances",
        precondition="Clients that support the cluster protocol.",
        landing=Unseen("Other instances are other workloads."),
        measures=("slow_ratio",),
    ),
)
