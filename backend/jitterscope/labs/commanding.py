"""What the commands of all labs share: which product watches, what is said when it goes wrong, what is printed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from jitterscope.labs.console import Say, fail
from jitterscope.labs.errors import LabError
from jitterscope.labs.hosting import own_product
from jitterscope.labs.product import Product
from jitterscope.labs.report import Report, table

Url = Annotated[str | None, typer.Option(help="A running product; without it, one is started")]
Token = Annotated[str | None, typer.Option(envvar="JITTERSCOPE_TOKEN", help="API token for --url")]
RecordTo = Annotated[Path | None, typer.Option(help="Keep the product's data of the run in this file")]
Json = Annotated[bool, typer.Option("--json", help="Last line of stdout: one JSON object")]


def host(url: str | None, token: str | None, say: Say, collector_config: str = "") -> AbstractContextManager[Product]:
    """The product that watches: a running one, or one started for the lab, with that configuration of the collector."""
    return own_product(say, collector_config) if url is None else nullcontext(Product(url, token or ""))


@contextmanager
def complaints(url: str | None, token: str | None) -> Iterator[None]:
    """Parameters that cannot be and labs that cannot run end with exit code 1 and a line that says why."""
    if url is not None and token is None:
        fail("--url needs --token or JITTERSCOPE_TOKEN: an API token that may read.")
    try:
        yield
    except ValidationError as error:
        fail("; ".join(f"{_option(one['loc'])}: {one['msg']}" for one in error.errors()))
    except LabError as error:
        fail(str(error))


def given_of(names: dict[str, Any], others: set[str]) -> dict[str, Any]:
    """The parameters that were given: what is not None of a command's locals(), without the names of `others`."""
    return {name: value for name, value in names.items() if name not in others and value is not None}


def show(report: Report[Any], since: str, json_: bool) -> None:
    """For people on standard output, or on standard error beside the JSON line."""
    typer.echo(table(report, since), err=json_)
    if json_:
        typer.echo(report.model_dump_json(exclude={"incident_urls"}))


def _option(place: tuple[Any, ...]) -> str:
    return "--" + "-".join(str(part) for part in place).replace("_", "-")
