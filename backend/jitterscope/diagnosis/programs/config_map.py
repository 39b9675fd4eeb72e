r"""Changes of a Corefile that Kubernetes keeps in a ConfigMap, as one command.

The command edits what the cluster has now, since a collector sees the file without its secrets, and only the Deployment
knows the name of the ConfigMap. Only Corefiles are edited. JSON has each file on one line, with its line ends written
as \n. The command splits such a line at each of them, edits, and joins it again.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from jitterscope.diagnosis.core import owners
from jitterscope.diagnosis.core.finding import Change, CorefileChange, Patch, PluginChange
from jitterscope.diagnosis.core.owners import Owner
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.programs import corefile, versions
from jitterscope.diagnosis.programs.corefile import Block, Plugin

# A line end and blanks, as JSON encodes them.
_END, _BLANK = r"\\n", r"([ ]|\\t)"
_CUT = r"""/^ *"Corefile[^"]*":/ s/\\n/\\n\n/g"""
_JOIN = r""":more; /\\n$/ { N; s/\\n\n/\\n/; b more }"""


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit of a Corefile: a sed script for the ConfigMap, and the change of a file in a repository.

    `change` takes the namespace and the owner of the workload.
    """

    script: str
    change: Callable[[str, str], Change]


def with_command(
    snapshot: Snapshot, server: ResourceView | None, edits: Sequence[Edit], *patches_: Patch, restart: bool = False
) -> list[Patch]:
    """The command, if a ConfigMap holds the server's Corefile, followed by the text to enter by hand.

    The first of `patches_` is equivalent to the edits, and so carries what a pull request changes.
    """
    made = None if server is None else command(snapshot, server, edits, restart=restart)
    found = None if server is None else _workload(snapshot, server) or _node_local(snapshot, server)
    changes = [] if found is None else [edit.change(found[0], str(found[1])) for edit in edits]
    written = [one.model_copy(update={"changes": [] if number else changes}) for number, one in enumerate(patches_)]
    return [*([] if made is None else [made]), *written]


def multisocket(
    snapshot: Snapshot, server: ResourceView, count: int, label: str = "In the server block of the Corefile"
) -> list[Patch]:
    """Several sockets, with a restart: in the first block, which decides for its address and port.

    Empty unless this CoreDNS is known to have the plugin: any other refuses to start with it.
    """
    if not versions.COREDNS_MULTISOCKET.open(versions.of_server(server, "coredns")):
        return []
    text = f"multisocket {count}"
    edits = plugin(corefile.of(server)[:1], text)
    return with_command(snapshot, server, edits, Patch(label=label, language="corefile", text=text), restart=True)


def command(snapshot: Snapshot, server: ResourceView, edits: Iterable[Edit], *, restart: bool = False) -> Patch | None:
    """None unless a Kubernetes ConfigMap is known to hold the Corefile of this CoreDNS.

    `restart`: a reload is not enough.
    """
    found, script = _workload(snapshot, server), "; ".join(edit.script for edit in edits)
    pod_spec = None if found is None else owners.POD_SPEC.get(found[1].kind)
    # The Corefile of NodeLocal DNSCache is a template: its file differs from the ConfigMap.
    if found is None or pod_spec is None or server.fact("dns.software") == "node-cache" or not script:
        return None
    target, space = shlex.quote(str(found[1])), shlex.quote(found[0])
    reloads = not restart and all(block.plugin("reload") is not None for block in corefile.of(server))
    maps = shlex.quote(f"{{.{'.'.join(pod_spec)}.volumes[*].configMap.name}}")
    text = (
        f"names=$(kubectl -n {space} get {target} -o jsonpath={maps}) && "
        f"kubectl -n {space} get configmap ${{names:?}} -o json | "
        f"sed -E {shlex.quote(_CUT)} | sed -E {shlex.quote(script)} | sed -E {shlex.quote(_JOIN)} | "
        f"kubectl replace -f -"
    )
    if not reloads:
        text += f" && {_restart(space, target)}"
    label = "kubectl (CoreDNS reloads within 2 min)" if reloads else "kubectl (replaces the pods)"
    return Patch(label=label, language="shell", text=text)


def _workload(snapshot: Snapshot, server: ResourceView) -> tuple[str, Owner] | None:
    """Namespace and owner of the pod that a server runs in, if Kubernetes knows them by name.

    GKE's add-on reverts changes to its NodeLocal DNSCache.
    """
    if server.fact("dns.software") == "node-cache" and versions.gke(snapshot) is not None:
        return None
    own = any(one.id == server.id for one in snapshot.dns_servers)
    told = snapshot.subject if own else server
    namespace = told.fact("workload.namespace")
    if told.fact("workload.manager") != "kubernetes" or not namespace or not told.fact("workload.owner"):
        return None
    return namespace, owners.of_view(told)


def _restart(space: str, target: str) -> str:
    if target.startswith("rollout/"):  # of Argo Rollouts, which `kubectl rollout restart` does not know
        return (
            f"kubectl -n {space} patch {target} --type merge -p "
            '"{\\"spec\\":{\\"restartAt\\":\\"$(date -u +%Y-%m-%dT%H:%M:%SZ)\\"}}"'
        )
    return f"kubectl -n {space} rollout restart {target}"


def _node_local(snapshot: Snapshot, server: ResourceView) -> tuple[str, Owner] | None:
    """NodeLocal DNSCache in front of the subject, under the names of its manifest."""
    if server.fact("dns.software") != "node-cache" or versions.gke(snapshot) is not None:
        return None
    return "kube-system", Owner("DaemonSet", "node-local-dns")


def options(
    server: ResourceView,
    name: str,
    values: Mapping[str, str | int | None],
    without: Sequence[str] = (),
    only_with: str | None = None,
) -> list[Edit]:
    """The edit that sets options of a plugin wherever it is used (None: an option without a value), and removes others.

    `only_with`: only where it has this option. Empty if the plugin is not used.
    """
    scripts = []
    for block in corefile.with_plugin(corefile.of(server), name):
        own = [one for one in block.plugins if one.name == name and (only_with is None or _has(one, only_with))]
        inside = [f"/^{_BLANK}*{one}({_BLANK}.*)?{_END}$/d" for one in (*values, *without)]
        added = "".join(f"        {key}{'' if value is None else f' {value}'}\n" for key, value in values.items())
        for plugin in dict.fromkeys(own):
            line = _words((name, *plugin.arguments))
            # The block that it has, or a new one.
            inside.append(rf"s/^({_BLANK}*{line}){_BLANK}*\{{{_END}$/\1 {{{_lines(added)}/")
            if added:
                closed = f"{added}    }}\n"
                inside.append(rf"s/^({_BLANK}*{line}){_BLANK}*{_END}$/\1 {{{_lines(closed)}/")
        scripts += [_within(block, inside)] if own else []
    told = {**dict.fromkeys(without), **{key: "" if value is None else str(value) for key, value in values.items()}}

    def change(namespace: str, owner: str) -> Change:
        return CorefileChange(namespace=namespace, owner=owner, plugin=name, options=told, only_with=only_with)

    return [Edit("; ".join(scripts), change)] if scripts else []


def plugin(blocks: Sequence[Block], text: str) -> list[Edit]:
    """The edit that adds a plugin with its options to server blocks, replacing an existing one of that name."""
    name = text.split(None, 1)[0]
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    scripts = []
    for block in blocks:
        old = [
            rf"/^{_BLANK}*{name}({_BLANK}.*)?\{{{_END}$/,/^{_BLANK}*\}}{_END}$/d",
            rf"/^{_BLANK}*{name}({_BLANK}.*)?{_END}$/d",
        ]
        scripts.append(_within(block, [*old, rf"s/{_head(block)}$/&{_lines(lines)[len(_END) :]}/"]))

    def change(namespace: str, owner: str) -> Change:
        return PluginChange(namespace=namespace, owner=owner, blocks=[list(one.keys) for one in blocks], text=text)

    return [Edit("; ".join(scripts), change)] if scripts else []


def _has(plugin: Plugin, option: str) -> bool:
    return any(one[0] == option for one in plugin.options)


def _within(block: Block, edits: Sequence[str]) -> str:
    return rf"/{_head(block)}/,/^\}}/ {{ " + "; ".join(edits) + " }"


def _head(block: Block) -> str:
    """The first line of the block, which can be the first line of the file."""
    keys = rf"(,?{_BLANK}+|,)".join(_word(key) for key in block.keys)
    return rf'^(.*": ")?{keys}{_BLANK}*\{{{_END}'


def _lines(text: str) -> str:
    """What sed appends to a line whose end it has removed: the end, and further lines."""
    ended = "\n" + text.removesuffix("\n")
    return re.sub(r"([/&])", r"\\\1", ended).replace("\n", rf"{_END}\n", ended.count("\n")) + _END


def _words(words: Sequence[str]) -> str:
    return f"{_BLANK}+".join(map(_word, words))


def _word(word: str) -> str:
    return re.sub(r"([^\w:-])", r"\\\1", word)
