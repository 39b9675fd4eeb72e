r"""Changes of a Corefile that Kubernetes keeps in a ConfigMap, as one command.

The command edits what the cluster has now, since a collector sees the file without its secrets, and the name of the
ConfigMap only the Deployment knows. Only Corefiles are touched: JSON has each file on a line of its own, with its line
ends written as \n. The command cuts such a line behind each of them, edits, and joins it again.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence

from jitterscope.diagnosis.core import patches
from jitterscope.diagnosis.core.finding import Change, CorefileChange, Patch
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.programs import corefile
from jitterscope.diagnosis.programs.corefile import Block

# A line end and blanks, as JSON writes them.
_END, _BLANK = r"\\n", r"([ ]|\\t)"
_CUT = r"""/^ *"Corefile[^"]*":/ s/\\n/\\n\n/g"""
_JOIN = r""":more; /\\n$/ { N; s/\\n\n/\\n/; b more }"""


def with_command(
    snapshot: Snapshot, server: ResourceView | None, edits: Iterable[str], *patches_: Patch, restart: bool = False
) -> list[Patch]:
    """The command, where a ConfigMap has the server's Corefile, before what a person would write into it."""
    made = None if server is None else command(snapshot, server, edits, restart=restart)
    return [*([] if made is None else [made]), *patches_]


def multisocket(
    snapshot: Snapshot, server: ResourceView, count: int, label: str = "In the server block of the Corefile"
) -> list[Patch]:
    """Several sockets, with a restart: in the first block, which decides for its address and port."""
    text = f"multisocket {count}"
    edits = plugin(corefile.of(server)[:1], text)
    return with_command(snapshot, server, edits, Patch(label=label, language="corefile", text=text), restart=True)


def command(snapshot: Snapshot, server: ResourceView, edits: Iterable[str], *, restart: bool = False) -> Patch | None:
    """None where no ConfigMap of Kubernetes is known to have the Corefile: of the subject's own CoreDNS alone.

    `restart`: a reload is not enough.
    """
    found, script = _workload(snapshot, server), "; ".join(edits)
    # That of NodeLocal DNSCache is a template: what its file says is not what is in the ConfigMap.
    if found is None or server.fact("dns.software") == "node-cache" or not script:
        return None
    target, space = found[1], shlex.quote(found[0])
    reloads = not restart and all(block.plugin("reload") is not None for block in corefile.of(server))
    text = (
        f"names=$(kubectl -n {space} get {target} -o jsonpath='{{.spec.template.spec.volumes[*].configMap.name}}') && "
        f"kubectl -n {space} get configmap ${{names:?}} -o json | "
        f"sed -E {shlex.quote(_CUT)} | sed -E {shlex.quote(script)} | sed -E {shlex.quote(_JOIN)} | "
        f"kubectl replace -f -"
    )
    if not reloads:
        text += f" && kubectl -n {space} rollout restart {target}"
    label = "kubectl (CoreDNS reloads within 2 min)" if reloads else "kubectl (replaces the pods)"
    return Patch(label=label, language="shell", text=text)


def corefile_change(
    snapshot: Snapshot, server: ResourceView | None, name: str, options: dict[str, str | None]
) -> list[Change]:
    """The change for a Corefile in a repository: none where the server is not the subject's own or does not use the
    plugin, and where the workload is not known by name."""
    found = None if server is None else _workload(snapshot, server)
    if server is None or found is None or not corefile.with_plugin(corefile.of(server), name):
        return []
    return [CorefileChange(namespace=found[0], owner=found[1], plugin=name, options=options)]


def _workload(snapshot: Snapshot, server: ResourceView) -> tuple[str, str] | None:
    """Namespace and owner of the subject, where it is the server's own and Kubernetes knows it by name."""
    namespace, owner = snapshot.subject.fact("workload.namespace"), snapshot.subject.fact("workload.owner")
    own = any(one.id == server.id for one in snapshot.dns_servers)
    if not own or patches.manager(snapshot) != "kubernetes" or not namespace or not owner:
        return None
    return namespace, patches.owner_of(snapshot)


def options(
    server: ResourceView, name: str, values: Mapping[str, str | int | None], without: Sequence[str] = ()
) -> list[str]:
    """Edits that set options of a plugin wherever it is (None: an option without a value), and remove others."""
    edits = []
    for block in corefile.with_plugin(corefile.of(server), name):
        inside = [f"/^{_BLANK}*{one}({_BLANK}.*)?{_END}$/d" for one in (*values, *without)]
        added = "".join(f"        {key}{'' if value is None else f' {value}'}\n" for key, value in values.items())
        for plugin in dict.fromkeys(one for one in block.plugins if one.name == name):
            line = _words((name, *plugin.arguments))
            # The block that it has, or one of its own.
            inside.append(rf"s/^({_BLANK}*{line}){_BLANK}*\{{{_END}$/\1 {{{_lines(added)}/")
            if added:
                closed = f"{added}    }}\n"
                inside.append(rf"s/^({_BLANK}*{line}){_BLANK}*{_END}$/\1 {{{_lines(closed)}/")
        edits.append(_within(block, inside))
    return edits


def plugin(blocks: Iterable[Block], text: str) -> list[str]:
    """Edits that put a plugin with its options into server blocks, in place of the one of its name."""
    name = text.split(None, 1)[0]
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    edits = []
    for block in blocks:
        old = [
            rf"/^{_BLANK}*{name}({_BLANK}.*)?\{{{_END}$/,/^{_BLANK}*\}}{_END}$/d",
            rf"/^{_BLANK}*{name}({_BLANK}.*)?{_END}$/d",
        ]
        edits.append(_within(block, [*old, rf"s/{_head(block)}$/&{_lines(lines)[len(_END) :]}/"]))
    return edits


def _within(block: Block, edits: Sequence[str]) -> str:
    return rf"/{_head(block)}/,/^\}}/ {{ " + "; ".join(edits) + " }"


def _head(block: Block) -> str:
    """The line with which the block begins, which may be the file's first."""
    keys = rf"(,?{_BLANK}+|,)".join(_word(key) for key in block.keys)
    return rf'^(.*": ")?{keys}{_BLANK}*\{{{_END}'


def _lines(text: str) -> str:
    """What sed puts behind a line that it leaves without its end: the end, and further lines."""
    ended = "\n" + text.removesuffix("\n")
    return re.sub(r"([/&])", r"\\\1", ended).replace("\n", rf"{_END}\n", ended.count("\n")) + _END


def _words(words: Sequence[str]) -> str:
    return f"{_BLANK}+".join(map(_word, words))


def _word(word: str) -> str:
    return re.sub(r"([^\w:-])", r"\\\1", word)
