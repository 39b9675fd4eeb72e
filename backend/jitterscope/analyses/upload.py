"""Writes an upload to disk as it arrives, raw or as multipart/form-data, with a bounded part of it in memory."""

from __future__ import annotations

import asyncio
import os
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from fastapi import Request
from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect

from jitterscope.analyses import folder
from jitterscope.errors import Problem
from jitterscope.settings import settings

# Received together, then written or parsed in another thread.
_AT_ONCE_BYTES = 1 << 20
_MOST_HEADER_BYTES = 8192
# A form with one file has a few more parts at most, and some text around them.
_MOST_PARTS = 10
_FORM_BYTES = 64 * 1024


class Upload:
    """A received file: its temporary location, the sender's name for it, and its length."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name, self.size_bytes = path, name, 0


async def receive(request: Request, organization_id: int, kept_bytes: int, name: str | None) -> Upload:
    """Write the body to the evidence folder. `kept_bytes` are the organization's files that are already there.

    Raises Problem 400, 413, 422, or 507, and then removes what was written.
    """
    try:
        path = await asyncio.to_thread(folder.new_incoming, organization_id)
        space = _Space(organization_id, kept_bytes)
        await asyncio.to_thread(space.check, max(1, _declared_bytes(request)))
    except OSError as error:
        raise Problem(
            503, "no-evidence-folder", "Files cannot be stored",
            f"The service has no writable evidence folder ({error.strerror}).",
            "Give API and workers one volume and set JITTERSCOPE_EVIDENCE_FOLDER (docs/evidence.md), or run "
            "`jitterscope analyze` where the file is.",
        ) from None  # fmt: skip
    upload = Upload(path, shown_name(name))
    try:
        kind, options = parse_options_header(request.headers.get("content-type", ""))
        with await asyncio.to_thread(upload.path.open, "xb") as file:
            sink = _Sink(file, upload, space)
            if kind == b"multipart/form-data":
                form = _Form(sink, upload, named=name is not None)
                parser = _parser(options.get(b"boundary", b""), form)
                await _pass_on(request, parser.write)
                await asyncio.to_thread(parser.finalize)
                if not form.done:
                    raise _malformed("it has no part with a file, or its end is missing")
            else:
                await _pass_on(request, sink.take)
    except BaseException as error:
        upload.path.unlink(missing_ok=True)
        if isinstance(error, MultipartParseError):
            raise _malformed(str(error)) from None
        if isinstance(error, OSError):
            raise Problem(
                507, "storage-full", "The file could not be stored", f"Writing it failed: {error.strerror}.",
                "Free space in the evidence folder of the service, or delete old analyses.",
            ) from None  # fmt: skip
        if isinstance(error, ClientDisconnect):
            raise _malformed("the upload was cut off") from None
        raise
    if not upload.size_bytes:
        upload.path.unlink(missing_ok=True)
        raise Problem(422, "empty-file", "The file is empty", "The upload has no content.", "Choose another file.")
    return upload


def _declared_bytes(request: Request) -> int:
    """At least as long as the file is going to be, as far as the sender says."""
    declared = request.headers.get("content-length", "")
    return max(0, int(declared) - _FORM_BYTES) if declared.isdigit() else 0


async def _pass_on(request: Request, take: Callable[[bytes], object]) -> None:
    """Give the body to a function in another thread, about a megabyte at a time: the event loop waits for neither."""
    most = settings().evidence_max_bytes
    buffer = bytearray()
    received = 0
    async for chunk in request.stream():
        received += len(chunk)
        if received > most + _FORM_BYTES:
            raise _too_large(most)
        buffer += chunk
        if len(buffer) >= _AT_ONCE_BYTES:
            content, buffer = bytes(buffer), bytearray()
            await asyncio.to_thread(take, content)
    await asyncio.to_thread(take, bytes(buffer))


class _Space:
    """What still fits: on the disk, and into what the organization can keep with all uploads that are under way."""

    def __init__(self, organization_id: int, kept_bytes: int) -> None:
        self._organization_id, self._kept_bytes = organization_id, kept_bytes

    def check(self, more_bytes: int) -> None:
        """Raise Problem 413 if so many bytes do not fit."""
        if more_bytes > settings().evidence_max_bytes:
            raise _too_large(settings().evidence_max_bytes)
        if more_bytes > (free_bytes := folder.free_bytes()):
            raise _too_large(free_bytes)
        taken = self._kept_bytes + folder.incoming_bytes(self._organization_id)
        if taken + more_bytes > settings().evidence_max_kept_bytes:
            raise evidence_full()


class _Sink:
    """Writes the file. Used in one thread at a time, never on the event loop."""

    def __init__(self, file: BinaryIO, upload: Upload, space: _Space) -> None:
        self._file, self._upload, self._space = file, upload, space
        self._unchecked = 0

    def take(self, data: bytes) -> None:
        self._upload.size_bytes += len(data)
        if self._upload.size_bytes > settings().evidence_max_bytes:
            raise _too_large(settings().evidence_max_bytes)
        self._unchecked += len(data)
        if self._unchecked >= _AT_ONCE_BYTES:
            self._file.flush()
            self._space.check(self._unchecked)
            self._unchecked = 0
        self._file.write(data)


def _parser(boundary: bytes, form: _Form) -> MultipartParser:
    """A parser that finds the first part of a form that is a file; other parts are skipped."""
    if not boundary or len(boundary) > 200:
        raise _malformed("the form has no boundary")
    return MultipartParser(
        boundary,
        {
            "on_part_begin": form.begin,
            "on_header_field": form.field,
            "on_header_value": form.value,
            "on_header_end": form.header,
            "on_headers_finished": form.headers,
            "on_part_data": form.data,
            "on_part_end": form.end,
        },
    )


class _Form:
    """Callbacks of the parser while it reads a form."""

    def __init__(self, sink: _Sink, upload: Upload, *, named: bool) -> None:
        self._sink, self._upload, self._named = sink, upload, named
        self._field = self._value = b""
        self._inside = False
        self._parts = 0
        self.done = False

    def begin(self) -> None:
        self._parts += 1
        if self._parts > _MOST_PARTS:
            raise _malformed(f"the form has more than {_MOST_PARTS} parts")
        self._field = self._value = b""
        self._inside = False

    def field(self, data: bytes, start: int, end: int) -> None:
        self._field += data[start:end]
        self._check()

    def value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]
        self._check()

    def _check(self) -> None:
        if len(self._field) + len(self._value) > _MOST_HEADER_BYTES:
            raise _malformed("a part has too long a header")

    def header(self) -> None:
        if self._field.lower() == b"content-disposition" and not self.done:
            _, options = parse_options_header(self._value)
            if b"filename" in options or options.get(b"name") == b"file":
                self._inside = True
                if not self._named and options.get(b"filename"):
                    self._upload.name = shown_name(options[b"filename"].decode(errors="replace"))
        self._field = self._value = b""

    def headers(self) -> None:
        self._field = self._value = b""

    def data(self, data: bytes, start: int, end: int) -> None:
        if self._inside:
            self._sink.take(data[start:end])

    def end(self) -> None:
        self.done = self.done or self._inside
        self._inside = False


def shown_name(name: str | None) -> str:
    """A file's name for display: its last part, printable, at most 200 characters. It never becomes a path."""
    last = os.path.basename((name or "").replace("\\", "/"))
    # Control characters, unassigned ones, and halves of pairs can be neither shown nor stored.
    clean = "".join(character for character in last if unicodedata.category(character)[0] != "C").strip()
    return clean[:200] or "evidence"


def evidence_full() -> Problem:
    """413: the files that the organization keeps, with the uploads that are under way, leave no room."""
    return Problem(
        413, "evidence-full", "Too many files",
        f"All files of the organization together can have {settings().evidence_max_kept_bytes:,} bytes.",
        "Delete analyses that are no longer needed, or wait for other uploads.",
    )  # fmt: skip


def _too_large(most_bytes: int) -> Problem:
    return Problem(
        413, "file-too-large", "The file is too large", f"At most {max(0, most_bytes):,} bytes are accepted.",
        "Cut it to the relevant minutes, compress it with gzip, or run `jitterscope analyze` where the file is.",
    )  # fmt: skip


def _malformed(why: str) -> Problem:
    return Problem(
        400, "malformed-upload", "The upload cannot be read", f"The upload was rejected: {why}.",
        "Send the file as the body, or as the part `file` of multipart/form-data.",
    )  # fmt: skip
