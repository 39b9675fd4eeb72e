"""A node with servers whose requests were slow some minutes ago."""

from __future__ import annotations

import httpx

from tests.e2e.recorded_batches import HEADERS
from tests.support.batches import now_us
from tests.support.tcp_servers import TICKS_PER_MINUTE, Serving, batches, minute_ago

MINUTES = 12
# The third minute, and a little in the eighth.
SLOW = {2 * TICKS_PER_MINUTE + tick: 95_000 + 40 * tick for tick in range(200)} | {7 * TICKS_PER_MINUTE: 31_000}
STOCK = "/kubepods/burstable/pod-stock/stock:9090"
SERVERS = (
    Serving(
        "checkout", 8080, 41, slow=SLOW, throttled=dict.fromkeys(SLOW, 60_000), lost={1300: 12}, errors={1400: 72},
        runtime={"go.version": "1.25.3"},
        asks={"10.0.0.7:9090": STOCK, "203.0.113.20:443": ""},
        kinds=[
            ["GET /users/{id}/orders", 900, 45, 9, 18, 4_500_000, 103_000],
            ["POST /carts", 100, 0, 0, 0, 90_000, 4_000],
            ["", 30, 0, 0, 0, 20_000, 1_000],
        ],
    ),
    Serving(
        "stock", 9090, 42, per_tick=5, usual_us=3000.0,
        runtime={"runtime.name": "jvm", "runtime.version": "17.0.13"}, asks={"10.96.3.5:5432": ""},
        of_services={"10.96.3.5:5432": "shop/orders-db"},
    ),
    Serving(
        "cart", 3000, 44, per_tick=4, usual_us=26_000.0, grpc_errors=dict.fromkeys(range(1400, 1418), 4),
        kinds=[["POST /shop.Carts/Add", 400, 400, None, None, 10_400_000, 27_000]], grpc=[[0, 360, 14, 30, 5, 10]],
        runtime={"runtime.name": "nodejs", "runtime.version": "20.19.2"}, asks={"10.0.0.7:9090": STOCK},
    ),
)  # fmt: skip


def feed(url: str, token: str) -> None:
    """Send what a collector would have sent about them."""
    start_us = minute_ago(MINUTES + 1, now_us())
    headers = {"Authorization": f"Bearer {token}", **HEADERS}
    with httpx.Client(base_url=url, headers=headers, timeout=30) as client:
        for body in batches("shop-node", SERVERS, start_us, MINUTES * TICKS_PER_MINUTE):
            client.post("/api/v1/ingest", content=body).raise_for_status()
