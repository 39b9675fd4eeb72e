"""A real stack with a real recording in it, and a real browser in front."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import httpx
import psycopg
import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, expect, sync_playwright

from jitterscope.devstack.stack import Stack
from tests.e2e.axe import Scheme
from tests.e2e.looks import FOLDER, Look
from tests.e2e.recorded_batches import RecordedNode, ingest, wait_for_incident, wait_for_state
from tests.e2e.served import feed
from tests.support.patience import PATIENCE_S
from tests.support.receiver import Receiver

ROOT = Path(__file__).parents[2]
DIST = ROOT / "frontend" / "dist" / "index.html"
# The headless shell draws the same pages with the same engine for much less CPU time.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESKTOP, PHONE = (1440, 1000), (390, 844)
SIZES = {"desktop": DESKTOP, "phone": PHONE}
# Themes differ in colors only, which axe compares in both of them.
LOOKS: list[tuple[str, Scheme]] = [("desktop", "dark"), ("phone", "light")]
# A page has the same content in each size.
OPENED = LOOKS[:1]
if FOLDER is not None:
    # People look at every window.
    SIZES |= {"laptop": (1024, 768), "ultrawide": (3440, 1440)}
    OPENED = LOOKS = [(size, scheme) for size in SIZES for scheme in get_args(Scheme)]
WINDOWS = [(SIZES[size], scheme) for size, scheme in LOOKS]
IDS = [f"{size}-{scheme}" for size, scheme in LOOKS]
# Other suites might share the machine: waiting longer is never a wrong result.
expect.set_options(timeout=PATIENCE_S * 1e3)


@dataclass(frozen=True, slots=True)
class Product:
    """The running product with one fault in it."""

    stack: Stack
    node: RecordedNode
    incident_id: int
    subject_id: int
    title: str

    @property
    def url(self) -> str:
        return self.stack.url

    def client(self) -> httpx.Client:
        """Signed in as an administrator by API token."""
        headers = {"Authorization": f"Bearer {self.stack.create_api_token()}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30)


def seen(product: Product, minutes_ago: int) -> None:
    """As if everything had last been seen at that time: a recording is over when the tests begin."""
    with psycopg.connect(product.stack.superuser_url, dbname="jitterscope", autocommit=True) as superuser:
        superuser.execute("UPDATE resources SET last_seen_at = now() - make_interval(mins => %s)", (minutes_ago,))


@pytest.fixture(autouse=True)
def _still_there(request: pytest.FixtureRequest) -> None:
    """Resources not seen for 5 min are not listed: no test depends on how long earlier ones took."""
    if "product" in request.fixturenames:
        seen(request.getfixturevalue("product"), 0)


@pytest.fixture(scope="session")
def product() -> Iterator[Product]:
    if not DIST.exists():
        pytest.fail("frontend/dist is missing: run `make build` first")
    with (
        tempfile.TemporaryDirectory(prefix="jitterscope-e2e-") as folder,
        Stack(
            Path(folder) / "state",
            collector=False,
            durable=False,
            owner_pid=os.getpid(),
            # The tests' own webhook receiver listens on loopback.
            environment={"JITTERSCOPE_NOTIFY_ALLOW_PRIVATE_TARGETS": "true"},
        ) as stack,
    ):
        node = RecordedNode("fault")
        ingest(stack.url, stack.create_ingest_token(), node)
        headers = {"Authorization": f"Bearer {stack.create_api_token()}"}
        with httpx.Client(base_url=stack.url, headers=headers, timeout=30) as client:
            incident = wait_for_incident(client, node.node)
            other = RecordedNode("gomaxprocs", "node-2", "coredns-b52", deployment="coredns-b")
            ingest(stack.url, stack.create_ingest_token(), other)
            wait_for_incident(client, other.node)
        yield Product(stack, node, incident["id"], incident["subject"]["resource_id"], incident["title"])


@pytest.fixture(scope="session")
def services(product: Product) -> Product:
    """With a node whose servers were slow some minutes ago."""
    feed(product.url, product.stack.create_ingest_token())
    return product


@pytest.fixture(scope="session")
def verified_incident(product: Product) -> int:
    """Another workload whose fault of 80 s ended with its limit: the incident's ID once the fix is verified.

    All times are set at once: the time to send a batch leaves no gap in what is compared.
    """
    stack, node, pod, deployment = product.stack, "node-3", "coredns-c31", "coredns-c"
    token = stack.create_ingest_token()
    before = [RecordedNode("fault", node, pod, ended_s, deployment) for ended_s in (160, 120)]
    after = [RecordedNode("limit", node, pod, ended_s, deployment) for ended_s in (80, 40, 0)]
    for one in before:
        ingest(stack.url, token, one)
    with product.client() as client:
        incident = wait_for_incident(client, node)
        for one in after:
            ingest(stack.url, token, one)
        wait_for_state(client, incident["id"], "verified")
    return int(incident["id"])


@pytest.fixture(scope="session")
def subjects(product: Product) -> dict[str, str]:
    """Values of the parameters in the product's addresses (places.py), by name."""
    run = {"target": "kube-dns", "rate_qps": 100, "seconds": 10, "sent": 1000, "answered": 1000, "lost": 0,
           "p50_us": 400, "p99_us": 2000, "max_us": 9000}  # fmt: skip
    bench = {"name": "kube-dns", "sender": "dnsperf 2.10.0", "started_us": 1_763_700_000_000_000, "timeout_ms": 2000,
             "names": 1, "targets": [{"name": "kube-dns", "address": "127.0.0.1", "port": 53}],
             "runs": [run, {**run, "rate_qps": 200, "sent": 2000, "answered": 1900, "lost": 100}]}  # fmt: skip
    with product.client() as client:
        analysis = client.post("/api/v1/analyses/dns-bench", json=bench).raise_for_status().json()
    return {
        "incidentId": str(product.incident_id), "resourceId": str(product.subject_id),
        "analysisId": str(analysis["id"]), "section": "account", "": "no-such-page",
    }  # fmt: skip


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    executable = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if executable is None:
        pytest.fail("no Chromium found: `apt-get install chromium-headless-shell` (or `make deps` as root)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, headless=True, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def signed_in(product: Product, browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the cookies of a user who signed in through the form."""
    state = tmp_path_factory.mktemp("browser") / "state.json"
    context = browser.new_context(base_url=product.url)
    page = context.new_page()
    sign_in(page, product.stack)
    context.storage_state(path=state)
    context.close()
    return state


def sign_in(page: Page, stack: Stack) -> None:
    """Sign in through the form, as a person does."""
    email, password = stack.admin
    page.goto("/")
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()


# No slots: Playwright keeps its wrapper of a bound listener on the listener's object.
@dataclass
class Window:
    """One browser window. `complaints` are console errors, warnings, and uncaught exceptions."""

    context: BrowserContext
    page: Page
    complaints: list[str]

    def listen(self) -> None:
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        # The browser is told to hand over file choosers when a listener is first added, and nothing waits for that.
        self.page.on("filechooser", lambda _: None)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)


OpenWindow = Callable[..., Window]


@pytest.fixture
def open_window(product: Product, browser: Browser, signed_in: Path) -> Iterator[OpenWindow]:
    """Opens windows that are closed when the test ends, and that must have no complaints by then."""
    opened: list[Window] = []

    def open_(size: tuple[int, int] = DESKTOP, scheme: str = "dark", *, anonymous: bool = False) -> Window:
        context = browser.new_context(
            base_url=product.url,
            viewport={"width": size[0], "height": size[1]},
            color_scheme=scheme,  # type: ignore[arg-type]
            has_touch=size == PHONE,
            is_mobile=size == PHONE,
            storage_state=None if anonymous else signed_in,
            permissions=["clipboard-read", "clipboard-write"],
        )
        window = Window(context, context.new_page(), [])
        window.page.set_default_timeout(PATIENCE_S * 1e3)
        window.listen()
        opened.append(window)
        return window

    yield open_
    for window in opened:
        window.context.close()
    assert [complaint for window in opened for complaint in window.complaints] == []


@pytest.fixture(params=OPENED, ids=["-".join(one) for one in OPENED])
def look(open_window: OpenWindow, request: pytest.FixtureRequest) -> Look:
    """A window that is also as narrow as a phone; one of each look if there are to be screenshots."""
    size, scheme = request.param
    page = open_window(SIZES[size], scheme).page
    return Look(page, size, scheme, is_phone=size == "phone", narrower=[PHONE] if FOLDER is None else [])


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    running = Receiver()
    yield running
    running.close()


@pytest.fixture
def nothing_left(product: Product) -> Iterator[None]:
    """No channels of one test remain for the next one."""
    yield
    with product.client() as client:
        for one in client.get("/api/v1/channels").json():
            client.delete(f"/api/v1/channels/{one['id']}").raise_for_status()


@pytest.fixture
def incident_page(open_window: OpenWindow, product: Product) -> Page:
    """The incident's page with its picture drawn."""
    page = open_window().page
    page.goto(f"/incidents/{product.incident_id}")
    expect(picture(page)).to_be_visible()
    return page


def picture(page: Page) -> Locator:
    """The interactive picture at the top."""
    return page.locator("main").get_by_role("application").first
