"""The `jitterscope` command. Sub-commands live in `<domain>/cli.py` as a typer `app` and are found there.

An app with a name becomes a group (`jitterscope lab …`); one without adds its commands at the top.
"""

from __future__ import annotations

from importlib.util import find_spec

import typer

from jitterscope.kit.discovery import import_named


def build() -> typer.Typer:
    """The whole command tree."""
    root = typer.Typer(no_args_is_help=True, pretty_exceptions_show_locals=False, help=__doc__)

    @root.callback()
    def main() -> None:
        """Jitterscope: finds why containers stall for tens of milliseconds, proves it, and says what to change."""

    # Labs are a package beside the service; its image comes without them.
    packages = ["jitterscope", "labs"] if find_spec("labs") else ["jitterscope"]
    for module in (found for package in packages for found in import_named(package, "cli")):
        if hasattr(module, "app"):
            root.add_typer(module.app)
    return root


app = build()
