"""The commands of docs/deploy.md, and a cluster on which they run as written."""

from __future__ import annotations

import json
import re
import shutil
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from jitterscope.settings import REPOSITORY
from labs.kubernetes import traces, trial
from labs.kubernetes.cluster import Cluster
from tests.support.said import say

_DOCS = REPOSITORY / "docs" / "deploy.md"
_FENCED = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"`((?:kubectl|helm|docker|make|rm|jitterscope)\s[^`]+)`")
# What readers put their own into.
PLACEHOLDERS = (
    "REGISTRY",
    "TAG",
    "FILE",
    "OVERLAY",
    "TOKEN",
    "HOST",
    "PASSWORD",
    "VALKEY_HOST",
    "VALKEY_PASSWORD",
    "https://jitterscope.example.com",
)


def _text() -> str:
    """Without Docker Compose: tests/labs/test_compose.py runs that section's commands."""
    text = _DOCS.read_text()
    begin, end = text.index("\n## Docker Compose\n"), text.index("\n## Kubernetes\n")
    return text[:begin] + text[end:]


def commands() -> list[str]:
    """Every shell block, and every command in the text outside of blocks."""
    text = _text()
    inline = _INLINE.findall(_FENCED.sub("", text))
    return [*_blocks("sh", text), *dict.fromkeys(" ".join(one.split()) for one in inline)]


def files() -> list[str]:
    """Every YAML block."""
    return _blocks("yaml", _text())


def _blocks(language: str, text: str) -> list[str]:
    return [textwrap.dedent(found[3]) for found in _FENCED.finditer(text) if found[2] == language]


def the_one(mark: str, among: list[str]) -> str:
    """The one that is this text, or the only one with this text in it."""
    found = [one for one in among if one.strip() == mark] or [one for one in among if mark in one]
    assert len(found) == 1, f"{len(found)} of docs/deploy.md have {mark!r}"
    return found[0]


@dataclass(slots=True)
class Reader:
    """Somebody who follows the docs in a checkout: `folder`/jitterscope, with overlays beside it.

    `values`: placeholder → what the reader puts there.
    """

    cluster: Cluster
    folder: Path
    values: dict[str, str]
    ran: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.checkout.mkdir()
        for name in ("helm", "kustomize"):
            (self.checkout / name).symlink_to(REPOSITORY / name)
        self.values |= {"FILE": "secret.env", "OVERLAY": "../overlay"}

    @property
    def checkout(self) -> Path:
        return self.folder / "jitterscope"

    def newer_chart(self) -> Path:
        """From now on the checkout is a later release: its chart has one more value, which a template uses."""
        (self.checkout / "helm").unlink()
        shutil.copytree(REPOSITORY / "helm", self.checkout / "helm")
        chart = self.checkout / "helm" / "jitterscope"
        with (chart / "values.yaml").open("a") as values:
            values.write("another: { value: 1 }\n")
        schema = json.loads((chart / "values.schema.json").read_text())
        schema["properties"]["another"] = {"type": "object"}
        (chart / "values.schema.json").write_text(json.dumps(schema))
        (chart / "templates" / "another.yaml").write_text(
            "{{- if not .Values.another.value }}{{ fail `none` }}{{ end }}"
        )
        return chart

    def run(self, mark: str, more: str = "") -> str:
        """What the command with this text in it prints; `more` is added to its end. Raises LabError if it fails."""
        script = self._taken(mark) + more
        return self.cluster.shell(f"cd '{self.checkout}'\n{script}")

    def run_on_nodes(self, mark: str) -> None:
        """Run the command with this text in it on each node."""
        script = self._taken(mark)
        for node in self.cluster.nodes:
            self.cluster.on_node("sh", "-euc", script, node=node)

    def write(self, mark: str, file: str) -> Path:
        """Write the YAML block with this text in it to a file, relative to the checkout."""
        path = self.checkout / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(self._filled(the_one(mark, files())))
        return path

    def secrets(self) -> dict[str, str]:
        """What FILE has."""
        lines = (self.checkout / self.values["FILE"]).read_text().splitlines()
        return {name: value for name, _, value in (line.partition("=") for line in lines)}

    def keep_secrets(self, **secrets: str) -> None:
        """Write FILE, for those who do not let `jitterscope bootstrap` do it."""
        lines = [f"{name}={value}\n" for name, value in secrets.items()]
        (self.checkout / self.values["FILE"]).write_text("".join(lines))

    def _taken(self, mark: str) -> str:
        script = self._filled(the_one(mark, commands())).rstrip()
        self.ran.append(mark)
        say(script)
        return script

    def _filled(self, text: str) -> str:
        for name in PLACEHOLDERS:
            place = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
            if place.search(text):
                text = place.sub(self.values[name], text)
        return text


@contextmanager
def leaving_nothing(made: Cluster, beside: str = "") -> Iterator[None]:
    """Raises AssertionError if the context leaves anything on the cluster or on its first node.

    `beside`: a program that runs beside the release.
    """
    # Cgroups of the kubelet's own, which it makes with the first pod of a QoS class.
    passing = re.compile(rf"cgroup \S+/kubepods(/\w+)? in .*|process \d+ {beside}")

    def of_node() -> set[str]:
        return {one for one in traces.node(made) if not passing.fullmatch(one)}

    objects_before, node_before = traces.objects(made), of_node()
    try:
        yield
        assert traces.settled(lambda: traces.objects(made), objects_before, set(), 60.0) == set()
        assert traces.settled(of_node, node_before, set(), 60.0) == set()
    finally:
        trial.remove(made)
        made.kubectl("delete", "-k", str(REPOSITORY / "kustomize" / "base"), "--ignore-not-found")
