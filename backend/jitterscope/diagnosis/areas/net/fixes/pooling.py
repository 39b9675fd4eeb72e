"""Fix: clients that use a connection for more than one request."""

from __future__ import annotations

from jitterscope.diagnosis.areas.net.readings.churn import AGAIN, EACH, Churn
from jitterscope.diagnosis.core.finding import Fix, Interval, Patch, predictions
from jitterscope.diagnosis.core.landing import FixKind, Unseen

VERIFY = (
    "Watch this incident: before and after are compared, and it closes as verified once clients reuse their "
    "connections. By hand: `nstat TcpPassiveOpens` rises far more slowly than the number of requests."
)
_NGINX = """upstream BACKEND {
    server ADDRESS:PORT;
    keepalive 32;
}
proxy_http_version 1.1;
proxy_set_header Connection "";"""


def keep_alive(found: Churn) -> Fix | None:
    """None where clients use their connections for several requests already, or come once each."""
    if found.per_request < EACH or found.again < AGAIN * found.opened:
        return None
    return Fix(
        id="reuse_connections",
        title="Keep connections open in the clients (keep-alive or a pool)",
        summary=f"{found.again:,.0f} of {found.opened:,.0f} connections came from an address that had just opened "
        "another one. A client that reuses its connections opens one for each of its concurrent requests, and no more.",
        verdict="removes",
        predicted=predictions(connects_per_request=Interval(low=0.0, high=0.2 * found.per_request, expected=0.0)),
        precondition="Works only if clients and server speak a protocol that allows it: HTTP/1.1, HTTP/2, and most "
        "database protocols do.",
        patches=[
            Patch(label="nginx in front of the server", language="shell", text=_NGINX),
            Patch(
                label="In programs: one client object for all requests",
                language="shell",
                text="# Go: one http.Client, read and close each Body; MaxIdleConnsPerHost is 2 unless set\n"
                "# Python: requests.Session(), httpx.Client()\n# Node: new http.Agent({ keepAlive: true }) before "
                "Node 19\n"
                "# Java: one HttpClient; a pool such as HikariCP for databases",
            ),
        ],
        caveats=[
            "If the server closes connections after each answer (`Connection: close`, keepalive_timeout 0), change "
            "that there.",
            "A connection that stays open keeps its replica: new replicas get requests later.",
        ],
        verify=VERIFY,
        undo="Turn keep-alive off again.",
        references=[
            "https://www.rfc-editor.org/rfc/rfc9112#section-9.3",
            "https://nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive",
        ],
    )


FIXES = (
    FixKind(
        id="reuse_connections",
        title="Keep connections open in the clients",
        precondition="Clients that open a new connection for each request, and a protocol with keep-alive.",
        landing=Unseen("Keep-alive is a setting of programs, most of them on other machines."),
        measures=("connects_per_request", "listen_drops_ratio"),
        lab="accept-queue --variant connect-churn --apply reuse_connections",
    ),
)
