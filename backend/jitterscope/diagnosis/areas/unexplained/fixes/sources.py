"""What would make the place visible in which the time of late answers goes: collector sources that do not deliver."""

from __future__ import annotations

from jitterscope.diagnosis.areas.unexplained.readings.processes import serving
from jitterscope.diagnosis.core.finding import Fix
from jitterscope.diagnosis.core.landing import FixKind, Unseen
from jitterscope.diagnosis.core.missing_data import source_of
from jitterscope.diagnosis.core.served import metric
from jitterscope.diagnosis.core.signals import has
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot

ID = "record_where_time_goes"


def _missing(snapshot: Snapshot, server: ResourceView) -> dict[str, str]:
    """What is not recorded, by the source that would: what it tells."""
    processes = serving(snapshot, server)
    told = {
        "process_cpu_us": ("whether the program ran", any(has(one, "process_cpu_us") for one in processes)),
        "process_run_delay_us": (
            "whether it waited for a CPU", any(has(one, "process_run_delay_us") for one in processes),
        ),
        metric(server, "wait"): (
            "whether it had read the requests", metric(server, "wait") in server.distributions,
        ),
        "psi_io_some_us": ("whether tasks waited for I/O", has(snapshot.node, "psi_io_some_us")),
    }  # fmt: skip
    return {source_of(name): text for name, (text, known) in told.items() if not known}


def propose(snapshot: Snapshot, server: ResourceView) -> list[Fix]:
    missing = _missing(snapshot, server)
    if not missing:
        return []
    needs = [f"{name}: {snapshot.unavailable[name]}" for name in missing if name in snapshot.unavailable]
    return [
        Fix(
            id=ID,
            title=f"Let the collector record {' and '.join(missing)}",
            summary=f"The next stall then shows {', '.join(missing.values())}. The service is not changed.",
            verdict="unknown",
            precondition=". ".join(needs) + "."
            if needs
            else "The source delivered nothing in this window: the collector's log on this node says why.",
            verify="The next incident of this kind includes these figures.",
            undo="Nothing to undo.",
            references=["https://docs.kernel.org/scheduler/sched-stats.html"],
        )
    ]


FIXES = (
    FixKind(
        ID,
        "Let the collector record what is missing",
        "A collector source delivers no data.",
        Unseen("It changes what is measured, not the workload."),
    ),
)
