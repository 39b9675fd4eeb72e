"""The process that carries one notification. It survives its worker and records the outcome.

Started by `delivery.py` as `python -S courier.py FD` in its own session, with the request as JSON on standard input
(never in arguments or files: it holds secrets) and the locked journal file as inherited descriptor FD.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from pathlib import Path

if __name__ == "__main__":  # without site-packages, the project is found by its location
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from jitterscope.notify import journal
from jitterscope.notify.smtp_wire import Mail, hand_over
from jitterscope.notify.wire import Post, PostFailed, perform


def carry(descriptor: int, what: Post | Mail) -> None:
    """Send it and record the outcome in the journal."""
    try:
        status, headers, body = send(what, lambda: journal.note_writing(descriptor))
    except PostFailed as error:
        journal.note_failed(descriptor, error.failure, error.detail, error.permanent)
    else:
        journal.note_answer(descriptor, status, headers, body)


def send(what: Post | Mail, on_writing: Callable[[], None] = lambda: None) -> tuple[int, dict[str, str], bytes]:
    """Send it and return the receiver's status, headers, and body. Raises PostFailed."""
    return hand_over(what, on_writing) if isinstance(what, Mail) else perform(what, on_writing)


def encode(what: Post | Mail) -> bytes:
    """Encode the request for standard input."""
    content = dict(vars(what))
    if isinstance(what, Mail):
        return json.dumps({"mail": content | {"content": base64.b64encode(what.content).decode()}}).encode()
    content |= {"headers": dict(what.headers), "body": base64.b64encode(what.body).decode()}
    return json.dumps({"post": content}).encode()


def decode(data: bytes) -> Post | Mail:
    """The inverse of `encode`."""
    said = json.loads(data)
    if "mail" in said:
        content = said["mail"]
        text, recipients = base64.b64decode(content["content"]), tuple(content["recipients"])
        return Mail(**(content | {"content": text, "recipients": recipients}))
    content = said["post"]
    return Post(**(content | {"body": base64.b64decode(content["body"])}))


if __name__ == "__main__":
    carry(int(sys.argv[1]), decode(sys.stdin.buffer.read()))
