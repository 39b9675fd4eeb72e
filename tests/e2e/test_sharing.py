"""Showing an incident to others: the link to a view, a link without an account, a post-mortem, pictures, and tables."""

from __future__ import annotations

import base64
import csv
import io
import os
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from playwright.sync_api import Page, Request, expect

from tests.e2e.axe import violations
from tests.e2e.conftest import IDS, WINDOWS, OpenWindow, Product, picture
from tests.e2e.looks import Look, look_at
from tests.e2e.test_incident import trigger_us


@pytest.fixture
def links(product: Product) -> Iterator[None]:
    """Links are allowed before and after, and no active one is left."""
    with product.client() as client:
        client.put("/api/v1/links/policy", json={"links_allowed": True}).raise_for_status()
        yield
        client.put("/api/v1/links/policy", json={"links_allowed": True}).raise_for_status()
        for link in client.get("/api/v1/links", params={"limit": 200}).json()["items"]:
            client.delete(f"/api/v1/links/{link['id']}").raise_for_status()


def made(product: Product, incident_id: int | None = None) -> tuple[int, str]:
    """A link's ID and its path with the secret."""
    with product.client() as client:
        answer = client.post(
            f"/api/v1/incidents/{incident_id or product.incident_id}/links", json={}
        ).raise_for_status()
    url: str = answer.json()["url"]
    return int(answer.json()["link"]["id"]), url[url.index("/shared") :]


def revoke(product: Product, link_id: int) -> None:
    with product.client() as client:
        client.delete(f"/api/v1/links/{link_id}").raise_for_status()


def share(page: Page, what: str) -> None:
    page.get_by_role("button", name="Share", exact=True).click()
    page.get_by_role("menuitem", name=what).click()
    expect(page.get_by_role("dialog", name=what)).to_be_visible()


def clipboard(page: Page) -> str:
    return str(page.evaluate("navigator.clipboard.readText()"))


def test_a_key_copies_what_the_button_copies(incident_page: Page) -> None:
    incident_page.get_by_role("button", name="Zoom in").click()
    incident_page.get_by_role("button", name="Copy link").click()
    expect(incident_page.get_by_text("Link to this view copied", exact=True)).to_be_visible()
    copied = clipboard(incident_page)
    incident_page.evaluate("navigator.clipboard.writeText('')")
    incident_page.keyboard.press("l")
    incident_page.wait_for_function("async () => (await navigator.clipboard.readText()) !== ''")
    assert clipboard(incident_page) == copied


def test_the_palette_has_what_the_page_can_do(incident_page: Page) -> None:
    incident_page.keyboard.press("Control+k")
    for command in ("Copy link to this view", "Compare with another time"):
        expect(incident_page.get_by_role("option", name=command, exact=True)).to_have_count(1)
    expect(incident_page.get_by_role("option", name=re.compile("^Copy patch: "))).to_have_count(1)
    incident_page.get_by_role("dialog").get_by_role("combobox").fill("share")
    incident_page.get_by_role("option", name="Share: post-mortem").click()
    expect(incident_page.get_by_role("dialog", name="Post-mortem")).to_be_visible()
    incident_page.keyboard.press("Escape")
    incident_page.goto("/risks")
    expect(incident_page.get_by_role("heading", name="Risks", exact=True)).to_be_visible()
    expect(incident_page.get_by_text("live", exact=True)).to_be_visible()
    incident_page.keyboard.press("Control+k")
    expect(incident_page.get_by_role("option", name="Risks")).to_be_visible()
    expect(incident_page.get_by_role("option", name=re.compile("Copy link"))).to_have_count(0)


def test_a_link_is_made_opened_without_an_account_and_revoked(
    incident_page: Page, open_window: OpenWindow, product: Product, links: None
) -> None:
    share(incident_page, "Read-only link")
    dialog = incident_page.get_by_role("dialog")
    expect(dialog.get_by_text("No links yet.")).to_be_visible()
    dialog.get_by_label("Expires").select_option("in 30 days")
    dialog.get_by_role("button", name="Create link").click()
    expect(dialog.get_by_text("Copy it now. It is shown only once.")).to_be_visible()
    dialog.get_by_role("button", name="Copy").first.click()
    expect(dialog.get_by_text("Copied ✓")).to_be_visible()
    url = clipboard(incident_page)
    assert re.search(r"/shared\?view=\d+-\d+#jsl_[\w-]{43}$", url), url

    stranger = open_window(anonymous=True)
    asked: list[Request] = []
    stranger.page.on("request", lambda request: asked.append(request))
    stranger.page.goto(url[url.index("/shared") :])
    expect(stranger.page.get_by_role("heading", level=1)).to_have_text(product.title)
    expect(picture(stranger.page)).to_be_visible()
    for heading in ("What to change", "Evidence", "Other causes considered", "History"):
        expect(stranger.page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
    secret = url.partition("#")[2]
    api = [one for one in asked if "/api/" in one.url]
    assert {one.url.partition("?")[0].rpartition("/api/v1")[2] for one in api} == {
        "/shared/changes",
        "/shared/incident",
        "/shared/timeline",
    }
    for one in asked:
        sent = one.all_headers()
        assert secret not in one.url.partition("#")[0]
        # Fonts reveal the style sheet that requests them.
        assert "/shared" not in sent.get("referer", ""), f"{one.url} tells where it comes from"
        assert "cookie" not in sent
    assert all(one.all_headers()["authorization"] == f"Bearer {secret}" for one in api)
    # There is no way from here into the product.
    inward = stranger.page.locator("a[href^='/'], a[href*='/incidents'], a[href*='/resources']")
    expect(inward).to_have_count(0)

    row = dialog.get_by_role("row").filter(has_text=secret[-4:])
    row.get_by_role("button", name="Revoke the link").click()
    row.get_by_role("button", name="Cancel").click()
    row.get_by_role("button", name="Revoke the link").click()
    row.get_by_role("button", name="Revoke link", exact=True).click()
    expect(incident_page.get_by_text("Link revoked", exact=True).first).to_be_visible()
    expect(row).to_contain_text("revoked")
    stranger.page.reload()
    expect(stranger.page.get_by_role("alert")).to_contain_text("This link was revoked")
    expect(stranger.page.get_by_text(product.title)).to_have_count(0)
    stranger.complaints.clear()  # the browser's own message for a 401


def test_a_page_that_is_open_closes_when_its_link_ends(open_window: OpenWindow, product: Product, links: None) -> None:
    link_id, path = made(product)
    window = open_window(anonymous=True)
    window.page.goto(path)
    expect(window.page.get_by_role("heading", level=1)).to_have_text(product.title)
    revoke(product, link_id)
    with window.page.expect_response(lambda response: response.status == 401):
        # The next look, now: it comes by itself every 30 s, and when the user returns to the window.
        window.page.evaluate("window.dispatchEvent(new Event('visibilitychange'))")
    expect(window.page.get_by_role("alert")).to_contain_text("This link was revoked")
    expect(window.page.get_by_text(product.title)).to_have_count(0)
    window.complaints.clear()


@pytest.mark.parametrize(("size", "scheme"), WINDOWS, ids=IDS)
def test_what_a_link_shows_in_each_size_and_theme(
    open_window: OpenWindow,
    product: Product,
    verified_incident: int,
    links: None,
    size: tuple[int, int],
    scheme: str,
    request: pytest.FixtureRequest,
) -> None:
    window = open_window(size, scheme, anonymous=True)
    page, name = window.page, request.node.callspec.id
    link_id, path = made(product, verified_incident)
    page.goto(path)
    expect(picture(page)).to_be_visible()
    expect(page.get_by_text("The fix is verified")).to_be_visible()
    expect(page.get_by_text("detected by Jitterscope")).to_be_visible()
    look_at(page, f"shared-{name}")
    revoke(product, link_id)
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("This link was revoked")
    look_at(page, f"shared-revoked-{name}")
    page.goto("/shared")
    expect(page.get_by_role("alert")).to_contain_text("Incomplete link")
    window.complaints.clear()


def test_sharing_in_each_size_and_theme(look: Look, product: Product, links: None) -> None:
    page = look.page
    made(product)
    page.goto(f"/incidents/{product.incident_id}")
    expect(picture(page)).to_be_visible()
    share(page, "Read-only link")
    page.get_by_role("dialog").get_by_role("button", name="Create link").click()
    expect(page.get_by_text("It is shown only once.")).to_be_visible()
    look.at("share-link")
    assert look.violations() == []
    page.keyboard.press("Escape")
    share(page, "Post-mortem")
    expect(page.get_by_label("Post-mortem in Markdown")).to_be_visible()
    look.at("share-post-mortem")
    assert look.violations() == []
    page.goto("/settings/links")
    expect(page.get_by_role("table", name="Read-only links")).to_be_visible()
    look.at("settings-links")
    assert look.violations() == []


def test_an_organization_forbids_links(incident_page: Page, product: Product, links: None) -> None:
    page = incident_page
    page.goto("/settings/links")
    page.get_by_role("button", name="Forbid links").click()
    expect(page.get_by_role("button", name="Allow links")).to_be_visible()
    page.goto(f"/incidents/{product.incident_id}")
    share(page, "Read-only link")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("This organization does not allow read-only links.")).to_be_visible()
    expect(dialog.get_by_role("button", name="Create link")).to_have_count(0)
    dialog.get_by_role("link", name="Allow them in Settings").click()
    page.get_by_role("button", name="Allow links").click()
    expect(page.get_by_role("button", name="Forbid links")).to_be_visible()


def test_a_viewer_reads_why_it_cannot_share(open_window: OpenWindow, product: Product, links: None) -> None:
    link_id, _ = made(product)
    with product.client() as client:
        invitation = {"email": f"viewer{link_id}@example.org", "role": "viewer"}
        token = client.post("/api/v1/members/invitations", json=invitation).raise_for_status().json()["token"]
    page = open_window(anonymous=True).page
    page.goto(f"/accept#{token}")
    page.get_by_label("Your name").fill("Vera Viewer")
    page.get_by_label("Password").fill("a long enough password")
    page.get_by_role("button", name="Join").click()
    expect(page.get_by_role("heading", name="Fleet", exact=True)).to_be_visible()
    page.goto(f"/incidents/{product.incident_id}")
    share(page, "Read-only link")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Create link")).to_be_disabled()
    expect(dialog.locator("p").filter(has_text="Your role, viewer, cannot create or revoke links.")).to_be_visible()
    for button in dialog.get_by_role("button", name="Revoke the link").all():
        expect(button).to_be_disabled()
    assert violations(page) == []


def test_a_post_mortem_is_edited_copied_and_downloaded(incident_page: Page, product: Product, tmp_path: Path) -> None:
    share(incident_page, "Post-mortem")
    text = incident_page.get_by_label("Post-mortem in Markdown")
    expect(text).to_have_value(re.compile("^# Post-mortem: CoreDNS"))
    with product.client() as client:
        written = client.get(f"/api/v1/incidents/{product.incident_id}/post-mortem").text
    # Except for the time at which it was written.
    assert text.input_value().partition("as of")[0] == written.partition("as of")[0]
    edited = text.input_value().replace("# Post-mortem", "# Our post-mortem")
    text.fill(edited)
    incident_page.get_by_role("button", name="Copy Markdown").click()
    expect(incident_page.get_by_text("Copied ✓")).to_be_visible()
    assert clipboard(incident_page) == edited
    with incident_page.expect_download() as downloading:
        incident_page.get_by_role("button", name="Download").click()
    downloading.value.save_as(tmp_path / "saved.md")
    assert (tmp_path / "saved.md").read_text() == edited
    assert downloading.value.suggested_filename == f"post-mortem-{product.incident_id}.md"
    incident_page.get_by_role("button", name="Undo edits").click()
    expect(text).to_have_value(re.compile("^# Post-mortem: CoreDNS"))


def exported(page: Page, what: str, path: Path) -> Path:
    return saved(page, "Export", what, path)


def test_tables_hold_what_is_drawn(incident_page: Page, product: Product, tmp_path: Path) -> None:
    with product.client() as client:
        whole = client.get(f"/api/v1/incidents/{product.incident_id}/timeline", params={"queries": 100_000}).json()
    from_us = trigger_us(product) // 100_000 * 100_000 - 2_000_000
    to_us = from_us + 5_000_000  # ticks of 100 ms
    incident_page.goto(f"/incidents/{product.incident_id}?view={from_us}-{to_us}")
    expect(picture(incident_page)).to_be_visible()
    rows = table(exported(incident_page, "CPU usage", tmp_path / "cpu.csv"))
    cpu = whole["cpu"]
    drawn = [(at, cpu["cpu_ratio"][i]) for i, at in enumerate(cpu["t_us"]) if from_us - cpu["step_us"] < at < to_us]
    told = [(us_of(row["Time (UTC)"]), number(row["CPU usage (CPU)"])) for row in rows]
    assert [at for at, _ in told] == [at for at, _ in drawn]
    assert [cpus for _, cpus in told] == [pytest.approx(ratio) for _, ratio in drawn]
    assert {row["CPU limit (CPU)"] for row in rows} == {"0.5"}

    stalls = table(exported(incident_page, "Throttled", tmp_path / "throttled.csv"))
    seen = [one for one in whole["throttled"] if one["to_us"] > from_us and one["from_us"] < to_us]
    assert [(us_of(row["From (UTC)"]), us_of(row["To (UTC)"])) for row in stalls] == [
        (one["from_us"], one["to_us"]) for one in seen
    ]
    assert [number(row["Stopped (ms)"]) for row in stalls] == [
        pytest.approx(float(one["attributes"]["stopped_ms"])) for one in seen
    ]

    answers = table(exported(incident_page, "Single answers", tmp_path / "answers.csv"))
    queries = whole["queries"]
    kept = [i for i, at in enumerate(queries["t_us"]) if from_us <= at < to_us]
    assert len(answers) == len(kept) > 10
    assert [us_of(row["Time (UTC)"]) for row in answers] == [queries["t_us"][i] for i in kept]
    assert [number(row["Latency (ms)"]) for row in answers] == [
        pytest.approx(queries["latency_us"][i] / 1000) for i in kept
    ]


def test_pictures_show_what_is_drawn(incident_page: Page, tmp_path: Path) -> None:
    path = exported(incident_page, "Image (PNG)", tmp_path / "picture.png")
    width, height, colors = png(incident_page, path)
    box = picture(incident_page).bounding_box()
    assert box is not None
    assert width == pytest.approx(box["width"] + 32, abs=2)
    assert height == pytest.approx(box["height"] + 80, abs=2)
    # Bars, dots, and words in the theme's colors: a blank canvas has one.
    assert colors > 100
    kept = os.environ.get("JITTERSCOPE_SCREENSHOTS")
    if kept is not None:
        (Path(kept) / "export.png").write_bytes(path.read_bytes())


def test_each_metric_of_a_resource_is_exported(open_window: OpenWindow, product: Product, tmp_path: Path) -> None:
    page = open_window().page
    page.goto(f"/resources/{product.subject_id}?minutes=60")
    # It is above the metrics: when it appears, it moves an open menu out of sight.
    expect(picture(page)).to_be_visible()
    button = page.get_by_role("button", name=re.compile("^Export .*Cpu usage|^Export .*CPU usage")).first
    button.click()
    with page.expect_download() as downloading:
        page.get_by_role("menuitem", name=re.compile("CPU usage")).click()
    downloading.value.save_as(tmp_path / "metric.csv")
    rows = table(tmp_path / "metric.csv")
    assert list(rows[0]) == ["Time (UTC)", *(f"cpu_usage_us {name} (us)" for name in ("lowest", "mean", "highest"))]
    assert any(number(row["cpu_usage_us highest (us)"]) for row in rows)
    button.click()
    with page.expect_download() as downloading:
        page.get_by_role("menuitem", name="Image (PNG)").click()
    downloading.value.save_as(tmp_path / "metric.png")
    assert png(page, tmp_path / "metric.png")[2] > 10


def test_what_a_fix_did_and_a_comparison_are_exported(
    open_window: OpenWindow, product: Product, verified_incident: int, tmp_path: Path
) -> None:
    page = open_window().page
    page.goto(f"/incidents/{verified_incident}")
    expect(page.get_by_role("img", name="Before and after the change")).to_be_visible()
    blocks = table(saved(page, "Export before and after", "Blocks", tmp_path / "blocks.csv"))
    assert list(blocks[0])[:3] == ["Middle of the block (UTC)", "Part", "Slow answers (ratio)"]
    with product.client() as client:
        verification = client.get(f"/api/v1/incidents/{verified_incident}").json()["verification"]
    for part in ("before", "after"):
        lane = next(one for one in verification[part]["lanes"] if one["title"] == "Slow answers")
        measured = [value for value in lane["values"] if value is not None]
        told = [number(row["Slow answers (ratio)"]) for row in blocks if row["Part"] == part]
        assert [value for value in told if value is not None] == pytest.approx(measured)
    saved(page, "Export before and after", "Image (PNG)", tmp_path / "blocks.png")
    assert png(page, tmp_path / "blocks.png")[2] > 20
    # The keys of the legend, in front of its words.
    assert colored(page, tmp_path / "blocks.png", (16, 62, 24, 20)) > 10

    at_us = trigger_us(product)
    page.goto(f"/compare?resource={product.subject_id}&from={at_us - 20_000_000}&to={at_us}")
    button = page.get_by_role("button", name=re.compile("^Export ")).first
    expect(button).to_be_visible()
    name = button.get_attribute("aria-label") or ""
    saved(page, name, "Image (PNG)", tmp_path / "pair.png")
    assert png(page, tmp_path / "pair.png")[2] > 10
    kept = os.environ.get("JITTERSCOPE_SCREENSHOTS")
    for picture_name in ("blocks.png", "pair.png") if kept else ():
        (Path(kept or "") / picture_name).write_bytes((tmp_path / picture_name).read_bytes())


def saved(page: Page, button: str, what: str, path: Path) -> Path:
    page.get_by_role("button", name=button, exact=True).first.click()
    with page.expect_download() as downloading:
        page.get_by_role("menuitem", name=what, exact=True).click()
    downloading.value.save_as(path)
    return path


def table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text())))


def us_of(text: str) -> int:
    assert text.endswith("Z")
    at = datetime.fromisoformat(text)
    return int(at.replace(microsecond=0).timestamp()) * 1_000_000 + at.microsecond


def number(text: str) -> float | None:
    return float(text) if text else None


_DECODE = """async (data) => {
  const image = new Image();
  image.src = `data:image/png;base64,${data}`;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height);
  const ctx = canvas.getContext("2d");
  ctx.drawImage(image, 0, 0);
  const pixels = new Uint32Array(ctx.getImageData(0, 0, image.width, image.height).data.buffer);
  return [image.width, image.height, new Set(pixels).size];
}"""


_COLORED = """async ([data, ...box]) => {
  const image = new Image();
  image.src = `data:image/png;base64,${data}`;
  await image.decode();
  const ctx = new OffscreenCanvas(image.width, image.height).getContext("2d");
  ctx.drawImage(image, 0, 0);
  const pixels = ctx.getImageData(...box).data;
  let found = 0;
  for (let at = 0; at < pixels.length; at += 4) {
    const color = pixels.slice(at, at + 3);
    if (Math.max(...color) - Math.min(...color) > 60) found += 1;
  }
  return found;
}"""


def colored(page: Page, path: Path, box: tuple[int, int, int, int]) -> int:
    """How many pixels in a part of a picture (left, top, width, height) have a strong color."""
    return int(page.evaluate(_COLORED, [base64.b64encode(path.read_bytes()).decode(), *box]))


def png(page: Page, path: Path) -> tuple[int, int, int]:
    """Width, height, and number of colors."""
    width, height, colors = page.evaluate(_DECODE, base64.b64encode(path.read_bytes()).decode())
    return width, height, colors
