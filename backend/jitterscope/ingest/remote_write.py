"""Prometheus remote write 1.0 and 2.0: from request bytes to series of samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import cramjam
from google.protobuf.message import DecodeError

from jitterscope.errors import Problem
from jitterscope.kit import protobuf_counts
from jitterscope.kit.protobuf_counts import Counted
from jitterscope.pb import prometheus_v1_pb2 as v1
from jitterscope.pb import prometheus_v2_pb2 as v2
from jitterscope.series.external_metrics import FAMILY_SUFFIXES, Described

V1, V2 = "prometheus.writerequest", "io.prometheus.write.v2.request"
_MAX_SERIES = 50_000
_MAX_SAMPLES = 500_000
_MAX_LABELS = 64
_MAX_NAME, _MAX_VALUE = 200, 2048
_MAX_METADATA = 10_000
# Together in one request, counted before it is parsed. Exemplars and native histograms are not stored.
_SAMPLES = Counted("samples", _MAX_SAMPLES)
_NOT_STORED = Counted("exemplars and native histograms", 100_000)
_COUNTED_V1 = {
    1: Counted(
        "series",
        _MAX_SERIES,
        within={1: Counted("labels", 20 * _MAX_SERIES), 2: _SAMPLES, 3: _NOT_STORED, 4: _NOT_STORED},
    ),
    3: Counted("metadata", 5 * _MAX_METADATA),
}
_COUNTED_V2 = {
    4: Counted("symbols", 20 * _MAX_SERIES),
    5: Counted(
        "series",
        _MAX_SERIES,
        within={
            1: Counted("bytes of labels_refs", 8 * 1024 * 1024, packed=True),
            2: _SAMPLES,
            3: _NOT_STORED,
            4: _NOT_STORED,
        },
    ),
}
# In both versions; the numbers are the same.
_TYPES = ("unknown", "counter", "gauge", "histogram", "gaugehistogram", "summary", "info", "stateset")
# The last value of a series that has ended; not a measurement.
STALE_BITS = 0x7FF0000000000002


@dataclass(frozen=True, slots=True)
class ExternalSeries:
    """Labels without the name; samples as (µs since the epoch, value)."""

    name: str
    labels: dict[str, str]
    kind: str
    samples: list[tuple[int, float]]


@dataclass(slots=True)
class WriteRequest:
    """`histograms` counts native ones, which are not stored; `exemplars` are ignored; `described` is by family."""

    series: list[ExternalSeries] = field(default_factory=list)
    histograms: int = 0
    exemplars: int = 0
    invalid: list[str] = field(default_factory=list)
    described: dict[str, Described] = field(default_factory=dict)


def message_of(content_type: str, content_encoding: str) -> str:
    """The message that the headers announce. Raises Problem 415 unless it is snappy protobuf of a known kind."""
    media, *parameters = (part.strip() for part in content_type.split(";"))
    named = {key.strip().lower(): value for key, _, value in (part.partition("=") for part in parameters)}
    message = named.get("proto", V1).strip().strip('"').lower()
    if media.lower() != "application/x-protobuf" or message not in (V1, V2):
        raise _unsupported(f"the content type {content_type[:200]!r}")
    if content_encoding.strip().lower() != "snappy":
        raise _unsupported(f"the content encoding {content_encoding[:100]!r}")
    return message


def decompress(body: bytes, limit_bytes: int) -> bytes:
    """Unpack Snappy's block format. Raises Problem 400 for damaged data, 413 if it unpacks to too much."""
    try:
        size = cramjam.snappy.decompress_raw_len(body)
        if size > limit_bytes:
            raise _too_large(f"it unpacks to {size} bytes, more than {limit_bytes}")
        return bytes(cramjam.snappy.decompress_raw(body))
    except cramjam.DecompressionError as error:
        raise _malformed(f"it is not snappy's block format ({error})") from None


def parse(message: str, content: bytes) -> WriteRequest:
    """The series of a request; single invalid series are left out and named in `invalid`."""
    try:
        protobuf_counts.check(content, _COUNTED_V1 if message == V1 else _COUNTED_V2)
        if message == V1:
            return _parse_v1(v1.WriteRequest.FromString(content))
        return _parse_v2(v2.Request.FromString(content))
    except protobuf_counts.TooMany as error:
        raise _too_large(str(error)) from None
    except (DecodeError, ValueError, RecursionError) as error:
        raise _malformed(f"it is not the message that the content type declares ({error})") from None


def _parse_v1(request: v1.WriteRequest) -> WriteRequest:
    _bounds(request.timeseries)
    result = WriteRequest()
    for series in request.timeseries:
        result.histograms += len(series.histograms)
        result.exemplars += len(series.exemplars)
        pairs = [(label.name, label.value) for label in series.labels]
        _add(result, pairs, None, [(sample.timestamp, sample.value) for sample in series.samples])
    for family in request.metadata[:_MAX_METADATA]:
        _describe(result, family.metric_family_name, family.type, family.help, family.unit)
    return result


def _parse_v2(request: v2.Request) -> WriteRequest:
    _bounds(request.timeseries)
    symbols = list(request.symbols)
    result = WriteRequest()
    for series in request.timeseries:
        result.histograms += len(series.histograms)
        result.exemplars += len(series.exemplars)
        references = list(series.labels_refs)
        if len(references) % 2 or any(reference >= len(symbols) for reference in references):
            result.invalid.append("labels_refs does not fit the symbols")
            continue
        texts = [symbols[reference] for reference in references]
        kind = series.metadata.type if series.HasField("metadata") else None
        samples = [(sample.timestamp, sample.value) for sample in series.samples]
        pairs = list(zip(texts[::2], texts[1::2], strict=True))
        _add(result, pairs, kind, samples)
        said = series.metadata
        if kind and 0 <= kind < len(_TYPES) and max(said.help_ref, said.unit_ref) < len(symbols):
            name = dict(pairs).get("__name__", "")
            _describe(result, _family(name, kind), kind, symbols[said.help_ref], symbols[said.unit_ref])
    return result


def _describe(result: WriteRequest, family: str, kind: int, help_: str, unit: str) -> None:
    if 0 < len(family) <= _MAX_NAME and "\0" not in f"{family}{help_}{unit}" and 0 <= kind < len(_TYPES):
        result.described[family] = Described(_TYPES[kind], help_, unit)


def _family(name: str, kind: int) -> str:
    """The family of a 2.0 series: metadata comes with each part of a histogram."""
    if _TYPES[kind] not in ("histogram", "gaugehistogram", "summary"):
        return name
    return next((name.removesuffix(suffix) for suffix in FAMILY_SUFFIXES if name.endswith(suffix)), name)


def _add(
    result: WriteRequest, pairs: Iterable[tuple[str, str]], kind: int | None, samples: list[tuple[int, float]]
) -> None:
    labels = dict(pairs)
    name = labels.pop("__name__", "")
    fault = _fault(name, labels)
    if fault:
        result.invalid.append(fault)
        return
    if not samples:
        return
    counter = kind == v2.Metadata.METRIC_TYPE_COUNTER or (not kind and name.endswith(FAMILY_SUFFIXES))
    in_us = [(timestamp * 1000, value) for timestamp, value in samples]
    result.series.append(ExternalSeries(name, labels, "counter" if counter else "gauge", in_us))


def _fault(name: str, labels: dict[str, str]) -> str | None:
    if not name or len(name) > _MAX_NAME or "\0" in name:
        return "a series has no usable __name__"
    if len(labels) > _MAX_LABELS:
        return f"{name} has more than {_MAX_LABELS} labels"
    for key, value in labels.items():
        if not key or len(key) > _MAX_NAME or len(value) > _MAX_VALUE or "\0" in key or "\0" in value:
            return f"{name} has a label that is empty, too long or contains NUL"
    return None


def _bounds(series: Sequence[v1.TimeSeries] | Sequence[v2.TimeSeries]) -> None:
    if len(series) > _MAX_SERIES:
        raise _too_large(f"it has {len(series)} series, more than {_MAX_SERIES}")
    samples = sum(len(one.samples) for one in series)
    if samples > _MAX_SAMPLES:
        raise _too_large(f"it has {samples} samples, more than {_MAX_SAMPLES}")


def _too_large(why: str) -> Problem:
    return Problem(
        413,
        "write-too-large",
        "Request too large",
        f"The request was rejected: {why}. Nothing of it was stored.",
        "Lower max_samples_per_send of the sender's queue_config.",
    )


def _malformed(why: str) -> Problem:
    return Problem(
        400,
        "malformed-write",
        "Malformed remote write request",
        f"The request was rejected: {why}.",
        "Do not send it again.",
    )


def _unsupported(what: str) -> Problem:
    return Problem(
        415,
        "unsupported-media-type",
        "Unsupported media type",
        f"{what} is not supported.",
        "Send Prometheus remote write 1.0 or 2.0: application/x-protobuf (for 2.0 with "
        "proto=io.prometheus.write.v2.Request), Content-Encoding: snappy.",
    )
