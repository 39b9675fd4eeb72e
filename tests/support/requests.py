"""Builds a request for any operation of the OpenAPI document: every required part, filled with given IDs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

METHODS = ("get", "post", "put", "patch", "delete")
Schema = dict[str, Any]


@dataclass(frozen=True)
class Operation:
    method: str
    path: str  # with {placeholders}
    parameters: tuple[Schema, ...]
    body: Schema | None
    content_type: str | None
    streams: bool

    @property
    def name(self) -> str:
        return f"{self.method.upper()} {self.path}"


def operations(document: Schema) -> Iterator[Operation]:
    """Every operation of the API."""
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method not in methods:
                continue
            operation = methods[method]
            content = operation.get("requestBody", {}).get("content", {})
            content_type = next(iter(content), None)
            answers = [kind for answer in operation["responses"].values() for kind in answer.get("content", {})]
            yield Operation(
                method,
                path,
                tuple(operation.get("parameters", [])),
                content[content_type].get("schema") if content_type else None,
                content_type,
                "text/event-stream" in answers,
            )


class Filler:
    """Values that fit a schema; every integer and every digit-less string is what it was told."""

    def __init__(self, document: Schema, number: int, text: str) -> None:
        self._document, self._number, self._text = document, number, text

    def value(self, schema: Schema, name: str = "") -> Any:
        """A valid value, as far as the schema tells."""
        if "$ref" in schema:
            target: Any = self._document
            for part in schema["$ref"].lstrip("#/").split("/"):
                target = target[part]
            return self.value(target, name)
        for key in ("anyOf", "oneOf", "allOf"):
            if key in schema:
                chosen = next((one for one in schema[key] if one.get("type") != "null"), schema[key][0])
                return self.value(chosen, name)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return schema["enum"][0]
        makers: dict[str, Callable[[], Any]] = {
            "integer": lambda: min(self._number, int(schema.get("maximum", self._number))),
            "number": lambda: float(schema.get("minimum", 1)),
            "boolean": lambda: True,
            "array": lambda: [self.value(schema.get("items", {}), name)],
            "object": lambda: {
                key: self.value(part, key)
                for key, part in schema.get("properties", {}).items()
                if key in schema.get("required", []) or key.endswith(("_id", "_ids", "note"))
            },
            "string": lambda: self._string(schema, name),
        }
        return makers.get(schema.get("type", "string"), lambda: self._text)()

    def _string(self, schema: Schema, name: str) -> str:
        if "pattern" in schema and schema.get("examples"):
            return str(schema["examples"][0])
        if schema.get("format") == "date-time":
            return "2026-11-21T10:00:00Z"
        if schema.get("format") in ("uri", "url") or name in ("url", "webhook_url"):
            return "https://example.org/hook"
        if name == "email":
            return "somebody@example.org"
        if name == "scopes":
            return "audit:read"
        return self._text.ljust(int(schema.get("minLength", 0)), "x")[: int(schema.get("maxLength", 1000))]
