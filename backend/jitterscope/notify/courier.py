"""The process that carries one notification. It lives on when its worker is killed, and notes what became of it.

Started by `delivery.py` as `python -S courier.py FD` in a session of its own, with the request as JSON on standard
input (never in arguments or files: it holds secrets) and the locked journal file as inherited descriptor FD.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

if __name__ == "__main__":  # without site-packages the project is found by its place
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from jitterscope.notify import journal
from jitterscope.notify.wire import Post, PostFailed, perform


def carry(descriptor: int, post: Post) -> None:
    """Send it and note the fate in the journal."""
    try:
        status, headers, body = perform(post, lambda: journal.note_writing(descriptor))
    except PostFailed as error:
        journal.note_failed(descriptor, error.failure, error.detail, error.permanent)
    else:
        journal.note_answer(descriptor, status, headers, body)


def encode(post: Post) -> bytes:
    """The request for standard input."""
    content = vars(post) | {"headers": dict(post.headers), "body": base64.b64encode(post.body).decode()}
    return json.dumps(content).encode()


def decode(data: bytes) -> Post:
    """The inverse of `encode`."""
    content = json.loads(data)
    return Post(**(content | {"body": base64.b64decode(content["body"])}))


if __name__ == "__main__":
    carry(int(sys.argv[1]), decode(sys.stdin.buffer.read()))
