"""What all lab commands share: which product watches, error messages, and output."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from labs.applying import attempt
from labs.applying.ongoing import Ongoing
from labs.console import Say, fail
from labs.errors import LabError
from labs.hosting import own_product
from labs.product import Product
from labs.report import Report, table

Url = Annotated[str | None, typer.Option(help="URL of a running product; without it, the lab starts one")]
Token = Annotated[str | None, typer.Option(envvar="JITTERSCOPE_TOKEN", help="API token for --url")]
RecordTo = Annotated[Path | None, typer.Option(help="Keep the run's product data in this file")]
ApplyFix = Annotated[
    str | None,
    typer.Option("--apply", help="Apply this fix during the fault; print what was predicted, measured, and why"),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object as the last line of stdout")]


def host(
    url: str | None,
    token: str | None,
    say: Say,
    collector_config: str = "",
    settings: Mapping[str, str] | None = None,
) -> AbstractContextManager[Product]:
    """The product that watches: a running one, or one started for the lab with this configuration and settings."""
    return own_product(say, collector_config, settings) if url is None else nullcontext(Product(url, token or ""))


@contextmanager
def complaints(url: str | None, token: str | None) -> Iterator[None]:
    """Exit with code 1 and a one-line reason if parameters are invalid or the lab cannot run."""
    if url is not None and not token:
        fail("--url needs --token or JITTERSCOPE_TOKEN: an API token that can read.")
    try:
        yield
    except ValidationError as error:
        fail("; ".join(f"{_option(one['loc'])}: {one['msg']}" for one in error.errors()))
    except LabError as error:
        fail(str(error))


def try_fix(
    ongoing: Callable[[Path], AbstractContextManager[Ongoing]],
    fix_id: str,
    url: str | None,
    token: str | None,
    say: Say,
    json_: bool,
    collector_config: str = "",
) -> None:
    """Make the fault in its own folder, apply the fix, and show the product's verdict."""
    with (
        tempfile.TemporaryDirectory(prefix="jitterscope-lab-") as folder,
        host(url, token, say, collector_config, attempt.ENVIRONMENT) as product,
        ongoing(Path(folder)) as fault,
    ):
        done = attempt.attempt(product, fault, fix_id, say)
    typer.echo(attempt.table(done), err=json_)
    if json_:
        typer.echo(done.model_dump_json())


def given_of(names: dict[str, Any], others: set[str]) -> dict[str, Any]:
    """The parameters that were given: those of a command's locals() that are not None, except the names in `others`."""
    return {name: value for name, value in names.items() if name not in others and value is not None}


def show(report: Report[Any], since: str, json_: bool) -> None:
    """Print the table on standard output, or on standard error beside the JSON line."""
    typer.echo(table(report, since), err=json_)
    if json_:
        typer.echo(report.model_dump_json(exclude={"incident_urls"}))


def _option(place: tuple[Any, ...]) -> str:
    return "--" + "-".join(str(part) for part in place).replace("_", "-")
