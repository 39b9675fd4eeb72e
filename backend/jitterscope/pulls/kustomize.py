"""A fix as files for Kustomize, for people whose repository is not known here: a patch and its entry."""

from __future__ import annotations

from jitterscope.diagnosis.core.finding import Fix, WorkloadChange
from jitterscope.pulls import plan
from jitterscope.pulls.files import kustomization, manifest, yaml_text
from jitterscope.pulls.files.errors import CannotChange
from jitterscope.pulls.schemas import PatchFile


def files_of(fix: Fix) -> list[PatchFile]:
    """A strategic merge patch for each workload, and the lines that apply them; empty if Kustomize cannot change it.

    A Corefile is one text, which a strategic merge patch would replace as a whole.
    """
    if plan.impossible(fix) is not None:
        return []
    patches: dict[str, str] = {}
    for change in plan.changes_of(fix):
        if not isinstance(change, WorkloadChange):
            return []
        name = manifest.patch_name(change)
        try:
            patches[name] = manifest.change_patch(patches.get(name), change)
        except CannotChange:
            return []
    entries = yaml_text.block({"patches": [{"path": name} for name in patches]}, 0)
    files = [PatchFile(path=name, text=text) for name, text in patches.items()]
    return [*files, PatchFile(path=kustomization.NAMES[0], text=entries)]
