"""How changes of DNS settings look among the facts: Corefiles compared by meaning, upstreams, what is in front."""

from __future__ import annotations

import json
from collections.abc import Callable

from jitterscope.diagnosis.areas.dns.settings import IN_FRONT, RECEIVE_BUFFER, RESOLV_CONF
from jitterscope.diagnosis.core.landing import Facts, Seen, changed
from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.programs import corefile
from jitterscope.diagnosis.programs.corefile import Block, Plugin
from jitterscope.diagnosis.programs.dns_upstreams import Upstream, parse_upstreams

# A change of the Corefile shows in all of these; the server may be restarted for it.
COREFILE = ("dns.corefile", "dns.corefile_parsed", "dns.upstreams")
DNSMASQ = ("dns.arguments",)
Words = tuple[str, ...]


def blocks(facts: Facts) -> list[Block]:
    return corefile.parse(facts.get("dns.corefile_parsed"))


def plugins(facts: Facts, name: str) -> list[Plugin]:
    return [plugin for block in blocks(facts) for plugin in block.plugins if plugin.name == name]


def option(facts: Facts, plugin: str, name: str) -> Words | None:
    """Arguments of an option of a plugin, of the first server block that sets it; None: none does."""
    return next((one for found in plugins(facts, plugin) if (one := _option(found, name)) is not None), None)


def _option(plugin: Plugin, name: str) -> Words | None:
    return next((one[1:] for one in plugin.options if one[0] == name), None)


def only_corefile(before: Facts, after: Facts, plugin: str, names: Words = (), arguments: bool = False) -> bool:
    """Whether the two Corefiles differ in these options of a plugin alone (without `names`: in the whole plugin).

    `arguments`: those of its line may differ as well.
    """
    old, new = (_without(blocks(facts), plugin, names, arguments) for facts in (before, after))
    return bool(blocks(before)) and old == new and blocks(before) != blocks(after)


def _without(found: list[Block], plugin: str, names: Words, arguments: bool) -> list[tuple[Words, list[Plugin]]]:
    kept: list[tuple[Words, list[Plugin]]] = []
    for block in found:
        rest = []
        for one in block.plugins:
            if one.name != plugin:
                rest.append(one)
            elif names or arguments:
                options = tuple(option for option in one.options if option[0] not in names)
                rest.append(Plugin(one.name, () if arguments else one.arguments, options))
        kept.append((block.keys, rest))
    return kept


def sets(plugin: str, *names: str) -> Callable[[Facts, Facts], bool]:
    """Some server block gets the first of these options, or another value of it; the others may change with it."""

    def lands(before: Facts, after: Facts) -> bool:
        if not only_corefile(before, after, plugin, names):
            return False
        pairs = zip(plugins(before, plugin), plugins(after, plugin), strict=True)
        return any((new := _option(now, names[0])) is not None and new != _option(old, names[0]) for old, now in pairs)

    return lands


def seconds(words: Words | None) -> float | None:
    """A Go duration of one unit ("1s", "500ms", "2m"); None for anything else."""
    if not words:
        return None
    for unit, factor in (("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)):
        if words[0].endswith(unit) and (value := number(words[0].removesuffix(unit))) is not None:
            return value * factor
    return None


def upstreams(facts: Facts) -> list[Upstream]:
    return parse_upstreams(facts.get("dns.upstreams"))


def addresses(facts: Facts) -> set[str]:
    return {upstream.endpoint for upstream in upstreams(facts)}


def rises(before: Facts, after: Facts, name: str) -> bool:
    """A number among the facts is higher than it was; known both times."""
    old, new = number(before.get(name)), number(after.get(name))
    return old is not None and new is not None and new > old


# What a socket's receive queue holds, unless its program asks for another size.
LARGER_BUFFER = Seen(
    "net.core.rmem_default of the node rises. A buffer that the server's own configuration sets is not seen.",
    (RECEIVE_BUFFER,),
    lambda before, after: rises(before, after, RECEIVE_BUFFER),
)


def replicas(facts: Facts) -> float:
    """Of the cluster's DNS; NaN where the API server was not asked."""
    found = _object(facts.get("kube.cluster_size")).get("kube_dns_replicas")
    return float(found) if isinstance(found, int) else float("nan")


def replicas_ratio(before: Facts, after: Facts) -> float:
    """How many times as many replicas the cluster's DNS has; 1.0 where that is not known."""
    old, new = replicas(before), replicas(after)
    return new / old if old > 0 and new > 0 else 1.0


def in_front(facts: Facts) -> dict[str, object]:
    """See settings.IN_FRONT; empty where nothing is known of it."""
    return _object(facts.get(IN_FRONT))


def software_in_front(facts: Facts) -> set[str] | None:
    """None: not known."""
    found = in_front(facts).get("software")
    return {str(one) for one in found} if isinstance(found, list) else None


def clients_lower(name: str) -> Callable[[Facts, Facts], bool]:
    """Some client's resolv.conf sets this lower than any did before, or none sets it as high; see settings."""

    def lands(before: Facts, after: Facts) -> bool:
        old, new = (_object(facts.get(RESOLV_CONF)).get(name) for facts in (before, after))
        if not isinstance(old, list) or not isinstance(new, list) or not old or not new:
            return False
        return bool((min(new) < min(old) or max(new) < max(old)) and min(new) <= min(old) and max(new) <= max(old))

    return lands


def in_corefile(how: str, lands: Callable[[Facts, Facts], bool], *more: str) -> Seen:
    return Seen(how, (*COREFILE, *more), lands)


def becomes(name: str, value: str) -> Callable[[Facts, Facts], bool]:
    return lambda before, after: changed(before, after, name) and after.get(name) == value


def _object(text: str | None) -> dict[str, object]:
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
