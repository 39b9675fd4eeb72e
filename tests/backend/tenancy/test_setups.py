"""Commands and configurations for other machines: their address, and that what they name exists."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from typing import Any

import jsonschema_rs
import pytest
import yaml
from fastapi.testclient import TestClient

from jitterscope.settings import REPOSITORY, Settings

PUBLIC = "https://jitterscope.example.org"
COLLECTORS = ("linux", "compose", "kubernetes")


def setups(api: TestClient, **origin: str) -> dict[str, Any]:
    response = api.get("/api/v1/collectors/setups", params=origin)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def texts(api: TestClient, **origin: str) -> dict[str, str]:
    return {one["name"]: one["text"] for one in setups(api, **origin)["items"]}


def test_each_is_set_up_with_this_address_and_one_token(api: TestClient) -> None:
    found = setups(api)["items"]
    names = [(one["name"], one["sends"]) for one in found]
    assert names == [
        *((name, "ticks") for name in COLLECTORS),
        *((name, "metrics") for name in ("prometheus", "alloy", "agent", "opentelemetry")),
    ]
    for one in found:
        # The UI replaces this word with the secret.
        assert one["text"].count("INGEST_TOKEN") == 1
        assert "http://testserver" in one["text"]
        assert one["text"].count("/api/v1/write") == (one["sends"] == "metrics")


def test_remote_write_programs_read_their_configuration(api: TestClient) -> None:
    found = texts(api)
    prometheus = yaml.safe_load(found["prometheus"])
    assert prometheus["remote_write"][0]["authorization"] == {"credentials": "INGEST_TOKEN"}
    exporters = yaml.safe_load(found["opentelemetry"])["exporters"]
    assert exporters["prometheusremotewrite/jitterscope"]["headers"] == {"Authorization": "Bearer INGEST_TOKEN"}
    assert yaml.safe_load(found["agent"])["metrics"]["global"]["external_labels"] == {"node": "${HOSTNAME}"}


def test_the_public_url_is_used_if_other_machines_reach_it(
    api: TestClient, settings_override: Callable[..., Settings]
) -> None:
    settings_override(public_url=PUBLIC + "/")
    found = setups(api, origin="http://10.0.0.5:8000")
    assert (found["server"], found["only_here"]) == (PUBLIC, None)
    made = api.post("/api/v1/collectors/tokens", json={}).json()
    assert f"JITTERSCOPE_SERVER={PUBLIC} " in made["install_command"]


@pytest.mark.parametrize("public", ["http://127.0.0.1:8000", "http://localhost:8000", "http://[::1]:8000"])
def test_otherwise_the_address_by_which_the_caller_came(
    api: TestClient, settings_override: Callable[..., Settings], public: str
) -> None:
    settings_override(public_url=public)
    found = setups(api, origin="https://stalls.example.org:8443")
    assert (found["server"], found["only_here"]) == ("https://stalls.example.org:8443", None)
    made = api.post("/api/v1/collectors/tokens", json={}, headers={"Host": "10.0.0.5:8000"}).json()
    assert "JITTERSCOPE_SERVER=http://10.0.0.5:8000 " in made["install_command"]


@pytest.mark.parametrize("trusted", ["", "*"])
def test_only_a_trusted_proxy_says_that_it_is_reached_by_tls(
    client: TestClient, organization: Any, settings_override: Callable[..., Settings], trusted: str
) -> None:
    from jitterscope.main import create_app

    settings_override(trusted_proxies=trusted)
    with TestClient(create_app(), headers=organization.headers | {"X-Forwarded-Proto": "https"}) as behind:
        assert setups(behind)["server"] == ("https://testserver" if trusted else "http://testserver")


@pytest.mark.parametrize("origin", ["http://localhost:8000", "http://127.0.0.1", "http://[::1]:80", "http://0.0.0.0"])
def test_a_loopback_address_is_said_to_work_only_here(api: TestClient, origin: str) -> None:
    found = setups(api, origin=origin)
    assert found["server"] == origin
    assert found["only_here"].startswith(f"Other machines cannot reach {origin}: ")
    assert "JITTERSCOPE_PUBLIC_URL" in found["only_here"]


@pytest.mark.parametrize(
    "origin", ["javascript:alert(1)", "https://a b", "https://a\n", "https://a;reboot", "https://a/path", "ftp://a", ""]
)
def test_what_is_no_origin_is_refused(api: TestClient, origin: str) -> None:
    assert api.get("/api/v1/collectors/setups", params={"origin": origin}).status_code == 422


def test_a_made_up_host_does_not_reach_a_shell(api: TestClient) -> None:
    response = api.get("/api/v1/collectors/setups", headers={"Host": "a$(reboot)"})
    assert response.json()["server"] == "http://127.0.0.1:8000"


def test_compose_runs_the_collector_as_this_repository_does(api: TestClient) -> None:
    [service] = yaml.safe_load(texts(api)["compose"])["services"].values()
    ours = yaml.safe_load((REPOSITORY / "docker-compose.yml").read_text())["services"]["collector"]
    assert set(service["environment"]) == set(ours["environment"])
    assert [one.partition(":")[2] for one in service["volumes"]] == [one.partition(":")[2] for one in ours["volumes"]]
    for name in ("environment", "volumes", "build", "depends_on"):
        ours.pop(name)
        service.pop(name, None)
    assert service == ours


def test_kubernetes_sets_values_that_the_chart_has(api: TestClient) -> None:
    lines = texts(api)["kubernetes"].replace("\\\n", "").splitlines()
    helm = shlex.split(lines[-1])
    assert helm[:3] == ["helm", "install", "jitterscope"]
    assert (REPOSITORY / helm[3] / "Chart.yaml").is_file()
    chart = REPOSITORY / helm[3]
    values: dict[str, Any] = yaml.safe_load((chart / "values.yaml").read_text())
    for one in helm[-1].split(","):
        path, _, text = one.partition("=")
        *parents, last = path.split(".")
        place = values
        for part in parents:
            place = place[part]
        assert last in place, path
        place[last] = yaml.safe_load(text)
    jsonschema_rs.validator_for(json.loads((chart / "values.schema.json").read_text())).validate(values)
    assert values["collector"]["enabled"]
    assert not values["backend"]["enabled"]
    assert values["collector"]["server"] == "http://testserver"
    secret = next(one for one in lines if "create secret" in one)
    assert f"generic {values['existingSecret']} " in secret
    assert "JITTERSCOPE_COLLECTOR_TOKEN" in (chart / "templates" / "collector.yaml").read_text()
