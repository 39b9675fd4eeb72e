"""How programs set how many connections can wait for them, and how many they accept at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from jitterscope.diagnosis.core.finding import Patch


@dataclass(frozen=True, slots=True)
class Listener:
    """`setting` is the line that sets the backlog; SIZE and PORT are placeholders."""

    program: str
    setting: str
    reference: str
    more: str = ""

    def backlog(self, size: int, port: str) -> Patch:
        text = self.setting.replace("SIZE", str(size)).replace("PORT", port)
        return Patch(label=f"Setting of {self.program}; restart it", language="shell", text=text)

    @property
    def acceptors(self) -> Patch | None:
        return Patch(label=f"Setting of {self.program}", language="shell", text=self.more) if self.more else None


_APACHE = "https://httpd.apache.org/docs/2.4/mod/mpm_common.html#listenbacklog"
_NGINX = "https://nginx.org/en/docs/http/ngx_http_core_module.html#listen"
_REDIS = "https://redis.io/docs/latest/operate/oss_and_stack/management/config/"
_GUNICORN = "https://docs.gunicorn.org/en/stable/settings.html#backlog"
_HAPROXY = "https://docs.haproxy.org/2.8/configuration.html#4.2-backlog"
_BY_NAME: Mapping[str, Listener] = MappingProxyType(
    {
        # Its own default is 511 on Linux.
        "nginx": Listener(
            "nginx", "listen PORT backlog=SIZE;", _NGINX, "worker_processes auto;\nlisten PORT reuseport;"
        ),
        "haproxy": Listener("HAProxy", "backlog SIZE", _HAPROXY, "nbthread THREADS"),
        "redis-server": Listener("Redis", "tcp-backlog SIZE", _REDIS),
        "valkey-server": Listener("Valkey", "tcp-backlog SIZE", "https://valkey.io/topics/valkey.conf/"),
        "gunicorn": Listener(
            "gunicorn", "gunicorn --backlog SIZE …", _GUNICORN, "gunicorn --workers WORKERS --reuse-port …"
        ),
        "uvicorn": Listener(
            "uvicorn", "uvicorn --backlog SIZE …", "https://www.uvicorn.org/settings/", "uvicorn --workers WORKERS …"
        ),
        "node": Listener(
            "Node.js", "server.listen({ port: PORT, backlog: SIZE })", "https://nodejs.org/api/net.html#serverlisten"
        ),
        "httpd": Listener("Apache httpd", "ListenBacklog SIZE", _APACHE),
        "apache2": Listener("Apache httpd", "ListenBacklog SIZE", _APACHE),
    }
)


def listener_of(program: str | None) -> Listener | None:
    """The listener of a program by the name of its executable; None if its setting is unknown."""
    return _BY_NAME.get(program or "")
