"""Limits on a batch's contents, besides its size in bytes. Generous for collectors, tight for attackers."""

from __future__ import annotations

import re

from jitterscope.kit.protobuf_counts import Counted

MAX_RESOURCES = 20_000
MAX_BLOCKS = 500
MAX_SERIES = 200_000
MAX_HISTOGRAMS = 20_000
MAX_FACTS = 20_000
MAX_EVENTS = 50_000
MAX_QUERY_BLOCKS = 1_000
MAX_TRIGGERS = 1_000
MAX_SOURCES = 100
# Each can take hundreds of kilobytes; a trigger sends one.
MAX_CAPTURES = 16
MAX_CAPTURE_STRINGS = 100_000
MAX_CAPTURE_PROCESSES = 50_000
MAX_CAPTURE_STACKS = 100_000
# 99/s on 64 CPUs for a minute, with headroom.
MAX_CAPTURE_SAMPLES = 500_000
MAX_CAPTURE_RATE_HZ = 10_000
MAX_FRAMES = 512
# Together in one capture: 25 frames in each of 100,000 stacks, and some deeper ones.
MAX_CAPTURE_FRAMES = 3_000_000
MAX_FRAME_BYTES = 1024
MAX_CPU = 16_383

MAX_KEY_BYTES = 512
MAX_VERSION_LENGTH = 100
MAX_FACT_BYTES = 64 * 1024
# Of one resource in one batch. Collectors know some 100 names, and send a fact again only when it changes.
MAX_FACTS_OF_RESOURCE = 500
MAX_FACT_BYTES_OF_RESOURCE = 1024 * 1024
MAX_ATTRIBUTES = 32
MAX_ATTRIBUTE_LENGTH = 4096
# Of one event, names and values. Collectors send at most three attributes that can be 4096 bytes long.
MAX_ATTRIBUTE_BYTES = 16 * 1024
MAX_TEXT_LENGTH = 2000
MAX_DNS_NAME_LENGTH = 300

MAX_TICKS = 3000
# The grid, the zoom, and the fallback of a collector that sheds load.
STEPS_US = frozenset({10_000, 100_000, 200_000, 500_000, 1_000_000})
# Bucket 1024 is gamma^1024 µs: longer than anything.
MAX_BUCKET = 1024
# How far back readers look for what extends into a window.
MAX_EVENT_US = 3_600_000_000
MAX_QUERY_SPAN_US = 600_000_000
MAX_FUTURE_US = 600_000_000

# Together in one batch, counted before it is parsed.
_NUMBERS = Counted("bytes of lists of numbers", 16 * 1024 * 1024, packed=True)
COUNTED = {
    5: Counted("resources", MAX_RESOURCES),
    6: Counted("series blocks", MAX_BLOCKS, within=dict.fromkeys((5, 6), _NUMBERS)),
    7: Counted("distributions", MAX_HISTOGRAMS, within=dict.fromkeys((6, 7, 8), _NUMBERS)),
    8: Counted("facts", MAX_FACTS),
    9: Counted("events", MAX_EVENTS, within={5: Counted("attributes of events", 8 * MAX_EVENTS)}),
    10: Counted(
        "query blocks",
        MAX_QUERY_BLOCKS,
        within={
            **dict.fromkeys((5, 6, 7, 8, 9, 12), _NUMBERS),
            **dict.fromkeys((10, 11), Counted("names and clients of queries", 500_000)),
        },
    ),
    11: Counted("triggers", MAX_TRIGGERS),
    12: Counted("sources", MAX_SOURCES),
    14: Counted(
        "captures",
        MAX_CAPTURES,
        within={
            6: Counted("strings of captures", 2 * MAX_CAPTURE_STRINGS),
            7: Counted("processes of captures", 2 * MAX_CAPTURE_PROCESSES),
            8: Counted("stacks of captures", 2 * MAX_CAPTURE_STACKS, within=dict.fromkeys((1, 2), _NUMBERS)),
            **dict.fromkeys(range(9, 19), _NUMBERS),
        },
    ),
}

NAME = re.compile(r"[a-z][A-Za-z0-9_.\-]{0,127}")
REASON = re.compile(r"[a-z][a-z_]{0,31}")
