"""`python -m jitterscope.analyses.child`: reads one untrusted file under limits, in its own process.

Standard input: one JSON object, the fields of `Order`. Standard output: JSON lines, `{"progress": 0..1}` and last
`{"report": …}` or `{"problem": {type, title, detail, what_to_do}}`. Ends by a signal if a hard limit is reached.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
import time
from collections.abc import Callable

from pydantic import BaseModel

from jitterscope.analyses.order import Order, Refused


def main() -> None:
    order = Order.model_validate_json(sys.stdin.buffer.read())
    limit(order)
    try:
        say({"report": read(order).model_dump(mode="json")})
    except Refused as refused:
        say({"problem": refused.problem})
    except MemoryError:
        say({"problem": too_much_memory(order.most_memory_bytes).problem})
    except RecursionError:
        say({"problem": _malformed("it is nested too deeply").problem})


def limit(order: Order) -> None:
    """From here on, the kernel ends this process and its children if they use too much."""
    # Private memory; reserved address space does not count (Go reserves much of it).
    resource.setrlimit(resource.RLIMIT_DATA, (order.most_memory_bytes, order.most_memory_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (order.most_cpu_s, order.most_cpu_s + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, 65_536))  # only standard error is a file
    signal.alarm(order.most_wall_s)  # even if the parent process is gone


def read(order: Order) -> BaseModel:
    """The report of the file. Raises Refused."""
    # Imported under the limits: a file can only affect this process.
    from jitterscope.analyses import capture
    from jitterscope.analyses.engine import UnknownKind, read_lines
    from jitterscope.analyses.source import Damaged, Source, TooMuch

    size = max(1, order.path.stat().st_size)
    source = Source(order.path, order.most_unpacked_bytes, _progress(lambda at: min(1.0, at / size)))
    try:
        if source.is_capture:
            return capture.read(order, _progress(float))
        if source.is_binary:
            raise Refused(
                "unknown-file-kind",
                "Unsupported file",
                "The file is neither a capture nor text.",
                KINDS,
            )
        report = read_lines(source.lines(), order.year)
    except UnknownKind as unknown:
        raise Refused(
            "unknown-file-kind",
            "No supported content found",
            f"Its first line is {unknown.example!r}." if unknown.example else "The file has no text.",
            KINDS,
        ) from None
    except TooMuch:
        raise Refused(
            "unpacks-to-too-much",
            "The unpacked file is too large",
            f"More than {order.most_unpacked_bytes / 1e9:.3g} GB were unpacked from {size / 1e6:.3g} MB.",
            "Cut the file to the relevant minutes, or raise JITTERSCOPE_EVIDENCE_MAX_INFLATION and "
            "JITTERSCOPE_EVIDENCE_MAX_UNPACKED_BYTES.",
        ) from None
    except Damaged as damaged:
        raise Refused(
            "damaged-file", "The file is damaged", f"It starts like gzip but cannot be unpacked ({damaged}).",
            "Record or copy the file again.",
        ) from None  # fmt: skip
    notes = list(report.notes)
    if source.ends_early:
        notes.append("The gzip file is cut off or damaged. The part before was read.")
    if source.cut_lines:
        notes.append(f"{source.cut_lines:,} very long lines were read up to 64 KiB.")
    return report.model_copy(update={"notes": notes})


KINDS = (
    "Give a capture (pcap, pcapng), a log of dnsmasq or CoreDNS, a metrics page, cpu.stat, `top -b` or process counts, "
    "as text or gzip."
)


def too_much_memory(most_bytes: int) -> Refused:
    return Refused(
        "takes-too-much-memory", "The analysis takes too much memory", f"The limit is {most_bytes / 1e6:.0f} MB.",
        "Cut the file to the relevant minutes, or raise JITTERSCOPE_EVIDENCE_MAX_MEMORY_BYTES.",
    )  # fmt: skip


def _malformed(why: str) -> Refused:
    return Refused(
        "damaged-file", "The file is damaged", f"It cannot be read: {why}.", "Record or copy the file again."
    )


def say(message: object) -> None:
    """Write one JSON line."""
    sys.stdout.write(json.dumps(message, allow_nan=False, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def _progress(ratio: Callable[[float], float]) -> Callable[[float], None]:
    """Report the progress of reading, at most five times a second."""
    last = [0.0]

    def tell(value: float) -> None:
        now = time.monotonic()
        if now - last[0] >= 0.2:
            last[0] = now
            say({"progress": round(ratio(value), 4)})

    return tell


if __name__ == "__main__":
    main()
