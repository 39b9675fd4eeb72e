"""What a lab prints if the product does not do what it needs."""

from __future__ import annotations

import httpx
import pytest

from labs.errors import LabError
from labs.product import Product

PROBLEM = {"title": "Scope missing", "status": 403, "detail": "The token lacks incidents:write.", "what_to_do": None}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (httpx.Response(403, json=PROBLEM), "HTTP 403: The token lacks incidents:write."),
        (
            httpx.Response(403, json=PROBLEM | {"what_to_do": "Use another token."}),
            "HTTP 403: The token lacks incidents:write. Use another token.",
        ),
        (httpx.Response(502, text="Bad Gateway"), "HTTP 502: Bad Gateway"),
        (httpx.Response(500, json=["odd"]), 'HTTP 500: ["odd"]'),
    ],
)
def test_a_rejection_is_told_in_words(answer: httpx.Response, said: str) -> None:
    with Product("http://product.test", "token") as product:
        product._http = httpx.Client(base_url=product.url, transport=httpx.MockTransport(lambda _: answer))
        with pytest.raises(LabError) as caught:
            product.declare(1, "ndots", 0)
    assert str(caught.value) == f"The product rejects the fix ndots: {said}"
