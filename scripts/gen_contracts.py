"""Generates code and documentation from contracts/: `make gen`. `--check` fails if the committed files differ.

metrics.toml → Python, Go, TypeScript constants and docs/metrics.md; ingest.proto → Python and Go messages.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import contract_messages
import contract_pages

ROOT = Path(__file__).resolve().parents[1]
METRICS = ROOT / "contracts" / "metrics.toml"
NOTE = "Generated from contracts/metrics.toml by scripts/gen_contracts.py. Do not edit."
INITIALISMS = {
    "cpu": "CPU",
    "us": "US",
    "gc": "GC",
    "dns": "DNS",
    "rss": "RSS",
    "psi": "PSI",
    "io": "IO",
    "oom": "OOM",
    "id": "ID",
    "os": "OS",
    "udp": "UDP",
    "irq": "IRQ",
    "jit": "JIT",
}
WIDTHS = {"f64": "F64", "i32": "I32", "i16": "I16", "distribution": "UNSPECIFIED"}

Catalogue = dict[str, dict[str, dict[str, Any]]]


def load() -> Catalogue:
    """Load the catalogue; exits if it is inconsistent."""
    catalogue: Catalogue = tomllib.loads(METRICS.read_text())
    ids: dict[int, str] = {}
    for name, metric in catalogue["metrics"].items():
        if metric["id"] in ids:
            sys.exit(f"metrics.toml: {name} and {ids[metric['id']]} share the id {metric['id']}; ids are never reused")
        ids[metric["id"]] = name
        if metric["kind"] not in ("delta", "gauge", "distribution") or metric["encoding"] not in WIDTHS:
            sys.exit(f"metrics.toml: {name} has an unknown kind or encoding")
    for section in ("metrics", "facts", "events"):
        for name, entry in catalogue[section].items():
            if not entry.get("source"):
                sys.exit(f"metrics.toml: {name} names no source: which collector source records it?")
    return catalogue


def camel(name: str) -> str:
    """ "go.env.GOMAXPROCS" → "GoEnvGOMAXPROCS", "cpu_usage_us" → "CPUUsageUS": Go's convention for initialisms."""
    parts = re.split(r"[._]", name)
    return "".join(INITIALISMS.get(part, part[:1].upper() + part[1:]) for part in parts)


def python(catalogue: Catalogue) -> str:
    lines = [
        f'"""{NOTE}"""',
        "",
        "from __future__ import annotations",
        "",
        "from dataclasses import dataclass",
        "from typing import Final, Literal",
        "",
        *constants(catalogue, "# {meaning}\n{NAME}: Final = {value:_}"),
        "",
        "",
        "@dataclass(frozen=True, slots=True)",
        "class Metric:",
        "    id: int",
        "    name: str",
        "    unit: str",
        '    kind: Literal["delta", "gauge", "distribution"]',
        "    resources: tuple[str, ...]",
        '    encoding: Literal["f64", "i32", "i16", "distribution"]',
        "    source: str",
        "    meaning: str",
        "",
        "",
        "@dataclass(frozen=True, slots=True)",
        "class Name:",
        '    """A fact or an event."""',
        "",
        "    name: str",
        "    resource: str",
        "    source: str",
        "    meaning: str",
        "",
        "",
        "METRICS: Final[dict[str, Metric]] = {",
    ]
    for name, m in catalogue["metrics"].items():
        fields = [
            m["id"],
            name,
            m["unit"],
            m["kind"],
            tuple(m["resource"].split(",")),
            m["encoding"],
            m["source"],
            m["meaning"],
        ]
        lines.append(f"    {json.dumps(name)}: Metric({', '.join(literal(field) for field in fields)}),")
    lines += ["}", "", "BY_ID: Final[dict[int, Metric]] = {metric.id: metric for metric in METRICS.values()}", ""]
    for section in ("facts", "events"):
        lines.append(f"{section.upper()}: Final[dict[str, Name]] = {{")
        for name, entry in catalogue[section].items():
            fields = [name, entry["resource"], entry["source"], entry["meaning"]]
            lines.append(f"    {json.dumps(name)}: Name({', '.join(literal(field) for field in fields)}),")
        lines += ["}", ""]
    return "\n".join(lines)


def constants(catalogue: Catalogue, form: str, *, ui: bool = False) -> list[str]:
    """Lines of `form` for each constant (of the UI): {NAME}, {name} in Go's spelling, {value}, {meaning}."""
    return [
        line
        for name, one in catalogue["constants"].items()
        if one.get("ui") or not ui
        for line in form.format(NAME=name.upper(), name=camel(name), **one).split("\n")
    ]


def literal(value: object) -> str:
    if isinstance(value, tuple):
        return "(" + "".join(f"{literal(one)}, " for one in value).rstrip() + ")"
    return json.dumps(value, ensure_ascii=False)


def go(catalogue: Catalogue) -> str:
    lines = [
        "// Code generated from contracts/metrics.toml by scripts/gen_contracts.py. DO NOT EDIT.",
        "",
        "// Package catalogue has the wire ids of metrics and the names of facts and events.",
        "package catalogue",
        "",
        "// Thresholds that all programs share.",
        "const (",
        *constants(catalogue, "\t{name} = {value:_} // {meaning}"),
        ")",
        "",
        "// Kind says how a value relates to its tick.",
        "type Kind uint8",
        "",
        "const (",
        "\tDelta Kind = iota + 1",
        "\tGauge",
        "\tDistribution",
        ")",
        "",
        "// Encoding is the usual wire width; the numbers are those of ingest.v1.Encoding.",
        "type Encoding uint8",
        "",
        "const (",
        "\tUnspecified Encoding = iota",
        "\tF64",
        "\tI32",
        "\tI16",
        ")",
        "",
        "// Metric describes one metric of the catalogue.",
        "type Metric struct {",
        "\tID       uint32",
        "\tName     string",
        "\tUnit     string",
        "\tKind     Kind",
        "\tEncoding Encoding",
        "\tSource   string",
        "\tMeaning  string",
        "}",
        "",
        "// Metric ids.",
        "const (",
    ]
    for name, m in catalogue["metrics"].items():
        lines.append(f"\t{camel(name)} uint32 = {m['id']} // {m['meaning']}")
    for section, prefix in (("facts", "Fact"), ("events", "Event")):
        lines += [")", "", f"// Names of {section}.", "const ("]
        for name, entry in catalogue[section].items():
            lines.append(f"\t{prefix}{camel(name)} = {json.dumps(name)} // {entry['meaning']}")
    lines += [")", "", "// All has every metric, by id.", "var All = map[uint32]Metric{"]
    for name, m in catalogue["metrics"].items():
        strings = [json.dumps(m[key], ensure_ascii=False) for key in ("unit", "source", "meaning")]
        lines.append(
            f"\t{camel(name)}: {{{camel(name)}, {json.dumps(name)}, {strings[0]}, {m['kind'].capitalize()}, "
            f"{WIDTHS[m['encoding']].capitalize()}, {strings[1]}, {strings[2]}}},"
        )
    lines += ["}", ""]
    return subprocess.run(["gofmt"], input="\n".join(lines), capture_output=True, text=True, check=True).stdout


def typescript(catalogue: Catalogue) -> str:
    """What the UI cannot derive from the API's answers: thresholds, and how a metric's values relate to their ticks."""
    kinds = [f"  {name}: {json.dumps(metric['kind'])}," for name, metric in catalogue["metrics"].items()]
    head = "export const METRIC_KINDS: Readonly<Record<string, string>> = {"
    exported = constants(catalogue, "/** {meaning}. */\nexport const {NAME} = {value:_};\n", ui=True)
    return "\n".join([f"// {NOTE}", "", *exported, head, *kinds, "};", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a file differs")
    check = parser.parse_args().check
    catalogue = load()
    files = {
        Path("backend/jitterscope/series/catalogue.py"): python(catalogue),
        Path("collector/internal/catalogue/catalogue.gen.go"): go(catalogue),
        Path("frontend/src/api/catalogue.gen.ts"): typescript(catalogue),
        Path("docs/metrics.md"): contract_pages.metrics_page(catalogue, NOTE),
        **contract_messages.generate(ROOT),
    }
    stale = [path for path, text in files.items() if not (ROOT / path).is_file() or (ROOT / path).read_text() != text]
    for path in stale:
        if check:
            print(f"differs from contracts/: {path} (run `make gen`)", file=sys.stderr)
        else:
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / path).write_text(files[path])
            print(f"wrote {path}")
    sys.exit(1 if check and stale else 0)


if __name__ == "__main__":
    main()
