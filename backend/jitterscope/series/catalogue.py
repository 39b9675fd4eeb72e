"""Generated from contracts/metrics.toml by scripts/gen_contracts.py. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Metric:
    id: int
    name: str
    unit: str
    kind: Literal["delta", "gauge", "distribution"]
    resources: tuple[str, ...]
    encoding: Literal["f64", "i32", "i16", "distribution"]
    source: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Name:
    """A fact or an event."""

    name: str
    resource: str
    meaning: str


METRICS: Final[dict[str, Metric]] = {
    "cpu_usage_us": Metric(1, "cpu_usage_us", "us", "delta", ("cgroup",), "i32", "cgroup_cpu", "CPU time used in the tick, all CPUs together"),
    "cpu_user_us": Metric(2, "cpu_user_us", "us", "delta", ("cgroup",), "i32", "cgroup_cpu", "CPU time used in user mode"),
    "cpu_system_us": Metric(3, "cpu_system_us", "us", "delta", ("cgroup",), "i32", "cgroup_cpu", "CPU time used in kernel mode"),
    "cpu_periods": Metric(4, "cpu_periods", "1", "delta", ("cgroup",), "i16", "cgroup_cpu", "CFS bandwidth periods that ended in the tick (nr_periods)"),
    "cpu_throttled_periods": Metric(5, "cpu_throttled_periods", "1", "delta", ("cgroup",), "i16", "cgroup_cpu", "Periods that ended throttled in the tick (nr_throttled)"),
    "cpu_throttled_us": Metric(6, "cpu_throttled_us", "us", "delta", ("cgroup",), "i32", "cgroup_cpu", "Throttled time credited in the tick, summed over run queues, credited when a queue is unthrottled"),
    "cpu_bursts": Metric(7, "cpu_bursts", "1", "delta", ("cgroup",), "i16", "cgroup_cpu", "Periods that used burst (nr_bursts)"),
    "cpu_burst_us": Metric(8, "cpu_burst_us", "us", "delta", ("cgroup",), "i32", "cgroup_cpu", "CPU time above the quota taken from burst"),
    "cpu_throttled_local_us": Metric(9, "cpu_throttled_local_us", "us", "delta", ("cgroup",), "i32", "cgroup_cpu", "cpu.stat.local: throttled time including ancestors' limits"),
    "memory_usage_bytes": Metric(20, "memory_usage_bytes", "bytes", "gauge", ("cgroup",), "f64", "cgroup_memory", "Memory charged to the cgroup"),
    "memory_anon_bytes": Metric(21, "memory_anon_bytes", "bytes", "gauge", ("cgroup",), "f64", "cgroup_memory", "Anonymous memory (v1: rss)"),
    "memory_file_bytes": Metric(22, "memory_file_bytes", "bytes", "gauge", ("cgroup",), "f64", "cgroup_memory", "Page cache (v1: cache)"),
    "memory_limit_hits": Metric(23, "memory_limit_hits", "1", "delta", ("cgroup",), "i32", "cgroup_memory", "Allocations that hit the limit (v1: failcnt, v2: memory.events max)"),
    "memory_oom_kills": Metric(24, "memory_oom_kills", "1", "delta", ("cgroup",), "i16", "cgroup_memory", "Processes killed by the OOM killer"),
    "memory_major_faults": Metric(25, "memory_major_faults", "1", "delta", ("cgroup",), "i32", "cgroup_memory", "Major page faults"),
    "pids_current": Metric(30, "pids_current", "1", "gauge", ("cgroup",), "i32", "cgroup_pids", "Tasks in the cgroup"),
    "psi_cpu_some_us": Metric(40, "psi_cpu_some_us", "us", "delta", ("node", "cgroup",), "i32", "psi", "Time some task waited for a CPU"),
    "psi_cpu_full_us": Metric(41, "psi_cpu_full_us", "us", "delta", ("node", "cgroup",), "i32", "psi", "Time all tasks waited for a CPU"),
    "psi_memory_some_us": Metric(42, "psi_memory_some_us", "us", "delta", ("node", "cgroup",), "i32", "psi", "Time some task waited for memory"),
    "psi_memory_full_us": Metric(43, "psi_memory_full_us", "us", "delta", ("node", "cgroup",), "i32", "psi", "Time all tasks waited for memory"),
    "psi_io_some_us": Metric(44, "psi_io_some_us", "us", "delta", ("node", "cgroup",), "i32", "psi", "Time some task waited for I/O"),
    "psi_io_full_us": Metric(45, "psi_io_full_us", "us", "delta", ("node", "cgroup",), "i32", "psi", "Time all tasks waited for I/O"),
    "host_user_us": Metric(50, "host_user_us", "us", "delta", ("node",), "i32", "host_cpu", "user + nice"),
    "host_system_us": Metric(51, "host_system_us", "us", "delta", ("node",), "i32", "host_cpu", "system"),
    "host_irq_us": Metric(52, "host_irq_us", "us", "delta", ("node",), "i32", "host_cpu", "irq + softirq"),
    "host_idle_us": Metric(53, "host_idle_us", "us", "delta", ("node",), "i32", "host_cpu", "idle"),
    "host_iowait_us": Metric(54, "host_iowait_us", "us", "delta", ("node",), "i32", "host_cpu", "iowait"),
    "host_steal_us": Metric(55, "host_steal_us", "us", "delta", ("node",), "i32", "host_cpu", "stolen by the hypervisor"),
    "host_runnable": Metric(56, "host_runnable", "1", "gauge", ("node",), "i16", "host_cpu", "procs_running"),
    "collector_lateness_us": Metric(60, "collector_lateness_us", "us", "gauge", ("node",), "i32", "self", "How long after its deadline the tick was sampled"),
    "collector_cpu_us": Metric(61, "collector_cpu_us", "us", "delta", ("node",), "i32", "self", "CPU time of the collector"),
    "collector_rss_bytes": Metric(62, "collector_rss_bytes", "bytes", "gauge", ("node",), "f64", "self", "Resident memory of the collector"),
    "collector_tick": Metric(63, "collector_tick", "1", "gauge", ("node",), "i32", "self", "Low 31 bits of start_us / 100000 of the tick: proves that each tick is stored once"),
    "process_cpu_us": Metric(70, "process_cpu_us", "us", "delta", ("process",), "i32", "process", "CPU time of the process (user + system)"),
    "process_threads": Metric(71, "process_threads", "1", "gauge", ("process",), "i32", "process", "Threads"),
    "go_gc_cycles": Metric(72, "go_gc_cycles", "1", "delta", ("process",), "i16", "go_runtime", "GC cycles that ended in the tick"),
    "go_gc_active_us": Metric(73, "go_gc_active_us", "us", "delta", ("process",), "i32", "go_runtime", "Wall time of the tick in which a GC cycle was running"),
    "go_gc_pause_us": Metric(74, "go_gc_pause_us", "us", "delta", ("process",), "i32", "go_runtime", "Stop-the-world time in the tick"),
    "go_heap_live_bytes": Metric(75, "go_heap_live_bytes", "bytes", "gauge", ("process",), "f64", "go_runtime", "Heap in use after the last GC, where /metrics tells"),
    "go_heap_goal_bytes": Metric(76, "go_heap_goal_bytes", "bytes", "gauge", ("process",), "f64", "go_runtime", "Heap size that starts the next GC, where /metrics tells"),
    "dns_queries": Metric(80, "dns_queries", "1", "delta", ("dns_server", "dns_path",), "i32", "dns_capture", "Queries seen"),
    "dns_answers": Metric(81, "dns_answers", "1", "delta", ("dns_server", "dns_path",), "i32", "dns_capture", "Answers seen"),
    "dns_nxdomain": Metric(82, "dns_nxdomain", "1", "delta", ("dns_server", "dns_path",), "i32", "dns_capture", "Answers NXDOMAIN"),
    "dns_servfail": Metric(83, "dns_servfail", "1", "delta", ("dns_server", "dns_path",), "i32", "dns_capture", "Answers SERVFAIL"),
    "dns_refused": Metric(84, "dns_refused", "1", "delta", ("dns_server", "dns_path",), "i32", "dns_capture", "Answers REFUSED"),
    "dns_timeouts": Metric(85, "dns_timeouts", "1", "delta", ("dns_server", "dns_path",), "i32", "dns_capture", "Queries given up after 5 s without an answer"),
    "dns_slow": Metric(86, "dns_slow", "1", "delta", ("dns_server", "dns_path",), "i32", "dns_capture", "Answers later than 20 ms"),
    "dns_latency_us": Metric(87, "dns_latency_us", "us", "distribution", ("dns_server", "dns_path",), "distribution", "dns_capture", "Query seen to answer seen"),
    "dns_latency_max_us": Metric(88, "dns_latency_max_us", "us", "gauge", ("dns_server",), "i32", "dns_capture", "Slowest answer of the tick; missing where there was none"),
    "dns_inflight": Metric(89, "dns_inflight", "1", "gauge", ("dns_server",), "i32", "dns_capture", "Queries without an answer yet at the end of the tick"),
    "dns_queue_wait_us": Metric(90, "dns_queue_wait_us", "us", "distribution", ("dns_server",), "distribution", "dns_path_split", "Packet in the socket's receive queue until the server read it"),
    "dns_work_us": Metric(91, "dns_work_us", "us", "distribution", ("dns_server",), "distribution", "dns_path_split", "Query read until its answer was sent"),
    "dns_socket_drops": Metric(92, "dns_socket_drops", "1", "delta", ("dns_server",), "i32", "udp_socket", "Datagrams dropped because the receive buffer was full"),
    "dns_receive_queue_bytes": Metric(93, "dns_receive_queue_bytes", "bytes", "gauge", ("dns_server",), "i32", "udp_socket", "Bytes waiting in the receive buffer"),
    "probe_latency_us": Metric(95, "probe_latency_us", "us", "distribution", ("probe",), "distribution", "dns_probe", "Time to answer, as a client sees it"),
    "probe_sent": Metric(96, "probe_sent", "1", "delta", ("probe",), "i16", "dns_probe", "Probes sent"),
    "probe_failures": Metric(97, "probe_failures", "1", "delta", ("probe",), "i16", "dns_probe", "Probes without a usable answer in time"),
}

BY_ID: Final[dict[int, Metric]] = {metric.id: metric for metric in METRICS.values()}

FACTS: Final[dict[str, Name]] = {
    "node.hostname": Name("node.hostname", "node", "Host name"),
    "node.kernel": Name("node.kernel", "node", "uname -r"),
    "node.os": Name("node.os", "node", "PRETTY_NAME of os-release"),
    "node.cpus": Name("node.cpus", "node", "Online CPUs"),
    "node.memory_bytes": Name("node.memory_bytes", "node", "MemTotal"),
    "node.cgroup_version": Name("node.cgroup_version", "node", "1 or 2"),
    "cpu.quota_us": Name("cpu.quota_us", "cgroup", "CPU time per period; -1: no limit"),
    "cpu.period_us": Name("cpu.period_us", "cgroup", "Length of a CFS period"),
    "cpu.burst_us": Name("cpu.burst_us", "cgroup", "CFS burst; absent where the kernel has none (before Linux 5.14)"),
    "cpu.parent_quota_us": Name("cpu.parent_quota_us", "cgroup", "Tightest quota of an ancestor in us per its period, scaled to this cgroup's period; -1: none"),
    "memory.limit_bytes": Name("memory.limit_bytes", "cgroup", "-1: no limit"),
    "workload.manager": Name("workload.manager", "cgroup", "kubernetes, docker, containerd, systemd or none"),
    "workload.namespace": Name("workload.namespace", "cgroup", "Kubernetes namespace"),
    "workload.pod": Name("workload.pod", "cgroup", "Pod name"),
    "workload.container": Name("workload.container", "cgroup", "Container or systemd unit name"),
    "workload.owner": Name("workload.owner", "cgroup", "KIND/NAME of the controller that manages the pod"),
    "workload.image": Name("workload.image", "cgroup", "Image reference"),
    "process.command": Name("process.command", "process", "comm"),
    "process.executable": Name("process.executable", "process", "Base name of the executable"),
    "process.affinity_cpus": Name("process.affinity_cpus", "process", "CPUs the process may run on"),
    "go.version": Name("go.version", "process", "Go release it was built with, 1.23.4"),
    "go.main_module": Name("go.main_module", "process", "PATH@VERSION of the main module"),
    "go.env.GOMAXPROCS": Name("go.env.GOMAXPROCS", "process", "From the environment; absent: unset"),
    "go.env.GOGC": Name("go.env.GOGC", "process", "From the environment; absent: unset"),
    "go.env.GOMEMLIMIT": Name("go.env.GOMEMLIMIT", "process", "From the environment; absent: unset"),
    "go.env.GODEBUG": Name("go.env.GODEBUG", "process", "From the environment; absent: unset"),
    "go.default_godebug": Name("go.default_godebug", "process", "DefaultGODEBUG build setting"),
    "go.automaxprocs": Name("go.automaxprocs", "process", "Version of go.uber.org/automaxprocs in the build; absent: not used"),
    "go.gc_source": Name("go.gc_source", "process", "uprobe, metrics or threads: where GC data of this process come from"),
    "go.gomaxprocs": Name("go.gomaxprocs", "process", "Value in effect, where it can be read from the process"),
    "dns.software": Name("dns.software", "dns_server", "coredns, dnsmasq, unbound, named, …"),
    "dns.version": Name("dns.version", "dns_server", "From build info or version.bind"),
    "dns.udp_sockets": Name("dns.udp_sockets", "dns_server", "UDP sockets bound to the address (more than one: SO_REUSEPORT)"),
    "dns.corefile": Name("dns.corefile", "dns_server", "Corefile of a CoreDNS, secrets removed"),
    "dns.path_split": Name("dns.path_split", "dns_server", "available, or why it is not"),
}

EVENTS: Final[dict[str, Name]] = {
    "go.gc_cycle": Name("go.gc_cycle", "process", "One GC cycle, start to end of mark termination. attributes: source (uprobe|metrics|threads), pause_us"),
    "process.start": Name("process.start", "process", "A watched process appeared"),
    "process.exit": Name("process.exit", "process", "A watched process ended"),
    "memory.oom_kill": Name("memory.oom_kill", "cgroup", "The OOM killer ended a process. attributes: count"),
    "collector.start": Name("collector.start", "node", "The collector started. attributes: version"),
    "collector.shed": Name("collector.shed", "node", "The collector lowered its resolution to stay in budget. attributes: from, to, why"),
}
