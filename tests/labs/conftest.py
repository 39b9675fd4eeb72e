"""Products that watch the labs."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from labs.hosting import own_product
from labs.product import Product
from tests.support.rendered_chart import EVERYTHING
from tests.support.said import say


class SharedProduct:
    """One product for all consecutive labs; it ends before a test that does not use it."""

    def __init__(self) -> None:
        self._stack: ExitStack | None = None
        self._product: Product | None = None

    def running(self) -> Product:
        if self._product is None:
            self._stack = ExitStack()
            self._product = self._stack.enter_context(own_product(say))
        return self._product

    def end(self) -> None:
        if self._stack is not None:
            self._stack.close()
        self._stack = self._product = None


_shared = SharedProduct()


@pytest.fixture
def shared_product() -> Product:
    """The product that watches; it also watched earlier labs."""
    return _shared.running()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Labs that share a product run first, so that it starts once: starting and stopping one takes 12 s."""
    items.sort(key=lambda item: "shared_product" not in getattr(item, "fixturenames", ()))


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if "shared_product" not in getattr(nextitem, "fixturenames", ()):
        _shared.end()


@pytest.fixture
def everything(tmp_path: Path) -> Path:
    """Values that turn on every option of the chart."""
    file = tmp_path / "values.yaml"
    file.write_text(EVERYTHING)
    return file
