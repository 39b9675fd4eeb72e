"""kubectl commands that change the pod template of a subject's workload, or what to write into its manifest instead."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from jitterscope.diagnosis.core import owners, qos
from jitterscope.diagnosis.core.finding import Patch
from jitterscope.diagnosis.core.snapshot import Snapshot

# Names of containers; others would have to be escaped three times.
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def template_command(snapshot: Snapshot, pod_spec: Mapping[str, Any]) -> str | None:
    """A command that merges this into the pod spec; None if no command can.

    On custom resources a list replaces the whole list, so that containers need `container_command`.
    """
    owner = owners.of(snapshot)
    if owner.kind not in owners.POD_SPEC or (not owner.is_built_in and "containers" in pod_spec):
        return None
    way = "strategic" if owner.is_built_in else "merge"
    return f"{_patch(snapshot, owner)} --type {way} -p {_quoted(owner.whole(pod_spec))}"


def container_command(snapshot: Snapshot, content: Mapping[str, Any]) -> str | None:
    """A command that merges this into the subject's container; None if no command can.

    On custom resources only the image and limits, where the template has such: nothing adds what contains a value.
    """
    name = snapshot.subject.fact("workload.container") or "CONTAINER"
    owner = owners.of(snapshot)
    if owner.is_built_in or owner.kind not in owners.POD_SPEC:
        return template_command(snapshot, {"containers": [{"name": name, **content}]})
    values = list(_leaves(content))
    if _LABEL.fullmatch(name) is None or not all(_is_in_template(path) for path, _ in values):
        return None
    return f'{_patch(snapshot, owner)} --type json -p "$({_operations(snapshot, owner, name, values)})"'


def container_patch(snapshot: Snapshot, content: dict[str, Any], now: dict[str, Any] | None = None) -> Patch:
    """Merge this into the subject's container for good; `now`: the part that is in force.

    Where no command can, the patch is what the manifest needs.
    """
    command, changes = container_command(snapshot, content), owners.container_change(snapshot, content, now)
    if command is None:
        return Patch(label=in_manifest(snapshot), language="yaml", text=_yaml(content), changes=changes)
    label = f"Permanently ({owners.of(snapshot).effect})"
    return Patch(label=label, language="shell", text=command, changes=changes)


def container_undo(snapshot: Snapshot, before: dict[str, Any]) -> str:
    """How to restore values that a `container_patch` changed."""
    values = "; ".join(f"{'.'.join(path)}: {value}" for path, value in _leaves(before))
    return container_command(snapshot, before) or f"Restore {values} in the manifest."


def resize(snapshot: Snapshot, content: dict[str, Any]) -> list[Patch]:
    """Change the resources of the subject's container in its running pod; nothing where the pod has to be replaced."""
    subject, allowed = snapshot.subject, qos.resized(snapshot, content)
    if allowed is None:
        return []
    namespace = shlex.quote(subject.fact("workload.namespace") or "NAMESPACE")
    pod = shlex.quote(subject.fact("workload.pod") or "POD")
    name = subject.fact("workload.container") or "CONTAINER"
    text = f"kubectl -n {namespace} patch pod {pod} --subresource resize --type strategic -p "
    text += _quoted({"spec": {"containers": [{"name": name, **allowed}]}})
    return [Patch(label="This pod now, without a restart", language="shell", text=text)]


def in_manifest(snapshot: Snapshot) -> str:
    """The label of what goes into the container of a manifest."""
    container = snapshot.subject.fact("workload.container") or "CONTAINER"
    return f"In the manifest of {owners.of(snapshot).in_words}, container {container}"


def _patch(snapshot: Snapshot, owner: owners.Owner) -> str:
    namespace = shlex.quote(snapshot.subject.fact("workload.namespace") or "NAMESPACE")
    return f"kubectl -n {namespace} patch {shlex.quote(str(owner))}"


def _operations(
    snapshot: Snapshot, owner: owners.Owner, name: str, values: Sequence[tuple[tuple[str, ...], object]]
) -> str:
    """A command that prints JSON patch operations, which address a container by its position in the template.

    It prints nothing if the template has no such container: an empty patch is an error. The first operation fails if
    the position changes in between.
    """
    at = "/" + "/".join((*owners.POD_SPEC[owner.kind], "containers", "#"))
    operations: list[dict[str, object]] = [{"op": "test", "path": f"{at}/name", "value": name}]
    operations += [{"op": "add", "path": f"{at}/{'/'.join(path)}", "value": value} for path, value in values]
    text = json.dumps(operations, separators=(",", ":")).replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    positions = ", ".join(["NR - 1"] * text.count("#"))
    program = f'$0 == "{name}" {{ printf "{text.replace("#", "%d")}", {positions} }}'
    namespace = shlex.quote(snapshot.subject.fact("workload.namespace") or "NAMESPACE")
    names = f'{{range .{".".join(owners.POD_SPEC[owner.kind])}.containers[*]}}{{.name}}{{"\\n"}}{{end}}'
    listed = f"kubectl -n {namespace} get {shlex.quote(str(owner))} -o jsonpath={shlex.quote(names)}"
    return f"{listed} | awk {shlex.quote(program)}"


def _leaves(content: Mapping[str, Any], path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], object]]:
    found: list[tuple[tuple[str, ...], object]] = []
    for key, value in content.items():
        found += _leaves(value, (*path, key)) if isinstance(value, Mapping) else [((*path, key), value)]
    return found


def _quoted(content: Mapping[str, Any]) -> str:
    return shlex.quote(json.dumps(content, separators=(",", ":")))


def _is_in_template(path: tuple[str, ...]) -> bool:
    """Whether the template of a container that has such values usually has the object that contains this one."""
    return path == ("image",) or path[:2] == ("resources", "limits")


def _yaml(content: Mapping[str, Any], indent: str = "") -> str:
    lines = []
    for key, value in content.items():
        nested = isinstance(value, Mapping)
        lines.append(f"{indent}{key}:" + (f"\n{_yaml(value, indent + '  ')}" if nested else f" {value}"))
    return "\n".join(lines)
