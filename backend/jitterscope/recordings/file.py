"""The recording file: see docs/recordings.md.

magic     8 bytes  "JITTREC1"; the digit is the version, readers refuse others
frame     one zstd frame with checksum, of: length-prefixed parts (uint32, little-endian)
  header  JSON: start_us, ticks, subject, names, labels
  batch   ingest.v1.Batch, again and again
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import zstandard
from google.protobuf.message import DecodeError

from jitterscope.pb import ingest_pb2 as pb
from jitterscope.recordings.batches import batch_of, slices
from jitterscope.recordings.merge import BadRecording, merge
from jitterscope.recordings.model import Recording

MAGIC = b"JITTREC1"
# Longer slices compress better; this is the longest that 10 ms ticks fit into.
SLICE_US = 30_000_000
# A file must not unpack to more than this: it can come from an untrusted source.
MAX_CONTENT_BYTES = 1024 * 1024 * 1024
_MAX_PART_BYTES = 256 * 1024 * 1024


def write(recording: Recording, target: BinaryIO) -> None:
    """Write the file to a stream."""
    names = [resource.name for resource in recording.resources]
    for content in parts(recording.start_us, recording.ticks, recording.subject, names, recording.labels, [recording]):
        target.write(content)


def parts(
    start_us: int,
    ticks: int,
    subject: int,
    names: Sequence[str],
    labels: Mapping[str, str],
    pieces: Iterable[Recording],
    slice_us: int = SLICE_US,
) -> Iterator[bytes]:
    """The file's bytes as its pieces arrive: recordings of the same resources, each beginning where the last ended.

    One slice is held at a time.
    """
    header = {"start_us": start_us, "ticks": ticks, "subject": subject, "names": list(names), "labels": dict(labels)}
    compressor = zstandard.ZstdCompressor(level=9, write_checksum=True).compressobj()
    yield MAGIC + compressor.compress(_prefixed(json.dumps(header, ensure_ascii=False).encode()))
    for piece in pieces:
        for from_us, to_us in slices(piece, slice_us):
            batch = batch_of(piece, from_us, to_us, continued=piece.start_us > start_us)
            yield compressor.compress(_prefixed(batch.SerializeToString()))
    yield compressor.flush()


def read(source: BinaryIO) -> Recording:
    """The recording in a stream. Raises BadRecording with what is wrong."""
    with _opened(source) as (header, parts):
        return merge(
            (pb.Batch.FromString(part) for part in parts),
            int(header["start_us"]),
            int(header["ticks"]),
            int(header["subject"]),
            [str(name) for name in header["names"]],
            _labels(header),
        )


@contextmanager
def _opened(source: BinaryIO) -> Iterator[tuple[dict[str, Any], Iterator[bytes]]]:
    """The header, and the parts after it. Whatever is wrong with them is raised as BadRecording."""
    magic = source.read(len(MAGIC))
    if magic[:7] == MAGIC[:7] and magic != MAGIC:
        raise BadRecording(f"its version is {magic[7:].decode('ascii', 'replace')}; this program reads version 1")
    if magic != MAGIC:
        raise BadRecording("it does not start with JITTREC1: not a recording")
    try:
        with zstandard.ZstdDecompressor().stream_reader(source, closefd=False) as stream:
            parts = _parts(stream)
            yield json.loads(next(parts, b"")), parts
    except BadRecording:
        raise
    except (zstandard.ZstdError, DecodeError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise BadRecording(f"it is damaged ({type(error).__name__}: {error})") from error


def _labels(header: dict[str, Any]) -> dict[str, str]:
    return {str(name): str(value) for name, value in header["labels"].items()}


def save(recording: Recording, path: Path) -> int:
    """Write a file atomically; returns its size in bytes."""
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as target:
            write(recording, target)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return path.stat().st_size


def load(path: Path) -> Recording:
    """Read a file. Raises BadRecording, OSError."""
    with _file(path) as source:
        return read(source)


def load_labels(path: Path) -> dict[str, str]:
    """Read the labels of a file, and none of its data. Raises BadRecording, OSError."""
    with _file(path) as source, _opened(source) as (header, _):
        return _labels(header)


@contextmanager
def _file(path: Path) -> Iterator[BinaryIO]:
    """The file; whatever is wrong with the recording is raised with its path."""
    with path.open("rb") as source:
        try:
            yield source
        except BadRecording as error:
            raise BadRecording(f"{path}: {error}") from error


def _prefixed(part: bytes) -> bytes:
    return len(part).to_bytes(4, "little") + part


def _parts(stream: zstandard.ZstdDecompressionReader) -> Iterator[bytes]:
    total = 0
    while prefix := _exactly(stream, 4, end_allowed=True):
        size = int.from_bytes(prefix, "little")
        total += size
        if size > _MAX_PART_BYTES or total > MAX_CONTENT_BYTES:
            raise BadRecording("its unpacked size exceeds the limit")
        yield _exactly(stream, size)


def _exactly(stream: zstandard.ZstdDecompressionReader, size: int, *, end_allowed: bool = False) -> bytes:
    content = b""
    while len(content) < size:
        piece = stream.read(size - len(content))
        if not piece:
            if end_allowed and not content:
                return b""
            raise BadRecording("it is cut off")
        content += piece
    return content
