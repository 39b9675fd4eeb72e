"""Containers and chart name only settings, commands, and files that exist; needs neither Docker nor helm."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import click
import jsonschema_rs
import kubernetes_validate
import pytest
import typer.main
import yaml
from celery.bin.celery import celery

from jitterscope import worker
from jitterscope.cli import build
from jitterscope.deployment.cli import new_secrets
from jitterscope.settings import REPOSITORY, Settings

CHART = REPOSITORY / "helm" / "jitterscope"
COMPOSE = REPOSITORY / "docker-compose.yml"
TEMPLATES = sorted((CHART / "templates").glob("*.*"))
NAME = re.compile(r"JITTERSCOPE_[A-Z_]*[A-Z]")


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return loaded


def values() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
    return loaded


def parameters(command: Any) -> Iterator[Any]:
    """Parameters of a command and all subcommands. typer has its own copy of click, so its types are not click's."""
    yield from command.params
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            yield from parameters(command.get_command(None, name))


def backend_names() -> set[str]:
    """Every variable that settings or a command's option read."""
    names = {f"JITTERSCOPE_{field.upper()}" for field in Settings.model_fields}
    for parameter in parameters(typer.main.get_command(build())):
        if isinstance(parameter.envvar, str):
            names.add(parameter.envvar)
    return names


def collector_names() -> set[str]:
    """Every variable that the collector reads: one per flag, and those that its sources look up."""
    helped = subprocess.run(
        [REPOSITORY / "bin" / "jitterscope-collector", "run", "-h"], capture_output=True, text=True, check=False
    )
    flags = re.findall(r"^  -([a-z-]+)", helped.stderr, re.MULTILINE)
    assert "server" in flags, helped
    names = {"JITTERSCOPE_" + flag.upper().replace("-", "_") for flag in flags}
    for file in (REPOSITORY / "collector" / "internal").rglob("*.go"):
        names |= set(re.findall(r'os\.Getenv\("(JITTERSCOPE_\w+)"\)', file.read_text()))
    return names


def file_names(capsys: pytest.CaptureFixture[str]) -> set[str]:
    """What `jitterscope new-secrets` writes into .env."""
    new_secrets()
    return {line.partition("=")[0] for line in capsys.readouterr().out.splitlines()}


def check_command(words: list[str]) -> None:
    """Fails if the program, a subcommand, or an option does not exist, or if an option does not take its value."""
    roots: dict[str, Any] = {
        "jitterscope": typer.main.get_command(build()),
        "celery": celery,
        "uvicorn": importlib.import_module("uvicorn.main").main,
    }
    command = roots[words[0]]
    # celery's options look up the application there.
    context = click.Context(celery, obj=SimpleNamespace(app=worker.app))
    rest = words[1:]
    while rest:
        word, *rest = rest
        if word.startswith("-"):
            name, equals, value = word.partition("=")
            option = next((one for one in command.params if name in one.opts + one.secondary_opts), None)
            assert option is not None, f"{command.name} has no option {name}"
            if not option.is_flag:
                if not equals:
                    value, *rest = rest
                option.type.convert(value, option, context)
        elif hasattr(command, "get_command"):
            found = command.get_command(None, word)
            assert found is not None, f"{command.name} has no command {word}"
            command = found
        else:
            assert word == "jitterscope.main:create_app", f"{command.name} takes no {word}"


def test_the_check_of_commands_finds_mistakes() -> None:
    for wrong in ("jitterscope migrates", "jitterscope setup --now", "celery -A jitterscope.worker:app worker --pol x"):
        with pytest.raises(AssertionError):
            check_command(shlex.split(wrong))
    with pytest.raises(click.BadParameter):
        check_command(["uvicorn", "--port", "http"])


def test_compose_sets_only_variables_that_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    services = compose()["services"]
    for name in ("setup", "api", "worker", "beat"):
        assert set(services[name]["environment"]) <= backend_names(), name
    assert set(services["collector"]["environment"]) <= collector_names()
    text = COMPOSE.read_text()
    needed = set(re.findall(r"\$\{(\w+):\?", text))
    assert needed == file_names(capsys)
    optional = set(re.findall(r"\$\{(\w+):-", text))
    explained = text.partition("name: jitterscope")[0]
    assert optional
    assert all(name in explained for name in optional)


def test_only_the_set_up_knows_the_owner_of_the_schema() -> None:
    for name, service in compose()["services"].items():
        secret = {"JITTERSCOPE_OWNER_DATABASE_URL", "JITTERSCOPE_SUPERUSER_DATABASE_URL"} & set(service["environment"])
        assert bool(secret) == (name == "setup"), name
    for template in TEMPLATES:
        given = re.search(r'fromSecret" \(list \. "JITTERSCOPE_OWNER', template.read_text())
        assert bool(given) == (template.name == "setup.yaml"), template.name


def test_the_chart_sets_only_variables_that_are_read() -> None:
    seen = 0
    for template in TEMPLATES:
        text = template.read_text()
        of_collector = template.name == "collector.yaml"
        # In the Secret, the token has another name than in the collector.
        of_secret = '(list . "JITTERSCOPE_COLLECTOR_TOKEN" false) | replace "- name: JITTERSCOPE_COLLECTOR_TOKEN"'
        text = text.replace(of_secret, "")
        found = set(NAME.findall(text))
        assert found <= (collector_names() if of_collector else backend_names()), template.name
        seen += len(found)
    assert seen > 15
    assert set(NAME.findall((CHART / "values.yaml").read_text())) <= backend_names()


def test_every_value_of_the_chart_exists_and_is_used() -> None:
    text = "\n".join(template.read_text() for template in TEMPLATES)
    used = {name.rstrip(".") for name in re.findall(r"\.Values\.([A-Za-z.]+)", text)}
    assert len(used) > 40
    for name in used:
        here: Any = values()
        for part in name.split("."):
            assert part in here, f".Values.{name}"
            here = here[part]

    def leaves(tree: dict[str, Any], path: str) -> Iterator[str]:
        for key, value in tree.items():
            name = f"{path}{key}"
            if isinstance(value, dict) and name not in used:
                yield from leaves(value, f"{name}.")
            else:
                yield name

    assert set(leaves(values(), "")) <= used


def test_every_command_exists() -> None:
    services = compose()["services"]
    commands = [services[name]["command"] for name in ("setup", "worker", "beat")]
    dockerfile = (REPOSITORY / "Dockerfile").read_text().replace("\\\n", " ")
    commands += [yaml.safe_load(found) for found in re.findall(r"^CMD (\[.*\])$", dockerfile, re.MULTILINE)]
    for name in ("setup.yaml", "worker.yaml"):
        text = re.sub(r"\{\{.*?\}\}", '"1"', (CHART / "templates" / name).read_text())
        commands += [yaml.safe_load(found) for found in re.findall(r"^ *command: (\[[^]]*\])", text, re.MULTILINE)]
    assert len(commands) == 7
    for command in commands:
        check_command(command)
    starts = re.findall(r"^(?:ENTRYPOINT|CMD) (.*)$", (REPOSITORY / "collector/Dockerfile").read_text(), re.MULTILINE)
    assert starts == ['["/jitterscope-collector"]', '["run"]']
    assert services["collector"]["command"] == ["run"]


def test_the_collector_gets_the_same_documented_capabilities_everywhere() -> None:
    service = compose()["services"]["collector"]
    assert service["cap_drop"] == ["ALL"]
    assert service["cap_add"] == values()["collector"]["capabilities"]
    documented = set(re.findall(r"CAP_([A-Z_]+)", (REPOSITORY / "docs" / "privileges.md").read_text()))
    assert set(service["cap_add"]) <= documented


def test_images_are_made_of_files_and_versions_that_exist() -> None:
    ignored = (REPOSITORY / ".dockerignore").read_text().splitlines()
    copied = 0
    for line in re.findall(r"^COPY (?!--from)(.*)$", (REPOSITORY / "Dockerfile").read_text(), re.MULTILINE):
        for source in line.split()[:-1]:
            assert (REPOSITORY / source).exists(), source
            assert any(f"!{part}" in ignored for part in (source.rstrip("/"), source.split("/")[0])), source
            copied += 1
    assert copied >= 8
    dockerfile = (REPOSITORY / "Dockerfile").read_text()
    project = tomllib.loads((REPOSITORY / "backend" / "pyproject.toml").read_text())["project"]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    tag = project["version"]
    assert chart["appVersion"] == tag
    assert set(re.findall(r"jitterscope(?:-collector)?:(\d[\d.]*)", COMPOSE.read_text())) == {tag}
    go = re.search(r"^go (\d+\.\d+)", (REPOSITORY / "collector" / "go.mod").read_text(), re.MULTILINE)
    assert go is not None
    for text in (dockerfile, (REPOSITORY / "collector" / "Dockerfile").read_text()):
        assert set(re.findall(r"FROM \S+ golang:([\d.]+)", text)) == {go[1]}
    python = re.search(r"3\.\d+", project["requires-python"])
    assert python is not None
    assert set(re.findall(r"FROM python:([\d.]+)", dockerfile)) == {python[0]}


def test_the_schema_of_values_has_every_value_and_no_other() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())

    def resolved(one: Any) -> dict[str, Any]:
        if isinstance(one, bool):  # false: not allowed here
            return {}
        name = one.get("$ref", "").removeprefix("#/definitions/")
        return dict(schema["definitions"][name] if name else one)

    def keys(one: Any, path: str) -> Iterator[str]:
        for name, below in resolved(one).get("properties", {}).items():
            yield f"{path}{name}"
            yield from keys(below, f"{path}{name}.")

    def given(tree: dict[str, Any], path: str) -> Iterator[str]:
        for name, value in tree.items():
            yield f"{path}{name}"
            if isinstance(value, dict):
                yield from given(value, f"{path}{name}.")

    known, there = set(keys(schema, "")), set(given(values(), ""))
    # Maps with arbitrary contents of the cluster, whose keys the schema allows or has without a default.
    free = re.compile(r"(^|\.)(resources|nodeSelector|affinity|settings|annotations)\.|^global$")
    assert {one for one in there if not free.search(one)} == {one for one in known if not free.search(one)}
    assert len(there) > 80
    jsonschema_rs.validator_for(schema).validate(values())


def test_the_schema_allows_every_documented_capability() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    allowed = schema["properties"]["collector"]["properties"]["capabilities"]["items"]["enum"]
    text = (REPOSITORY / "docs" / "privileges.md").read_text()
    assert set(re.findall(r"CAP_([A-Z_]+)", text)) <= set(allowed)


@pytest.mark.parametrize("base", ["base", "collectors"])
@pytest.mark.parametrize("minor", range(33, 38))
def test_kubernetes_knows_every_object_of_the_kustomize_bases(base: str, minor: int) -> None:
    folder = REPOSITORY / "kustomize" / base
    listed = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
    objects = [one for file in listed for one in yaml.safe_load_all((folder / file).read_text()) if one]
    assert len(objects) > 7
    for one in objects:
        kubernetes_validate.validate(one, f"1.{minor}", strict=True)


def test_the_products_own_containers_say_so() -> None:
    own = ("app.kubernetes.io/part-of", "jitterscope")
    for name, service in compose()["services"].items():
        assert own in service["labels"].items(), name
    for base in ("base", "collectors"):
        objects = yaml.safe_load_all((REPOSITORY / "kustomize" / base / "jitterscope.yaml").read_text())
        templates = [one["spec"]["template"] for one in objects if one and "template" in one.get("spec", {})]
        assert templates
        assert all(own in one["metadata"]["labels"].items() for one in templates)
