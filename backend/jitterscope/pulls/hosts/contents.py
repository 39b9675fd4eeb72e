"""Files as hosts return them."""

from __future__ import annotations

import base64
import binascii

from jitterscope.pulls.hosts.host import HostFailed

_MOST_CHARACTERS = 512 * 1024


def decoded(path: str, content: str) -> str:
    """Decode the text of a file from base64. Raises HostFailed if it is not text, or too large."""
    try:
        text = base64.b64decode(content).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        raise HostFailed("unreadable", f"{path} is not a UTF-8 text file.") from None
    if len(text) > _MOST_CHARACTERS:
        raise HostFailed("unreadable", f"{path} is larger than {_MOST_CHARACTERS // 1024} KiB.")
    return text
