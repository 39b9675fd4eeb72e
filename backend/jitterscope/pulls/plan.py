"""Which file of which repository a fix changes, and the resulting files."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from jitterscope.diagnosis.core.finding import Change, Fix, WorkloadChange
from jitterscope.notify.conditions import Conditions, Place, matches
from jitterscope.pulls.files import corefile_text, helm, kustomization, manifest
from jitterscope.pulls.files.errors import CannotChange
from jitterscope.pulls.hosts.host import File
from jitterscope.pulls.schemas import FileDiff, Form, RepositoryFile

Read = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Target:
    """One change, and the file to change."""

    change: Change
    file: RepositoryFile


@dataclass(frozen=True, slots=True)
class Chosen:
    """The repository (by its position in a list) whose files take all changes of a fix."""

    repository: int
    targets: tuple[Target, ...]


@dataclass(frozen=True, slots=True)
class Planned:
    files: tuple[File, ...]
    notes: tuple[str, ...]


def changes_of(fix: Fix) -> Sequence[Change]:
    """The changes of the first patch that files can hold: patches are in order of preference, and one is applied."""
    return next((patch.changes for patch in fix.patches if patch.changes), ())


def impossible(fix: Fix) -> str | None:
    """Why no file can hold the fix; None if one can."""
    if fix.verdict == "cannot_help":
        return "This fix cannot help here."
    changes = changes_of(fix)
    if not changes:
        return "No manifest, Helm values, or Corefile of a Kubernetes workload holds what this fix changes."
    other = [one for one in changes if isinstance(one, WorkloadChange) and not manifest.can_be_written(one)]
    return f"{other[0].owner} is of a kind that pull requests cannot change." if other else None


def choose(changes: Sequence[Change], repositories: Sequence[Sequence[RepositoryFile]]) -> Chosen | None:
    """The first repository that has a file for each change; None if there is none."""
    for number, files in enumerate(repositories):
        targets = [Target(one, file) for one in changes if (file := _file_of(one, files)) is not None]
        if targets and len(targets) == len(changes):
            return Chosen(number, tuple(targets))
    return None


def _file_of(change: Change, files: Iterable[RepositoryFile]) -> RepositoryFile | None:
    kind, _, name = change.owner.partition("/")
    names = frozenset({name, f"{kind}/{name}", f"{change.namespace}/{name}"})
    place = Place(change.namespace, names, "")
    for one in files:
        conditions = Conditions.model_construct(causes=[], namespaces=one.namespaces, resources=one.workloads, nodes=[])
        takes = (one.format == "corefile") == (not isinstance(change, WorkloadChange))
        if takes and matches(conditions, "", (place,)):
            return one
    return None


def plan(targets: Sequence[Target], read: Read, form: Form) -> Planned:
    """The files with the changes applied. `read` returns a file of the base branch. Raises CannotChange."""
    state: dict[str, tuple[str | None, str | None]] = {}
    notes: list[str] = []

    def now(path: str) -> str | None:
        if path not in state:
            old = read(path)
            state[path] = (old, old)
        return state[path][1]

    def put(path: str, text: str) -> None:
        state[path] = (state[path][0], text)

    for target in targets:
        file = target.file if form == "edit" else _beside(target)
        try:
            text = now(file.path)
            if text is None and file.format != "kustomize_patch":
                raise CannotChange(
                    "The base branch does not have it.", "Correct the path in the repository's settings."
                )
            notes += [f"{file.path}: {one}" for one in _notes(target.change, file, text)]
            put(file.path, _changed(target.change, file, text))
            if file.format == "kustomize_patch" and text is None:
                notes += _listed(file.path, now, put)
        except CannotChange as error:
            raise CannotChange(f"{file.path}: {error.text}", error.what_to_do) from None
    files = [File(path, old, new) for path, (old, new) in state.items() if new is not None and new != old]
    if not files:
        raise CannotChange(
            f"{targets[0].file.path} already has this change.",
            "Wait until it is rolled out, or check whether something else overrides it.",
        )
    return Planned(tuple(files), tuple(notes))


def _changed(change: Change, file: RepositoryFile, text: str | None) -> str:
    if not isinstance(change, WorkloadChange):
        return corefile_text.change_corefile(text or "", change)
    if file.format == "helm_values":
        return helm.change_values(text or "", change, file.values_key)
    if file.format == "kustomize_patch":
        return manifest.change_patch(text, change)
    return manifest.change_manifest(text or "", change)


def _notes(change: Change, file: RepositoryFile, text: str | None) -> list[str]:
    if text is None or not isinstance(change, WorkloadChange):
        return []
    if file.format == "helm_values":
        return helm.notes_on(text, change, file.values_key)
    return manifest.notes_on(text, change)


def _beside(target: Target) -> RepositoryFile:
    """A separate patch file in the file's folder."""
    change = target.change
    if not isinstance(change, WorkloadChange):
        raise CannotChange("A Corefile is one text, which Kustomize cannot patch.", "Change the Corefile itself.")
    folder, _, _ = target.file.path.rpartition("/")
    name = manifest.patch_name(change)
    path = f"{folder}/{name}" if folder else name
    return target.file.model_copy(update={"path": path, "format": "kustomize_patch", "values_key": ""})


def _listed(path: str, now: Callable[[str], str | None], put: Callable[[str, str], None]) -> list[str]:
    """Have the folder's kustomization apply a new patch; returns what must be done by hand."""
    folder, _, name = path.rpartition("/")
    for one in kustomization.NAMES:
        place = f"{folder}/{one}" if folder else one
        text = now(place)
        if text is None:
            continue
        try:
            if not kustomization.lists(text, name):
                put(place, kustomization.with_patch(text, name))
            return []
        except CannotChange as error:
            return [f"{place}: {error.text} Add {name} to its patches by hand. Otherwise the patch has no effect."]
    where = folder or "the root of the repository"
    return [f"There is no kustomization.yaml in {where}: add {name} to the patches of one. Otherwise it has no effect."]


def diff(file: File) -> FileDiff:
    """A unified diff with three lines of context."""
    old = (file.old or "").splitlines()
    lines = difflib.unified_diff(old, file.new.splitlines(), lineterm="", n=3)
    return FileDiff(path=file.path, is_new=file.old is None, diff="\n".join(list(lines)[2:]))
