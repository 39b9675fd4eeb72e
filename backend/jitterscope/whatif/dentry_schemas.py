"""REST shapes of the what-if "the kernel drops so many dentries"."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from jitterscope.diagnosis.finding import Interval
from jitterscope.kit.schema import Schema
from jitterscope.whatif.schemas import Instant


class DentryDropRequest(Schema):
    """What is left out is what the node has: `echo 2 > /proc/sys/vm/drop_caches`.

    With `negative_dentries` alone nothing else goes: a directory or a file system full of such names.
    """

    resource_id: int = Field(description="A node, or anything on it")
    to: Instant | None = Field(default=None, description="Default: the newest data of the node")
    negative_dentries: int | None = Field(default=None, ge=0, le=10**11)
    positive_dentries: int | None = Field(default=None, ge=0, le=10**11, description="Names of real files")
    inodes: int | None = Field(default=None, ge=0, le=10**11, description="Of these files, at most as many")


class DentryDrop(Schema):
    """`pause_s`: kernel time of one CPU and the wait for it, a 90 % interval; null where it cannot be told."""

    resource_id: int  # of the node
    node: str
    to_us: int
    pause_s: Interval | None
    negative_dentries: int | None
    positive_dentries: int | None
    inodes: int | None
    each_us: float | None  # to free one negative dentry
    source: Literal["drops", "reclaim", "creation", "reference"] | None
    basis: str | None  # where each_us comes from
    waiting: float | None  # times longer than its kernel time, because others want the CPUs too
    cannot_tell: str | None
