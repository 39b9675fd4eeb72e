"""Command groups that import only the module of the command that is called: the others would take most of the time."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from typer._click import Command, Context


def imported_when_called(
    modules: Sequence[str], app_of: Callable[[ModuleType], typer.Typer | None]
) -> type[TyperGroup]:
    """The class of a group with the commands of the apps of these modules, in this order; None: a module has no app.

    An app with a name becomes a group of its own; one without adds its commands to this group. Asked for a command, it
    imports modules until one has it, first those whose source names it. A list of commands, as for --help, takes all.
    """

    class Group(TyperGroup):
        def __init__(self, **attributes: Any) -> None:  # noqa: ANN401
            super().__init__(**attributes)
            self._imported: dict[str, list[str]] = {}

        def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
            for module in sorted(modules, key=lambda one: not _names(one, cmd_name)):
                if cmd_name in self.commands:
                    break
                self._import(module)
            return super().get_command(ctx, cmd_name)

        def list_commands(self, ctx: Context) -> list[str]:
            return [name for module in modules for name in self._import(module)]

        def _import(self, module: str) -> list[str]:
            """The names of its commands."""
            if module not in self._imported:
                app = app_of(importlib.import_module(module))
                found = {} if app is None else _commands(app)
                self.commands.update(found)
                self._imported[module] = list(found)
            return self._imported[module]

    return Group


def _commands(app: typer.Typer) -> dict[str, Command]:
    group = typer.main.get_group(app)
    return {group.name: group} if group.name else dict(group.commands)


def _names(module: str, command: str) -> bool:
    """Whether a module's source mentions a command: as a function's name, or as text."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return False
    source = Path(spec.origin).read_text()
    return f"def {command.replace('-', '_')}(" in source or f'"{command}"' in source
