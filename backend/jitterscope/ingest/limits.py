"""Limits on a batch's contents, besides its size in bytes. Generous for collectors, tight for attackers."""

from __future__ import annotations

import re

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
MAX_FRAME_BYTES = 1024
MAX_CPU = 16_383

MAX_KEY_BYTES = 512
MAX_VERSION_LENGTH = 100
MAX_FACT_BYTES = 64 * 1024
MAX_ATTRIBUTES = 32
MAX_ATTRIBUTE_LENGTH = 4096
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

NAME = re.compile(r"[a-z][A-Za-z0-9_.\-]{0,127}")
REASON = re.compile(r"[a-z][a-z_]{0,31}")
