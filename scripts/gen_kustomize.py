"""Writes the Kustomize bases kustomize/base and kustomize/collectors from the chart, for installations without Helm.

It uses the Helm that the Kubernetes lab builds. If that was not built, it says so, and leaves them unchanged.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys

from jitterscope.settings import REPOSITORY
from labs.kubernetes import building

FOLDER = REPOSITORY / "kustomize"
NAMESPACE = "jitterscope"
# The right to nodes/pods: versions before this one need a patch of the ClusterRole (docs/deploy.md).
KUBERNETES = "1.33.0"
BASES = {
    "base": [],
    "collectors": ["--set", "backend.enabled=false", "--set", "collector.server=https://jitterscope.example.com"],
}
HEAD = "# Made by scripts/gen_kustomize.py of helm/jitterscope: change that.\n"


def rendered(options: list[str]) -> str:
    """The chart's objects, without the labels that say that Helm manages them."""
    helm = building.ready(lambda _text: None)["helm"]
    command = [helm, "template", "jitterscope", str(REPOSITORY / "helm" / "jitterscope"), "--namespace", NAMESPACE]
    command += ["--kube-version", KUBERNETES, "--set", "existingSecret=jitterscope", *options]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    text = re.sub(r"^ *(app\.kubernetes\.io/managed-by: Helm|# Source: .*)\n", "", text, flags=re.MULTILINE)
    return HEAD + "---\n".join(map(placed, text.split("---\n")))


def placed(one: str) -> str:
    """An object with its namespace, which Helm leaves to the release."""
    if re.search(r"^kind: Cluster|^  namespace:", one, re.MULTILINE):
        return one
    return re.sub(r"^metadata:\n  name: .*\n", rf"\g<0>  namespace: {NAMESPACE}\n", one, count=1, flags=re.MULTILINE)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a base differs")
    check: bool = parser.parse_args().check
    if not building.are_built():
        sys.stderr.write("Helm is not built (make cluster-up builds it): kustomize/ stays as committed\n")
        return 0
    for name, options in BASES.items():
        file = FOLDER / name / "jitterscope.yaml"
        wanted = rendered(options)
        if file.exists() and file.read_text("utf-8") == wanted:
            continue
        if check:
            sys.stderr.write(f"kustomize/{name}/jitterscope.yaml is out of date: run make gen\n")
            return 1
        file.write_text(wanted, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
