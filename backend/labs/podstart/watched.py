"""A bpf-startup run under a running product: first the run, then the queries to the product."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from labs import watching
from labs.console import Say
from labs.errors import LabError
from labs.podstart.bench import node, run
from labs.podstart.figures import PodFigures
from labs.podstart.observed import largest_error, observed
from labs.podstart.pages import KubeletPage, serving
from labs.podstart.variants import Parameters, Variant, expected_cause
from labs.product import Product
from labs.report import Report, line_of, seconds_to_incident

LAB = "bpf-startup"
_READ_S = 2.0
_FIRST_READ_S = 60.0  # a collector whose scrape was refused tries again after 30 s


class PodReport(Report[PodFigures]):
    """The report of one run.

    `time_to_incident_s` is from the first pod's creation. `load_error_ratio`: largest relative difference between a
    pod's load times by the product and by the loader's own clock; None if the product saw none.
    """

    load_error_ratio: float | None


@dataclass(frozen=True, slots=True)
class Kubelet:
    """The page that is served, and its URL. `collector_config`: configuration with which a collector reads it."""

    page: KubeletPage
    url: str

    @property
    def collector_config(self) -> str:
        return (
            f'[sources.kubelet_metrics]\nurl = "{self.url}"\nevery_s = {_READ_S:g}\n\n'
            '[sources.cni_metrics]\nurl = "off"\n'
        )


@contextmanager
def kubelet(port: int = 0) -> Iterator[Kubelet]:
    """Serve the lab node's page and images until the context ends, at the given port (0: any)."""
    page = KubeletPage()
    with serving(page, port) as url:
        yield Kubelet(page, url)


def watch(
    product: Product, served: Kubelet, variant: Variant, parameters: Parameters, record_to: Path | None, say: Say
) -> PodReport:
    """Run the lab under a product whose collector reads `served`, and report both sets of figures."""
    with (
        tempfile.TemporaryDirectory(prefix="jitterscope-lab-") as folder,
        node(Path(folder), served.url, served.page, say) as made,
    ):
        node_id = product.wait_for("this node", product.node_id, 30)
        watching.find_cgroups(product, [made.agent.key])
        if not served.page.wait_until_read(_FIRST_READ_S):
            raise LabError(
                f"No collector reads the lab's kubelet: give the running one this configuration, or leave out --url:\n"
                f"{served.collector_config}"
            )
        done = run(made, parameters, say)
        to_us = done.to_us + round(_READ_S * 2e6)
        figures = done.figures
        expected = expected_cause(figures.late or 0, (figures.verifier_ms or 0.0) / (figures.start_p50_ms or 1.0))
        say("Waiting for the product's final verdict")
        said = watching.last_word(product, [node_id], done.from_us, to_us, node="host_runnable")
        seen = product.recording(node_id, done.from_us, to_us)
        programs = [program for pod in done.pods for program in pod.programs]
        if record_to is not None:
            labels = watching.labels(LAB, variant.value, expected, done.parameters, figures, done.from_us)
            watching.record(product, node_id, done.from_us, to_us, labels, record_to)
        return PodReport(
            lab=LAB,
            variant=variant.value,
            parameters=done.parameters.model_dump(),
            incidents=[line_of(one) for one in said.incidents],
            risks=[line_of(one) for one in said.risks],
            measured=figures,
            observed=observed(seen, programs),
            time_to_incident_s=seconds_to_incident(said.incidents, done.pods[0].at_us),
            incident_urls=said.urls(product),
            load_error_ratio=largest_error(seen, [pod.programs for pod in done.pods]),
        )
