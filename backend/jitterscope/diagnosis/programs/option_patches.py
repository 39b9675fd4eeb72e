"""Options for a runtime, passed in the environment variable that it reads at startup.

What the variable holds is not recorded, and a patch that sets it would drop that: an agent, a heap limit. So the text
is what to add, and nothing here writes the variable.
"""

from __future__ import annotations

from jitterscope.diagnosis.core.finding import Patch
from jitterscope.diagnosis.core.snapshot import ResourceView
from jitterscope.diagnosis.programs import options

JAVA, NODE = "JAVA_TOOL_OPTIONS", "NODE_OPTIONS"


def setting(variable: str, text: str) -> tuple[list[Patch], str, str]:
    """(patches, undo, caveat) for `text`, one or more options."""
    label = f"To add to {variable} in the environment of the program, then restart it"
    caveat = f"{variable} may hold other options: add to them. An option on the command line wins over it."
    return [Patch(label=label, language="shell", text=text)], f"Remove {text} from {variable} and restart.", caveat


def variables(process: ResourceView, values: dict[str, str]) -> tuple[list[Patch], str]:
    """(patches, undo) for environment variables that hold one setting each."""
    label = "To set in the environment of the program, then restart it"
    was = {name: options.value(options.of(process), f"{name}=") for name in values}
    undo = " ".join(f"Remove {name}." if old is None else f"Set {name}={old}." for name, old in was.items())
    text = "\n".join(f"{name}={value}" for name, value in values.items())
    return [Patch(label=label, language="shell", text=text)], f"{undo} Restart."


def replaces(process: ResourceView, *names: str) -> str | None:
    """What to replace if one of these options is already set; None if none is."""
    found = [option for option in options.of(process) if option.startswith(names)]
    return f"Replace {found[-1]} where it is set now." if found else None
