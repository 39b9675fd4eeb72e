"""A browser for drills: the same one as in the end-to-end tests."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.chaos.drill import PATIENCE_S
from tests.e2e.conftest import browser

__all__ = ["browser"]


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="jitterscope-drill-", ignore_cleanup_errors=True) as made:
        yield Path(made)


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[[str], Page]]:
    contexts = []

    def open_(url: str) -> Page:
        context = browser.new_context(base_url=url)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_S * 1e3)
        return page

    yield open_
    for context in contexts:
        context.close()
