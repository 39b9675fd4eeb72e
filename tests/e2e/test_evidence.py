"""Evidence files in the browser, with real files: chosen, dropped, read live, shown at desktop and phone width."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import OpenWindow, Product
from tests.e2e.looks import Look, below_the_bar, settled

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures" / "evidence"
CAPTURE = ROOT / "collector" / "internal" / "evidence" / "testdata" / "loopback.pcap"


def process_counts(seconds: int) -> str:
    """The loop's output: quiet, then at dnsmasq's limit during every third 10 s."""
    lines = []
    for number in range(seconds):
        minute, second = divmod(number, 60)
        count = 21 if number // 10 % 3 == 2 else 4 + number % 7
        clock = f"{14 + minute // 60:02}:{minute % 60:02}:{second:02}"
        lines.append(f"Wed Oct 11 {clock} UTC 2023 Try: {number + 1} DnsmasqProcess: {count}\n")
    return "".join(lines)


def choose(page: Page, *files: Path) -> None:
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose files").click()
    chooser.value.set_files(list(files))


def test_a_file_is_chosen_with_the_keyboard_and_its_result_appears(open_window: OpenWindow, tmp_path: Path) -> None:
    counts = tmp_path / "kube-dns-d2x8p.txt"
    counts.write_text(process_counts(600))
    page = open_window().page
    page.goto("/incidents")
    page.get_by_role("link", name="Evidence", exact=True).click()
    expect(page.get_by_role("heading", name="Evidence files")).to_be_visible()
    settled(page)
    button = page.get_by_role("button", name="Choose files")
    button.focus()
    expect(button).to_be_focused()
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Enter")
    chooser.value.set_files(counts)
    expect(page.get_by_role("heading", name="kube-dns-d2x8p.txt")).to_be_visible()
    expect(page.get_by_text("20 children and the main process in 200 of 600 (33.3 %) samples")).to_be_visible()
    chart = page.get_by_role("figure", name=re.compile("DnsmasqProcess"))
    expect(chart).to_have_attribute("aria-label", re.compile("processes: 4 to 21"))
    expect(chart.locator("canvas")).to_be_visible()
    expect(page.get_by_role("heading", name="Not enough data")).to_be_visible()


def test_files_are_dropped_and_a_hostile_one_says_why(open_window: OpenWindow) -> None:
    page = open_window().page
    page.goto("/evidence")
    zone = page.get_by_role("group", name="Add evidence files")
    expect(zone).to_be_visible()
    transfer = page.evaluate_handle(
        """([top, stat]) => {
            const data = new DataTransfer();
            data.items.add(new File([top], "top.txt"));
            data.items.add(new File([stat], "cpu.stat"));
            data.items.add(new File([new Uint8Array(5000).map((_, i) => (i * 7919) % 256)], "noise.bin"));
            return data;
        }""",
        [(FIXTURES / "top-0.1s.txt").read_text(), (FIXTURES / "cpu.stat.txt").read_text()],
    )
    zone.dispatch_event("dragenter", {"dataTransfer": transfer})
    expect(page.get_by_text("Drop to add")).to_be_visible()
    zone.dispatch_event("drop", {"dataTransfer": transfer})
    rows = page.get_by_role("listitem")
    expect(rows.filter(has_text="top.txt").first).to_contain_text("coredns used up to 32.8 CPUs, usually 0.7")
    expect(rows.filter(has_text="cpu.stat").first).to_contain_text("no throttling")
    expect(rows.filter(has_text="noise.bin").first).to_contain_text("Unsupported file")
    page.get_by_role("link", name="noise.bin").first.click()
    expect(page.get_by_role("alert")).to_contain_text("Give a capture (pcap, pcapng)")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="Evidence files")).to_be_visible()
    expect(page.get_by_role("link", name="noise.bin")).to_have_count(0)


def test_a_large_file_shows_how_far_it_is(open_window: OpenWindow, tmp_path: Path) -> None:
    large = tmp_path / "dnsmasq.log"
    line = "Oct 10 08:{:02}:{:02} dnsmasq[{}]: query[A] name{}.example.com from 10.0.0.8{}\n"
    with large.open("w") as file:
        for number in range(900_000):
            second = number // 500
            file.write(line.format(second // 60 % 60, second % 60, 4800 + number % 9, number % 500, number % 7))
    page = open_window().page
    page.goto("/evidence")
    choose(page, large)
    bar = page.get_by_role("progressbar", name=re.compile("Reading dnsmasq.log"))
    expect(bar).to_have_attribute("aria-valuenow", re.compile(r"^([1-9]|[1-9]\d)$"))
    expect(page.get_by_text("What the file shows")).to_be_visible(timeout=90_000)
    expect(page.get_by_text(re.compile("900,000 requests unanswered"))).to_be_visible()


def run(target: str, rate: int, factor: float, lost: int) -> dict[str, object]:
    """One run of a load test as `jitterscope dns-bench` sends it."""
    return {
        "target": target, "rate_qps": rate, "seconds": 10, "sent": rate * 10, "answered": rate * 10 - lost,
        "lost": lost, "p50_us": 400 * factor + rate / 4, "p99_us": 2000 * factor * (1 + rate / 700) ** 2,
        "max_us": 2_000_000,
    }  # fmt: skip


@pytest.fixture(scope="module")
def kept(product: Product, tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """A capture, process counts, and a load test, read: what the pictures show."""
    counts = tmp_path_factory.mktemp("evidence") / "counts.txt"
    counts.write_text(process_counts(1800))
    ids: dict[str, int] = {}
    with product.client() as client:
        for path, name in ((CAPTURE, "kube-dns-eth0.pcap"), (counts, "dnsmasq-processes.txt")):
            headers = {"Content-Type": "application/octet-stream"}
            added = client.post("/api/v1/analyses", params={"name": name}, content=path.read_bytes(), headers=headers)
            ids[name] = added.raise_for_status().json()["id"]
        targets = {"kube-dns": (1.0, 900), "kube-dns-upstream": (1.6, 600), "one pod": (2.2, 300)}
        runs = [
            run(name, rate, factor, max(0, (rate - most) * 10 // 3))
            for name, (factor, most) in targets.items()
            for rate in (100, 200, 500, 1000, 1500)
        ]
        places = [{"name": name, "address": f"127.0.0.{index}", "port": 53} for index, name in enumerate(targets, 1)]
        bench = {
            "name": "kube-dns before the change", "sender": "dnsperf 2.10.0", "started_us": 1_763_700_000_000_000,
            "timeout_ms": 2000, "names": 50_000, "runs": runs, "targets": places,
        }  # fmt: skip
        ids["bench"] = client.post("/api/v1/analyses/dns-bench", json=bench).raise_for_status().json()["id"]
    return ids


def test_looks(look: Look, kept: dict[str, int]) -> None:
    page = look.page
    page.goto("/evidence")
    expect(page.get_by_text("91 DNS queries")).to_be_visible()
    shots = {"evidence": None, "evidence-capture": kept["kube-dns-eth0.pcap"], "evidence-bench": kept["bench"]}
    for shot, id in shots.items():
        if id is not None:
            page.goto(f"/evidence/{id}")
            expect(page.locator("main canvas").first).to_be_visible()
        look.at(shot)
        if shot == "evidence-capture":
            below_the_bar(page, page.get_by_role("heading", name="Charts"))
            look.at("evidence-charts")


def test_a_load_test_says_what_each_target_keeps_up_with(open_window: OpenWindow, kept: dict[str, int]) -> None:
    page = open_window().page
    page.goto(f"/evidence/{kept['bench']}")
    expect(page.get_by_text("keeps up with 500 queries/s, fails 3.33 % at 1000").first).to_be_visible()
    loss = page.get_by_role("figure", name=re.compile("Failed queries"))
    expect(loss).to_have_attribute("aria-label", re.compile("kube-dns: 0 % to 13.3 %"))
    expect(page.get_by_role("row")).to_have_count(16)


def test_the_commands_send_to_the_service(open_window: OpenWindow, product: Product, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(product.stack.create_api_token())
    token.chmod(0o600)
    program = str(Path(sys.executable).with_name("jitterscope"))
    service = ["--service", product.url, "--token-file", str(token)]
    # Nothing reads from this socket: every query is lost, which a load test must also report.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
        deaf.bind(("127.0.0.1", 0))
        target = f"deaf=127.0.0.1:{deaf.getsockname()[1]}"
        load = ["--rates", "40", "--seconds", "0.5", "--timeout-ms", "200", "--label", "nobody answers"]
        commands = [
            [program, "analyze", str(CAPTURE), "--json", *service],
            [program, "dns-bench", "--target", target, "--name", "a.example", *load, *service],
        ]
        done = [subprocess.run(one, capture_output=True, text=True, timeout=120, check=True) for one in commands]
    report = json.loads(done[0].stdout)["report"]
    assert {fact["id"]: fact["numbers"] for fact in report["facts"]}["queries"]["queries"] == 91
    page = open_window().page
    page.goto("/evidence")
    expect(page.get_by_role("listitem").filter(has_text="loopback.pcap").first).to_contain_text("91 DNS queries")
    link = re.search(r"kept: (\S+)", done[1].stdout)
    assert link is not None, done[1].stdout
    page.goto(link[1])
    expect(page.get_by_role("heading", name="nobody answers")).to_be_visible()
    expect(page.get_by_text("keeps up with no tested rate, fails 100 % at 40").first).to_be_visible()
