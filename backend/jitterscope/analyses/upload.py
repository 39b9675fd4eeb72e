"""Writes an upload to disk as it arrives, raw or as multipart/form-data, with a bounded part of it in memory."""

from __future__ import annotations

import asyncio
import os
import unicodedata
from pathlib import Path
from typing import BinaryIO

from fastapi import Request
from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect

from jitterscope.analyses import folder
from jitterscope.errors import Problem
from jitterscope.settings import settings

_WRITE_BYTES = 1 << 20
_MOST_HEADER_BYTES = 8192


class Upload:
    """A received file: its temporary location, the sender's name for it, and its length."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name, self.size_bytes = path, name, 0


async def receive(request: Request, name: str | None) -> Upload:
    """Write the body to the evidence folder.

    Raises Problem 400, 413, 422, or 507, and then removes what was written.
    """
    try:
        most = min(settings().evidence_max_bytes, await asyncio.to_thread(folder.free_bytes))
        path = await asyncio.to_thread(folder.new_incoming)
    except OSError as error:
        raise Problem(
            503, "no-evidence-folder", "Files cannot be stored",
            f"The service has no writable evidence folder ({error.strerror}).",
            "Give API and workers one volume and set JITTERSCOPE_EVIDENCE_FOLDER (docs/evidence.md), or run "
            "`jitterscope analyze` where the file is.",
        ) from None  # fmt: skip
    declared = request.headers.get("content-length", "")
    # A form adds its own text to the file.
    if declared.isdigit() and int(declared) > most + 64 * 1024:
        raise _too_large(most)
    upload = Upload(path, shown_name(name))
    try:
        kind, options = parse_options_header(request.headers.get("content-type", ""))
        with await asyncio.to_thread(upload.path.open, "xb") as file:
            sink = _Sink(file, upload, most)
            if kind == b"multipart/form-data":
                await _read_form(request, options.get(b"boundary", b""), sink, upload, named=name is not None)
            else:
                async for chunk in request.stream():
                    await sink.write(chunk)
            await sink.flush()
    except BaseException as error:
        upload.path.unlink(missing_ok=True)
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


class _Sink:
    """Buffers about a megabyte, then writes it in another thread, so that the event loop never waits for the disk."""

    def __init__(self, file: BinaryIO, upload: Upload, most_bytes: int) -> None:
        self._file, self._upload, self._most = file, upload, most_bytes
        self._buffer = bytearray()

    def take(self, data: bytes) -> None:
        self._upload.size_bytes += len(data)
        if self._upload.size_bytes > self._most:
            raise _too_large(self._most)
        self._buffer += data

    async def write(self, data: bytes) -> None:
        self.take(data)
        if len(self._buffer) >= _WRITE_BYTES:
            await self.flush()

    async def flush(self) -> None:
        content, self._buffer = bytes(self._buffer), bytearray()
        if content:
            await asyncio.to_thread(self._file.write, content)


async def _read_form(request: Request, boundary: bytes, sink: _Sink, upload: Upload, *, named: bool) -> None:
    """Read the first part of a form that is a file; other parts are skipped."""
    if not boundary or len(boundary) > 200:
        raise _malformed("the form has no boundary")
    form = _Form(sink, upload, named=named)
    try:
        parser = MultipartParser(
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
        async for chunk in request.stream():
            parser.write(chunk)
            await sink.write(b"")
        parser.finalize()
    except MultipartParseError as error:
        raise _malformed(str(error)) from None
    if not form.done:
        raise _malformed("it has no part with a file, or its end is missing")


class _Form:
    """Callbacks of the parser while it reads a form."""

    def __init__(self, sink: _Sink, upload: Upload, *, named: bool) -> None:
        self._sink, self._upload, self._named = sink, upload, named
        self._field = self._value = b""
        self._inside = False
        self.done = False

    def begin(self) -> None:
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
