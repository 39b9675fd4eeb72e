"""The list of patches in a kustomization.yaml: a new patch file has no effect without an entry there."""

from __future__ import annotations

from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from jitterscope.pulls.files import yaml_nodes as nodes
from jitterscope.pulls.files import yaml_text
from jitterscope.pulls.files.errors import CannotChange

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")


def lists(text: str, file_name: str) -> bool:
    """Whether it already applies the patch file."""
    for document in nodes.parse(text):
        for key in ("patches", "patchesStrategicMerge"):
            found = nodes.find(document, (key,))
            if found.missing or not isinstance(found.node, SequenceNode):
                continue
            for one in found.node.value:
                path = nodes.text_at(one, "path") if isinstance(one, MappingNode) else getattr(one, "value", None)
                if isinstance(path, str) and path.removeprefix("./") == file_name:
                    return True
    return False


def with_patch(text: str, file_name: str) -> str:
    """The file with another entry in `patches`. Raises CannotChange."""
    documents = nodes.parse(text)
    if len(documents) != 1 or not isinstance(documents[0], MappingNode):
        raise CannotChange("The kustomization has no YAML document, or several.", "Add the patch to it by hand.")
    found = nodes.find(documents[0], ("patches",))
    end = yaml_text.line_end(text)
    if not found.missing and not isinstance(found.node, SequenceNode | ScalarNode):
        raise CannotChange("`patches` of the kustomization is not a list.", "Add the patch to it by hand.")
    if found.missing:
        text = text if text.endswith("\n") else text + end
        new = text + yaml_text.block({"patches": [{"path": file_name}]}, 0, end)
    elif nodes.is_flow(found.node) or not isinstance(found.node, SequenceNode):
        raise CannotChange("`patches` of the kustomization is in one line or empty.", "Add the patch to it by hand.")
    else:
        where = yaml_text.last_line_end(text, found.node)
        start = "" if text[:where].endswith("\n") else end
        new = (
            text[:where]
            + start
            + yaml_text.block([{"path": file_name}], found.node.start_mark.column, end)
            + text[where:]
        )
    if not lists(new, file_name):
        raise CannotChange("The kustomization cannot be changed safely.", "Add the patch to it by hand.")
    return new
