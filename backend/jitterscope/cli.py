"""The `jitterscope` command. Sub-commands live in `<domain>/cli.py` as a typer `app` and are found there.

An app with a name becomes a group (`jitterscope lab …`); one without adds its commands at the top.
"""

from __future__ import annotations

from importlib.util import find_spec

import typer

from jitterscope.kit.discovery import modules_named
from jitterscope.kit.late_commands import imported_when_called


def build() -> typer.Typer:
    """The whole command tree."""
    # Labs are a package beside the service; its image comes without them.
    packages = ["jitterscope", "labs"] if find_spec("labs") else ["jitterscope"]
    modules = [name for package in packages for name in modules_named(package, "cli")]
    root = typer.Typer(
        cls=imported_when_called(modules, lambda module: getattr(module, "app", None)),
        no_args_is_help=True,
        pretty_exceptions_show_locals=False,
    )

    @root.callback()
    def main() -> None:
        """Jitterscope: finds why containers stall for tens of milliseconds, proves it, and says what to change."""

    return root


app = build()
