"""What a reader of an untrusted file is told, and how it refuses."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict


class Order(BaseModel):
    """What to read, and how much that may take. `year` completes dates without one."""

    model_config = ConfigDict(extra="forbid")

    path: Path
    year: int
    capture_program: Path
    most_unpacked_bytes: int
    most_memory_bytes: int
    most_cpu_s: int
    most_wall_s: int


class Refused(Exception):
    """The file cannot be analyzed, and why: the fields of a problem document."""

    def __init__(self, type: str, title: str, detail: str, what_to_do: str) -> None:
        super().__init__(detail)
        self.problem = {"type": type, "title": title, "detail": detail, "what_to_do": what_to_do}
