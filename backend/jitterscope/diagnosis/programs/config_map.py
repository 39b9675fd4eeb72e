"""Changes of a Corefile that Kubernetes keeps in a ConfigMap, as one command.

The command edits what the cluster has now, since a collector sees the file without its secrets, and the name of the
ConfigMap only the Deployment knows. Only lines of Corefiles are touched: JSON has each file on a line of its own, with
its line ends written as \\n, and kubectl's copy of what was applied last is on another one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from jitterscope.diagnosis.core import patches
from jitterscope.diagnosis.core.finding import Patch
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.programs import corefile

_END = r"\\n"


def forward_option(snapshot: Snapshot, server: ResourceView, option: str, value: int) -> Patch | None:
    """Sets an option in every forward block. None where no ConfigMap of Kubernetes has the server's Corefile."""
    namespace, owner = snapshot.subject.fact("workload.namespace"), snapshot.subject.fact("workload.owner")
    blocks = corefile.of(server)
    found = [plugin for block in blocks if (plugin := block.plugin("forward")) is not None]
    if patches.manager(snapshot) != "kubernetes" or not namespace or not owner or not found:
        return None
    edits = [rf"s/{_END} *{option} [^\\ ]+//g"]
    for plugin in dict.fromkeys(found):
        line = _words(("forward", *plugin.arguments))
        # The block that it has, or one of its own.
        edits.append(rf"s/({line}) *\{{/\1 {{{_END}        {option} {value}/g")
        edits.append(rf"s/({line}) *{_END}/\1 {{{_END}        {option} {value}{_END}    }}{_END}/g")
    target, space = patches.owner_of(snapshot), shlex.quote(namespace)
    reloads = all(block.plugin("reload") is not None for block in blocks)
    text = (
        f"names=$(kubectl -n {space} get {target} -o jsonpath='{{.spec.template.spec.volumes[*].configMap.name}}') && "
        f"kubectl -n {space} get configmap ${{names:?}} -o json | sed -E {shlex.quote(_on_corefiles(edits))} | "
        f"kubectl replace -f -"
    )
    if not reloads:
        text += f" && kubectl -n {space} rollout restart {target}"
    label = "kubectl (CoreDNS reloads within 2 min)" if reloads else "kubectl (replaces the pods)"
    return Patch(label=label, language="shell", text=text)


def _words(words: Sequence[str]) -> str:
    return r"([ ]|\\t)+".join(re.sub(r"([^\w:-])", r"\\\1", word) for word in words)


def _on_corefiles(edits: Sequence[str]) -> str:
    return r'/^ *"Corefile[^"]*":/ { ' + "; ".join(edits) + " }"
