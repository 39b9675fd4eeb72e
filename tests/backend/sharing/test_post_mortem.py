"""Post-mortems: the content of an incident's post-mortem, and that names from the network stay names in it."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from jitterscope.kit.markdown import code, escape, fenced, quoted
from tests.backend.conftest import Database, Organization
from tests.backend.incidents.conftest import Service, fault, more_cpu, service
from tests.backend.incidents.stories import story, visit
from tests.backend.notify.conftest import Outbox, receiver
from tests.backend.tenancy.principals import Cast

pytestmark = pytest.mark.slow

__all__ = ["fault", "more_cpu", "receiver", "service"]  # fixtures
# GitHub's tables; text that it turns into links by itself is checked below.
_PARSER = MarkdownIt("commonmark").enable("table")
HOSTILE = (
    "# heading", "- item", "1. item", "1) item", "> quote", "---", "===", "+ item", "* item", "**bold**",
    "_emphasis_", "[text](https://evil.example)", "![image](https://evil.example/x.png)", "<script>alert(1)</script>",
    "<https://evil.example>", "&lt;b&gt; &#60;", "a | b", "~~~", "```", "`", "``x`", "\\", "\\*x\\*", "x\n\n# y",
    "[x]: /y", "www.evil.example", "https://evil.example", "a@evil.example", "a`b`c", "| - |", "\tcode", "!`[x](y)`",
    "`a\\`[x](y)",
)  # fmt: skip


def post_mortem(service: Service, incident_id: int) -> str:
    response = service.client.get(f"/api/v1/incidents/{incident_id}/post-mortem", headers=service.organization.headers)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "text/markdown; charset=utf-8"
    return response.text


def sections(text: str) -> dict[str, str]:
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.slow
def test_a_post_mortem_tells_the_whole_story(
    service: Service, fault: Any, more_cpu: Any, receiver: Any, organization: Organization
) -> None:
    config = {"url": f"{receiver.url}/hook", "secret": "0123456789abcdef-secret"}
    service.post("/channels", {"kind": "webhook", "name": "ops", "config": config}, status=201)
    number = story(service, fault, more_cpu)
    service.post(f"/incidents/{number}/note", {"note": "seen by **ops**\n# again"})
    Outbox(organization.id).deliver()
    incident = visit(service, number)
    assert incident["state"] == "verified"
    text = post_mortem(service, number)
    told = sections(text)
    assert list(told) == [
        "Summary", "Timeline", "Harm", "Root cause", "Evidence", "Other causes considered", "Fix", "Verification",
        "Notes",
    ]  # fmt: skip
    assert text.startswith("# Post-mortem: CoreDNS")
    for event in ("Onset", "Detected", "Notification sent", "Fix applied", "Fix seen", "Fix verified", "Last seen"):
        assert f"**{event}**" in told["Timeline"], event
    times = re.findall(r"^- (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC: ", told["Timeline"], re.MULTILINE)
    assert times == sorted(times)
    onset = datetime.fromisoformat(incident["onset_at"]).astimezone(UTC)
    assert f"{onset:%Y-%m-%d %H:%M:%S} UTC: **Onset**" in told["Timeline"]
    for one in incident["evidence"]:
        assert f"**{escape(one['value'])}**" in told["Evidence"]
    for one in incident["rivals"]:
        assert escape(one["reason"]) in told["Other causes considered"]
    assert "### Ruled out" in told["Other causes considered"]
    applied = next(fix for fix in incident["fixes"] if fix["id"] == incident["verification"]["fix_id"])
    assert told["Fix"].lstrip().startswith(f"Applied: **{escape(applied['title'])}.**")
    assert applied["patches"][0]["text"].rstrip() in told["Fix"]
    assert "90% interval" in told["Fix"].replace(" %", "%")
    assert incident["verification"]["verdict"] in told["Verification"].replace("\\", "")
    rows = [line for line in told["Verification"].splitlines() if line.startswith("| ")]
    assert len(rows) == 2 + len(incident["verification"]["measures"])
    assert {line.count("|") for line in rows} == {7}
    assert "> seen by \\*\\*ops\\*\\*\n> \\# again" in told["Notes"]


def test_without_a_fix_it_says_so(service: Service, fault: Any, cast: Cast) -> None:
    number = story(service, fault)
    service.change(number, subject_name="a](https://evil.example) | `x`", title="# <b>x</b> www.evil.example")
    told = post_mortem(service, number)
    assert "No fix was seen or marked as applied." in told
    assert "Recommended: **" in told
    assert "No notes." in told
    assert sum(token.type == "heading_open" and token.tag == "h1" for token in _PARSER.parse(told)) == 1
    assert "evil.example" not in "".join(links_in(told))
    viewer = cast.session(cast.member("viewer"))
    path = f"/api/v1/incidents/{number}/post-mortem"
    assert service.client.get(path, headers=viewer).text.partition("as of")[0] == told.partition("as of")[0]


@pytest.fixture
def cast(database: Database, organization: Organization) -> Cast:
    return Cast(database, organization)


def links_in(text: str) -> list[str]:
    """Targets of links and images, including those that GitHub makes from plain text."""
    found = []
    for block in _PARSER.parse(text):
        for token in block.children or ():
            found += [str(token.attrs[name]) for name in ("href", "src") if name in token.attrs]
    bare = re.sub(r"`+[^`]*`+|<https://[^>]*>|\]\(<[^>]*>\)", "", text)
    return found + re.findall(r"https?://\S+|(?<![\w\\])www\.\S+|\w+@\w+", bare)


def read(markdown: str) -> tuple[set[str], str]:
    """The structure of a text, and how it reads."""
    kinds: set[str] = set()
    words: list[str] = []
    for block in _PARSER.parse(markdown):
        kinds.add(block.type)
        for token in block.children or ():
            kinds.add(token.type)
            words.append(" " if token.type == "softbreak" else token.content)
    return kinds, "".join(words)


PLAIN = {"paragraph_open", "inline", "paragraph_close", "text", "code_inline", "text_special", "softbreak"}


def as_it_reads(text: str) -> str:
    """Code loses its backticks, as on the product's pages."""
    return re.sub(r"`([^`]+)`", lambda found: " ".join(found[1].split()), " ".join(text.split()))


@given(st.one_of(st.sampled_from(HOSTILE), st.text(alphabet="#-+=>*_`[]()<>!|\\~&;:/@.w1 aZ\n\t", max_size=40)))
def test_any_text_stays_text(text: str) -> None:
    escaped = escape(text)
    kinds, words = read(escaped)
    assert kinds <= PLAIN, escaped
    assert links_in(escaped) == []
    assert words == as_it_reads(text)


@given(st.text(alphabet="`a |*\\\n", min_size=1, max_size=30))
def test_any_name_stays_a_name(text: str) -> None:
    name = " ".join(text.split())
    kinds, words = read(f"- x {code(text)} y") if name else ({"text"}, "")
    assert kinds <= PLAIN | {"bullet_list_open", "list_item_open", "list_item_close", "bullet_list_close"}
    assert not name or words == f"x {name} y"


def test_figures_and_names_are_left_as_they_are() -> None:
    for text in ("2.5 % of 1,012 queries", "-5 ms", "kube-system/coredns-7c9", "net.ipv4.tcp_mem", "1.12.0", "#3"):
        assert escape(text) == text


def test_code_and_quotations_end_where_they_end() -> None:
    patch = "a: |\n  ```\n  # x"
    (fence,) = _PARSER.parse(fenced(patch, "yaml"))
    assert (fence.type, fence.content.rstrip("\n")) == ("fence", patch)
    blocks = [token.type for token in _PARSER.parse(quoted("# one\n\n- two\n> three"))]
    assert blocks == [
        "blockquote_open", "paragraph_open", "inline", "paragraph_close", "paragraph_open", "inline", "paragraph_close",
        "blockquote_close",
    ]  # fmt: skip
