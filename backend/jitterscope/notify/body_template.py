"""A webhook's own body: JSON with placeholders such as `{{ incident.title }}`, each the name of a field of the payload.

There is no logic, and nothing is evaluated. In a string a placeholder becomes the escaped text of the field, elsewhere
its value as JSON. A template that is valid therefore makes valid JSON of every payload.
"""

from __future__ import annotations

import difflib
import json
import re
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NoReturn, Union, get_args, get_origin

from pydantic import BaseModel

from jitterscope.diagnosis.core.registry import all_areas
from jitterscope.notify.payload import Payload

MOST_CHARACTERS, MOST_PLACEHOLDERS = 8192, 100
Shape = Literal["value", "list", "map"]
_TOKEN = re.compile(r'\{\{([^{}\n]*)\}\}|\\.|"', re.DOTALL)
_IMPACT = "incident.impact"


@dataclass(frozen=True, slots=True)
class _Placeholder:
    """`quoted`: it is inside a string."""

    name: str
    quoted: bool
    start: int
    end: int


def check(template: str) -> None:
    """Raise ValueError with the place and the reason unless `render` makes JSON of this template."""
    found = _placeholders(template)
    if len(found) > MOST_PLACEHOLDERS:
        raise ValueError(f"at most {MOST_PLACEHOLDERS} placeholders")
    for one in found:
        if (problem := _problem(one)) is not None:
            raise ValueError(f"line {_line(template, one.start)}: {problem}")
    plain = _filled(template, found, _neutral)
    if (at := plain.find("{{")) >= 0:
        raise ValueError(f"line {_line(plain, at)}: {{{{ begins no placeholder")
    try:
        json.loads(plain, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}, column {error.colno}: not JSON: {error.msg}") from None
    except RecursionError:
        raise ValueError("too many levels") from None


def render(template: str, content: Mapping[str, Any]) -> str:
    """The body for a payload in JSON values. What the payload does not have is null, and nothing in a string."""

    def told(one: _Placeholder) -> str:
        value = _value(content, one.name)
        if not one.quoted:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        text = "" if value is None else value if isinstance(value, str) else json.dumps(value)
        return json.dumps(text, ensure_ascii=False)[1:-1]

    return _filled(template, _placeholders(template), told)


@cache
def fields() -> Mapping[str, Shape]:
    """Every field of a payload that a placeholder can name. The figures of `incident.impact` are fields too."""
    figures = {f"{_IMPACT}.{one.id}" for area in all_areas().values() for one in area.impact}
    shapes: dict[str, Shape] = dict.fromkeys(sorted(figures), "value")
    return types.MappingProxyType(dict(_fields_of(Payload, "")) | shapes)


def _fields_of(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, Shape]]:
    for name, field in model.model_fields.items():
        annotation: Any = field.annotation
        is_union = get_origin(annotation) in (Union, types.UnionType)
        parts = get_args(annotation) if is_union else (annotation,)
        inner = next((one for one in parts if isinstance(one, type) and issubclass(one, BaseModel)), None)
        if inner is not None:
            yield from _fields_of(inner, f"{prefix}{name}.")
        else:
            origins = {get_origin(one) for one in parts}
            yield f"{prefix}{name}", "list" if list in origins else "map" if dict in origins else "value"


def _placeholders(template: str) -> list[_Placeholder]:
    found, quoted = [], False
    for token in _TOKEN.finditer(template):
        if token[0] == '"':
            quoted = not quoted
        elif token[1] is not None:
            found.append(_Placeholder(token[1].strip(), quoted, token.start(), token.end()))
    return found


def _filled(template: str, found: list[_Placeholder], with_: Callable[[_Placeholder], str]) -> str:
    parts, at = [], 0
    for one in found:
        parts += [template[at : one.start], with_(one)]
        at = one.end
    return "".join((*parts, template[at:]))


def _neutral(one: _Placeholder) -> str:
    """Something of the same length, so that an error is at the same place. Null can be any value, but no key."""
    return "x" * (one.end - one.start) if one.quoted else "null".ljust(one.end - one.start)


def _problem(one: _Placeholder) -> str | None:
    shape = fields().get(one.name)
    if shape is None:
        near = difflib.get_close_matches(one.name, fields(), 1)
        return f"the payload has no field {one.name[:100]!r}" + (f", but {near[0]}" if near else "")
    if one.quoted and shape != "value":
        return f"{one.name} is a {shape}, which cannot be inside a string"
    return None


def _value(content: Mapping[str, Any], name: str) -> object:
    value: Any = content
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
