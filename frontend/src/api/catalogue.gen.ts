// Generated from contracts/metrics.toml by scripts/gen_contracts.py. Do not edit.

export type MetricKind = 'delta' | 'gauge' | 'distribution'

export interface Metric {
  readonly id: number
  readonly unit: string
  readonly kind: MetricKind
  readonly resources: readonly string[]
  readonly source: string
  readonly meaning: string
}

export interface Name {
  readonly resource: string
  readonly meaning: string
}

export const METRICS = {
  cpu_usage_us: { id: 1, unit: "us", kind: "delta", resources: ["cgroup"], source: "cgroup_cpu", meaning: "CPU time used in the tick, all CPUs together" },
  cpu_user_us: { id: 2, unit: "us", kind: "delta", resources: ["cgroup"], source: "cgroup_cpu", meaning: "CPU time used in user mode" },
  cpu_system_us: { id: 3, unit: "us", kind: "delta", resources: ["cgroup"], source: "cgroup_cpu", meaning: "CPU time used in kernel mode" },
  cpu_periods: { id: 4, unit: "1", kind: "delta", resources: ["cgroup"], source: "cgroup_cpu", meaning: "CFS bandwidth periods that ended in the tick (nr_periods)" },
  cpu_throttled_periods: { id: 5, unit: "1", kind: "delta", resources: ["cgroup"], source: "cgroup_cpu", meaning: "Periods that ended throttled in the tick (nr_throttled)" },
  cpu_throttled_us: { id: 6, unit: "us", kind: "delta", resources: ["cgroup"], source: "cgroup_cpu", meaning: "Throttled time credited in the tick, summed over run queues, credited when a queue is unthrottled" },
  cpu_bursts: { id: 7, unit: "1", kind: "delta", resources: ["cgroup"], source: "cgroup_cpu", meaning: "Periods that used burst (nr_bursts)" },
  cpu_burst_us: { id: 8, unit: "us", kind: "delta", resources: ["cgroup"], source: "cgroup_cpu", meaning: "CPU time above the quota taken from burst" },
  cpu_throttled_local_us: { id: 9, unit: "us", kind: "delta", resources: ["cgroup"], source: "cgroup_cpu", meaning: "cpu.stat.local: throttled time including ancestors' limits" },
  memory_usage_bytes: { id: 20, unit: "bytes", kind: "gauge", resources: ["cgroup"], source: "cgroup_memory", meaning: "Memory charged to the cgroup" },
  memory_anon_bytes: { id: 21, unit: "bytes", kind: "gauge", resources: ["cgroup"], source: "cgroup_memory", meaning: "Anonymous memory (v1: rss)" },
  memory_file_bytes: { id: 22, unit: "bytes", kind: "gauge", resources: ["cgroup"], source: "cgroup_memory", meaning: "Page cache (v1: cache)" },
  memory_limit_hits: { id: 23, unit: "1", kind: "delta", resources: ["cgroup"], source: "cgroup_memory", meaning: "Allocations that hit the limit (v1: failcnt, v2: memory.events max)" },
  memory_oom_kills: { id: 24, unit: "1", kind: "delta", resources: ["cgroup"], source: "cgroup_memory", meaning: "Processes killed by the OOM killer" },
  memory_major_faults: { id: 25, unit: "1", kind: "delta", resources: ["cgroup"], source: "cgroup_memory", meaning: "Major page faults" },
  pids_current: { id: 30, unit: "1", kind: "gauge", resources: ["cgroup"], source: "cgroup_pids", meaning: "Tasks in the cgroup" },
  psi_cpu_some_us: { id: 40, unit: "us", kind: "delta", resources: ["node", "cgroup"], source: "psi", meaning: "Time some task waited for a CPU" },
  psi_cpu_full_us: { id: 41, unit: "us", kind: "delta", resources: ["node", "cgroup"], source: "psi", meaning: "Time all tasks waited for a CPU" },
  psi_memory_some_us: { id: 42, unit: "us", kind: "delta", resources: ["node", "cgroup"], source: "psi", meaning: "Time some task waited for memory" },
  psi_memory_full_us: { id: 43, unit: "us", kind: "delta", resources: ["node", "cgroup"], source: "psi", meaning: "Time all tasks waited for memory" },
  psi_io_some_us: { id: 44, unit: "us", kind: "delta", resources: ["node", "cgroup"], source: "psi", meaning: "Time some task waited for I/O" },
  psi_io_full_us: { id: 45, unit: "us", kind: "delta", resources: ["node", "cgroup"], source: "psi", meaning: "Time all tasks waited for I/O" },
  host_user_us: { id: 50, unit: "us", kind: "delta", resources: ["node"], source: "host_cpu", meaning: "user + nice" },
  host_system_us: { id: 51, unit: "us", kind: "delta", resources: ["node"], source: "host_cpu", meaning: "system" },
  host_irq_us: { id: 52, unit: "us", kind: "delta", resources: ["node"], source: "host_cpu", meaning: "irq + softirq" },
  host_idle_us: { id: 53, unit: "us", kind: "delta", resources: ["node"], source: "host_cpu", meaning: "idle" },
  host_iowait_us: { id: 54, unit: "us", kind: "delta", resources: ["node"], source: "host_cpu", meaning: "iowait" },
  host_steal_us: { id: 55, unit: "us", kind: "delta", resources: ["node"], source: "host_cpu", meaning: "stolen by the hypervisor" },
  host_runnable: { id: 56, unit: "1", kind: "gauge", resources: ["node"], source: "host_cpu", meaning: "procs_running" },
  collector_lateness_us: { id: 60, unit: "us", kind: "gauge", resources: ["node"], source: "self", meaning: "How long after its deadline the tick was sampled" },
  collector_cpu_us: { id: 61, unit: "us", kind: "delta", resources: ["node"], source: "self", meaning: "CPU time of the collector" },
  collector_rss_bytes: { id: 62, unit: "bytes", kind: "gauge", resources: ["node"], source: "self", meaning: "Resident memory of the collector" },
  collector_tick: { id: 63, unit: "1", kind: "gauge", resources: ["node"], source: "self", meaning: "Low 31 bits of start_us / 100000 of the tick: proves that each tick is stored once" },
  process_cpu_us: { id: 70, unit: "us", kind: "delta", resources: ["process"], source: "process", meaning: "CPU time of the process (user + system)" },
  process_threads: { id: 71, unit: "1", kind: "gauge", resources: ["process"], source: "process", meaning: "Threads" },
  go_gc_cycles: { id: 72, unit: "1", kind: "delta", resources: ["process"], source: "go_runtime", meaning: "GC cycles that ended in the tick" },
  go_gc_active_us: { id: 73, unit: "us", kind: "delta", resources: ["process"], source: "go_runtime", meaning: "Wall time of the tick in which a GC cycle was running" },
  go_gc_pause_us: { id: 74, unit: "us", kind: "delta", resources: ["process"], source: "go_runtime", meaning: "Stop-the-world time in the tick" },
  go_heap_live_bytes: { id: 75, unit: "bytes", kind: "gauge", resources: ["process"], source: "go_runtime", meaning: "Heap in use after the last GC, where /metrics tells" },
  go_heap_goal_bytes: { id: 76, unit: "bytes", kind: "gauge", resources: ["process"], source: "go_runtime", meaning: "Heap size that starts the next GC, where /metrics tells" },
  dns_queries: { id: 80, unit: "1", kind: "delta", resources: ["dns_server", "dns_path"], source: "dns_capture", meaning: "Queries seen" },
  dns_answers: { id: 81, unit: "1", kind: "delta", resources: ["dns_server", "dns_path"], source: "dns_capture", meaning: "Answers seen" },
  dns_nxdomain: { id: 82, unit: "1", kind: "delta", resources: ["dns_server", "dns_path"], source: "dns_capture", meaning: "Answers NXDOMAIN" },
  dns_servfail: { id: 83, unit: "1", kind: "delta", resources: ["dns_server", "dns_path"], source: "dns_capture", meaning: "Answers SERVFAIL" },
  dns_refused: { id: 84, unit: "1", kind: "delta", resources: ["dns_server", "dns_path"], source: "dns_capture", meaning: "Answers REFUSED" },
  dns_timeouts: { id: 85, unit: "1", kind: "delta", resources: ["dns_server", "dns_path"], source: "dns_capture", meaning: "Queries given up after 5 s without an answer" },
  dns_slow: { id: 86, unit: "1", kind: "delta", resources: ["dns_server", "dns_path"], source: "dns_capture", meaning: "Answers later than 20 ms" },
  dns_latency_us: { id: 87, unit: "us", kind: "distribution", resources: ["dns_server", "dns_path"], source: "dns_capture", meaning: "Query seen to answer seen" },
  dns_latency_max_us: { id: 88, unit: "us", kind: "gauge", resources: ["dns_server"], source: "dns_capture", meaning: "Slowest answer of the tick; missing where there was none" },
  dns_inflight: { id: 89, unit: "1", kind: "gauge", resources: ["dns_server"], source: "dns_capture", meaning: "Queries without an answer yet at the end of the tick" },
  dns_queue_wait_us: { id: 90, unit: "us", kind: "distribution", resources: ["dns_server"], source: "dns_path_split", meaning: "Packet in the socket's receive queue until the server read it" },
  dns_work_us: { id: 91, unit: "us", kind: "distribution", resources: ["dns_server"], source: "dns_path_split", meaning: "Query read until its answer was sent" },
  dns_socket_drops: { id: 92, unit: "1", kind: "delta", resources: ["dns_server"], source: "udp_socket", meaning: "Datagrams dropped because the receive buffer was full" },
  dns_receive_queue_bytes: { id: 93, unit: "bytes", kind: "gauge", resources: ["dns_server"], source: "udp_socket", meaning: "Bytes waiting in the receive buffer" },
  probe_latency_us: { id: 95, unit: "us", kind: "distribution", resources: ["probe"], source: "dns_probe", meaning: "Time to answer, as a client sees it" },
  probe_sent: { id: 96, unit: "1", kind: "delta", resources: ["probe"], source: "dns_probe", meaning: "Probes sent" },
  probe_failures: { id: 97, unit: "1", kind: "delta", resources: ["probe"], source: "dns_probe", meaning: "Probes without a usable answer in time" },
} as const satisfies Readonly<Record<string, Metric>>

export type MetricName = keyof typeof METRICS

export const FACTS = {
  'node.hostname': { resource: "node", meaning: "Host name" },
  'node.kernel': { resource: "node", meaning: "uname -r" },
  'node.os': { resource: "node", meaning: "PRETTY_NAME of os-release" },
  'node.cpus': { resource: "node", meaning: "Online CPUs" },
  'node.memory_bytes': { resource: "node", meaning: "MemTotal" },
  'node.cgroup_version': { resource: "node", meaning: "1 or 2" },
  'cpu.quota_us': { resource: "cgroup", meaning: "CPU time per period; -1: no limit" },
  'cpu.period_us': { resource: "cgroup", meaning: "Length of a CFS period" },
  'cpu.burst_us': { resource: "cgroup", meaning: "CFS burst; absent where the kernel has none (before Linux 5.14)" },
  'cpu.parent_quota_us': { resource: "cgroup", meaning: "Tightest quota of an ancestor in us per its period, scaled to this cgroup's period; -1: none" },
  'memory.limit_bytes': { resource: "cgroup", meaning: "-1: no limit" },
  'workload.manager': { resource: "cgroup", meaning: "kubernetes, docker, containerd, systemd or none" },
  'workload.namespace': { resource: "cgroup", meaning: "Kubernetes namespace" },
  'workload.pod': { resource: "cgroup", meaning: "Pod name" },
  'workload.container': { resource: "cgroup", meaning: "Container or systemd unit name" },
  'workload.owner': { resource: "cgroup", meaning: "KIND/NAME of the controller that manages the pod" },
  'workload.image': { resource: "cgroup", meaning: "Image reference" },
  'process.command': { resource: "process", meaning: "comm" },
  'process.executable': { resource: "process", meaning: "Base name of the executable" },
  'process.affinity_cpus': { resource: "process", meaning: "CPUs the process may run on" },
  'go.version': { resource: "process", meaning: "Go release it was built with, 1.23.4" },
  'go.main_module': { resource: "process", meaning: "PATH@VERSION of the main module" },
  'go.env.GOMAXPROCS': { resource: "process", meaning: "From the environment; absent: unset" },
  'go.env.GOGC': { resource: "process", meaning: "From the environment; absent: unset" },
  'go.env.GOMEMLIMIT': { resource: "process", meaning: "From the environment; absent: unset" },
  'go.env.GODEBUG': { resource: "process", meaning: "From the environment; absent: unset" },
  'go.default_godebug': { resource: "process", meaning: "DefaultGODEBUG build setting" },
  'go.automaxprocs': { resource: "process", meaning: "Version of go.uber.org/automaxprocs in the build; absent: not used" },
  'go.gc_source': { resource: "process", meaning: "uprobe, metrics or threads: where GC data of this process come from" },
  'go.gomaxprocs': { resource: "process", meaning: "Value in effect, where it can be read from the process" },
  'dns.software': { resource: "dns_server", meaning: "coredns, dnsmasq, unbound, named, …" },
  'dns.version': { resource: "dns_server", meaning: "From build info or version.bind" },
  'dns.udp_sockets': { resource: "dns_server", meaning: "UDP sockets bound to the address (more than one: SO_REUSEPORT)" },
  'dns.corefile': { resource: "dns_server", meaning: "Corefile of a CoreDNS, secrets removed" },
  'dns.path_split': { resource: "dns_server", meaning: "available, or why it is not" },
} as const satisfies Readonly<Record<string, Name>>

export const EVENTS = {
  'go.gc_cycle': { resource: "process", meaning: "One GC cycle, start to end of mark termination. attributes: source (uprobe|metrics|threads), pause_us" },
  'process.start': { resource: "process", meaning: "A watched process appeared" },
  'process.exit': { resource: "process", meaning: "A watched process ended" },
  'memory.oom_kill': { resource: "cgroup", meaning: "The OOM killer ended a process. attributes: count" },
  'collector.start': { resource: "node", meaning: "The collector started. attributes: version" },
  'collector.shed': { resource: "node", meaning: "The collector lowered its resolution to stay in budget. attributes: from, to, why" },
} as const satisfies Readonly<Record<string, Name>>
