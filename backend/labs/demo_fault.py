"""The demo's fault: it lasts while the user tries fixes, and the product's findings are printed as they arrive."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import typer

from labs import coredns_gc
from labs.console import Say
from labs.errors import LabError
from labs.product import Product
from labs.variants import Variant, parameters_of

_LOOK_EVERY_S = 1.0
_PATIENCE_S = 60.0
_SAID = {
    "escalated": "it got worse",
    "reclassified": "cause corrected",
    "resolved": "resolved",
    "reopened": "the fault returned",
    "fix_applied": "fix applied, measuring whether it helps",
    "fix_withdrawn": "the fix was reverted",
    "verified": "FIX VERIFIED",
    "did_not_help": "the fix did not help",
    "made_worse": "the fix made it worse",
    "not_known": "ended",
}


def run(product: Product, seconds: float, sign_in: str, say: Say) -> None:
    """Make the fault for `seconds`, or until KeyboardInterrupt. Raises LabError if it leads to no incident."""
    product.wait_for("a collector that delivers (one must run on this machine, as root)", product.receives, 30)
    parameters = parameters_of(Variant.FAULT, {"seconds": seconds})
    since_us = time.time_ns() // 1000
    with (
        tempfile.TemporaryDirectory(prefix="jitterscope-demo-") as folder,
        coredns_gc.bench(Variant.FAULT, parameters, Path(folder), say) as made,
    ):
        cgroup_id = product.wait_for(f"the cgroup {made.cgroup.key}", lambda: product.cgroup_id(made.cgroup.key), 30)
        with coredns_gc.loaded(made, say) as load:
            shown: dict[int, int] = {}
            deadline = time.monotonic() + _PATIENCE_S
            while load.goes_on():
                for incident in product.incidents(cgroup_id, since_us):
                    if not shown:
                        typer.echo(invitation(product, incident, sign_in, seconds))
                    _tell(product.incident(int(incident["id"])), shown, say)
                if not shown and time.monotonic() > deadline:
                    raise LabError(f"The product did not show an incident within {_PATIENCE_S:.0f} s of load.")
                time.sleep(_LOOK_EVERY_S)
            if not shown:
                raise LabError(f"{seconds:g} s of the fault led to no incident: give it more time: --seconds 90.")


def invitation(product: Product, incident: dict[str, Any], sign_in: str, seconds: float) -> str:
    """What to print once the incident is open."""
    return f"""
{incident["title"]}
{product.url}/incidents/{incident["id"]}
{sign_in}

Try a fix on it while it runs: give the fault a minute, open the page, choose "Copy patch" beside a fix that says
it needs no restart (raise the CPU limit, CFS burst), and run what was copied in another terminal as root.
The page shows on its own that the fix was applied and, about a minute and a half later, whether it helped: before,
after and the prediction on one picture. CoreDNS and its load go on for {seconds / 60:.0f} min, or until Ctrl-C.
"""


def _tell(incident: dict[str, Any], shown: dict[int, int], say: Say) -> None:
    """Print new entries of an incident's history. `shown` counts the entries already printed, by incident."""
    history = incident["history"]
    for entry in history[shown.get(int(incident["id"]), 0) :]:
        if entry["action"] in _SAID:
            say(f"Incident {incident['id']}: {_SAID[entry['action']]}. {entry['detail'] or ''}".rstrip())
    shown[int(incident["id"])] = len(history)
