"""REST shapes of repositories and pull requests."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr, StringConstraints

from jitterscope.kit.schema import Schema
from jitterscope.notify.conditions import Patterns
from jitterscope.notify.target import check_url
from jitterscope.pulls.hosts.host import Kind, State

Format = Literal["manifest", "helm_values", "kustomize_patch", "corefile"]
# "edit": edit the file in its own format; "kustomize_patch": a new patch file next to it.
Form = Literal["edit", "kustomize_patch"]


def _path(value: str) -> str:
    parts = value.split("/")
    if any(part in ("", ".", "..", ".git") for part in parts):
        raise ValueError("give the path from the root of the repository, without . and ..")
    return value


def _url(value: str) -> str:
    check_url(value)
    if "?" in value or "#" in value:
        raise ValueError("the URL has a query or a fragment; give the address of the host alone")
    return value.rstrip("/")


def _no_dots(value: str) -> str:
    if ".." in value or "//" in value or value.endswith((".", "/", ".lock")):
        raise ValueError("the name of a repository or branch cannot contain .. or //, or end with ., / or .lock")
    return value


FilePath = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f\\]+$"),
    Field(examples=["clusters/prod/coredns.yaml"]),
    AfterValidator(_path),
]
Url = Annotated[str, StringConstraints(strip_whitespace=True, max_length=300), AfterValidator(_url)]
Address = Annotated[
    str,
    StringConstraints(
        strip_whitespace=True, max_length=300, pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_.-]+)+$"
    ),
    Field(examples=["example/deploy"], description="owner/name; on GitLab also group/subgroup/name"),
    AfterValidator(_no_dots),
]
Branch = Annotated[
    str,
    StringConstraints(strip_whitespace=True, max_length=200, pattern=r"^[A-Za-z0-9_][A-Za-z0-9_./+#-]*$"),
    Field(examples=["main"]),
    AfterValidator(_no_dots),
]
Token = Annotated[SecretStr, Field(min_length=8, max_length=500)]


class RepositoryFile(Schema):
    """Which file has which workloads. Empty lists match every workload; given patterns must match."""

    namespaces: Patterns = Field(default_factory=list, description="Kubernetes namespaces: `shop`, `team-*`")
    workloads: Patterns = Field(default_factory=list, description="`coredns`, `deployment/coredns`, `cart-*`")
    path: FilePath = Field(description="From the root of the repository: `clusters/prod/coredns.yaml`")
    format: Format = Field(
        description="manifest: Kubernetes objects; helm_values: values of a chart; kustomize_patch: a strategic merge "
        "patch, created if missing; corefile: a Corefile, or a ConfigMap with one"
    )
    values_key: str = Field(
        default="",
        max_length=200,
        pattern=r"^[A-Za-z0-9_.-]*$",
        description="With helm_values: the key under which the chart has the workload, such as `controller`",
    )


Files = Annotated[list[RepositoryFile], Field(min_length=1, max_length=50)]


class RepositoryRequest(Schema):
    kind: Kind
    url: Url | None = Field(
        default=None, description="URL of the host, if not github.com or gitlab.com: `https://git.example.org`"
    )
    repository: Address
    base_branch: Branch = "main"
    token: Token = Field(
        description="GitHub: fine-grained, with Contents and Pull requests read and write. GitLab: scope api, role "
        "Developer. Encrypted at rest and never shown again"
    )
    files: Files


class RepositoryUpdate(Schema):
    """Given fields change. A new host or repository needs the token again, so that no host gets another's token."""

    url: Url | None = None
    repository: Address | None = None
    base_branch: Branch | None = None
    token: Token | None = None
    files: Files | None = None


class Repository(Schema):
    id: int
    kind: Kind
    url: str
    repository: str
    base_branch: str
    files: list[RepositoryFile]
    created_by: str
    created_at: datetime
    open_pull_requests: int


class RepositoryTest(Schema):
    """What the host answered with this token, and which files it has."""

    ok: bool
    detail: str
    missing: list[str] = Field(description="Paths that the base branch does not have")


class PullRequestOptions(Schema):
    form: Form = "edit"


class FileDiff(Schema):
    path: str
    is_new: bool
    diff: str  # unified, without the lines of a/ and b/


class PatchFile(Schema):
    path: str
    text: str


class KustomizePatch(Schema):
    """A fix as a strategic merge patch."""

    fix_id: str
    files: list[PatchFile] = Field(
        description="The patches, then the lines of kustomization.yaml that apply them. metadata.namespace must be as "
        "in the base: remove it if the base has none"
    )


class PullRequestPreview(Schema):
    """A pull request before it is opened."""

    kind: Kind
    repository: str
    base_branch: str
    branch: str
    title: str
    body: str  # Markdown
    files: list[FileDiff]
    notes: list[str]


class PullRequest(Schema):
    id: int
    incident_id: int
    fix_id: str
    fix_title: str
    kind: Kind
    repository: str
    branch: str
    number: int
    url: str
    state: State
    opened_by: str
    opened_at: datetime
    merged_at: datetime | None
    checked_at: datetime | None
    last_error: str | None = Field(description="Why its state could not be read, or its comment could not be written")
    comment_url: str | None = Field(description="URL of the comment with the verdict")
    reminded_at: datetime | None = Field(
        description="When a comment said that no data shows the merged change and that it must be declared"
    )


class FixPullRequest(Schema):
    """Whether a fix can become a pull request, and the newest one that it became."""

    fix_id: str
    possible: bool
    reason: str | None  # why not
    needs_repository: bool  # a repository's settings would make it possible
    repository: str | None
    path: str | None
    pull_request: PullRequest | None
