"""The phases of a pod start: how long each takes, at the mean and at the percentiles of the objective."""

from __future__ import annotations

from dataclasses import dataclass

from jitterscope.diagnosis.areas.pods.readings.starts import PERCENTILES, PodStarts


@dataclass(frozen=True, slots=True)
class Part:
    """A phase of a start; `inside` names the phase that contains it. `metric` is None if it is the remainder.

    `mean_us` is per start, all its operations together; `at_us` at each of PERCENTILES (µs).
    """

    id: str
    title: str
    inside: str | None
    in_objective: bool
    metric: str | None
    operations: int
    mean_us: float
    at_us: tuple[float, ...]


# id, title, inside, metric, once per pod
_MEASURED = (
    ("sandbox", "Sandbox: network namespace, CNI", None, "pod_sandbox_us", True),
    ("cni", "Cilium endpoint", "sandbox", "pod_cni_us", True),
    ("bpf_compile", "Compiling programs", "cni", "pod_bpf_compile_us", False),
    ("bpf_load", "Loading programs", "cni", "pod_bpf_load_us", False),
    ("cgroup", "Cgroup creation", None, "pod_cgroup_us", False),
    ("container", "Creating and starting containers", None, "pod_container_start_us", False),
)
REST = "Scheduling, volumes, kubelet and API server"


def parts(starts: PodStarts, verifier_us: float | None = None) -> list[Part]:
    """Phases in the order of a start; `verifier_us` is the time that the kernel took to load one pod's programs."""
    n, found = starts.starts.n, list[Part]()
    for part_id, title, inside, metric, once in _MEASURED:
        seen = starts.phase(metric)
        if seen is None:
            continue
        # A window's edge can cut a start in two: a phase that occurs once per pod has its own mean.
        mean = seen.mean_us if once else seen.total_us / n
        scale = 1.0 if once else mean / seen.mean_us
        known = inside if inside is None or any(part.id == inside for part in found) else "sandbox"
        at = tuple(seen.quantile_us(q) * scale for q in PERCENTILES)
        found.append(Part(part_id, title, known, True, metric, seen.n, mean, at))
    if verifier_us is not None:
        inside = next((part.id for part in reversed(found) if part.id in ("bpf_load", "cni", "sandbox")), None)
        same = (verifier_us,) * len(PERCENTILES)
        found.append(Part("verifier", "eBPF verifier", inside, True, "bpf_load_us", n, verifier_us, same))
    top = [part for part in found if part.inside is None]
    whole = tuple(starts.starts.quantile_us(q) for q in PERCENTILES)
    left = max(0.0, starts.starts.mean_us - sum(part.mean_us for part in top))
    left_at = tuple(max(0.0, whole[i] - sum(part.at_us[i] for part in top)) for i in range(len(PERCENTILES)))
    found.append(Part("rest", REST, None, True, None, n, left, left_at))
    pulls = starts.phase("pod_image_pull_us")
    if pulls is not None:
        at = tuple(pulls.quantile_us(q) for q in PERCENTILES)
        found.append(
            Part("image_pull", "Image pulls", None, False, "pod_image_pull_us", pulls.n, pulls.total_us / n, at)
        )
    return found


def slowest(found: list[Part]) -> Part:
    """The phase of the objective that takes most of the mean start."""
    return max((part for part in found if part.inside is None and part.in_objective), key=lambda part: part.mean_us)
