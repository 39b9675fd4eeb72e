// Code generated from contracts/metrics.toml by scripts/gen_contracts.py. DO NOT EDIT.

// Package catalogue has the wire ids of metrics and the names of facts and events.
package catalogue

// Kind says how a value relates to its tick.
type Kind uint8

const (
	Delta Kind = iota + 1
	Gauge
	Distribution
)

// Encoding is the usual wire width; the numbers are those of ingest.v1.Encoding.
type Encoding uint8

const (
	Unspecified Encoding = iota
	F64
	I32
	I16
)

// Metric describes one metric of the catalogue.
type Metric struct {
	ID       uint32
	Name     string
	Unit     string
	Kind     Kind
	Encoding Encoding
	Source   string
	Meaning  string
}

// Metric ids.
const (
	CPUUsageUS           uint32 = 1  // CPU time used in the tick, all CPUs together
	CPUUserUS            uint32 = 2  // CPU time used in user mode
	CPUSystemUS          uint32 = 3  // CPU time used in kernel mode
	CPUPeriods           uint32 = 4  // CFS bandwidth periods that ended in the tick (nr_periods)
	CPUThrottledPeriods  uint32 = 5  // Periods that ended throttled in the tick (nr_throttled)
	CPUThrottledUS       uint32 = 6  // Throttled time credited in the tick, summed over run queues, credited when a queue is unthrottled
	CPUBursts            uint32 = 7  // Periods that used burst (nr_bursts)
	CPUBurstUS           uint32 = 8  // CPU time above the quota taken from burst
	CPUThrottledLocalUS  uint32 = 9  // cpu.stat.local: throttled time including ancestors' limits
	MemoryUsageBytes     uint32 = 20 // Memory charged to the cgroup
	MemoryAnonBytes      uint32 = 21 // Anonymous memory (v1: rss)
	MemoryFileBytes      uint32 = 22 // Page cache (v1: cache)
	MemoryLimitHits      uint32 = 23 // Allocations that hit the limit (v1: failcnt, v2: memory.events max)
	MemoryOOMKills       uint32 = 24 // Processes killed by the OOM killer
	MemoryMajorFaults    uint32 = 25 // Major page faults
	PidsCurrent          uint32 = 30 // Tasks in the cgroup
	PSICPUSomeUS         uint32 = 40 // Time some task waited for a CPU
	PSICPUFullUS         uint32 = 41 // Time all tasks waited for a CPU
	PSIMemorySomeUS      uint32 = 42 // Time some task waited for memory
	PSIMemoryFullUS      uint32 = 43 // Time all tasks waited for memory
	PSIIOSomeUS          uint32 = 44 // Time some task waited for I/O
	PSIIOFullUS          uint32 = 45 // Time all tasks waited for I/O
	HostUserUS           uint32 = 50 // user + nice
	HostSystemUS         uint32 = 51 // system
	HostIRQUS            uint32 = 52 // irq + softirq
	HostIdleUS           uint32 = 53 // idle
	HostIowaitUS         uint32 = 54 // iowait
	HostStealUS          uint32 = 55 // stolen by the hypervisor
	HostRunnable         uint32 = 56 // procs_running
	CollectorLatenessUS  uint32 = 60 // How long after its deadline the tick was sampled
	CollectorCPUUS       uint32 = 61 // CPU time of the collector
	CollectorRSSBytes    uint32 = 62 // Resident memory of the collector
	CollectorTick        uint32 = 63 // Low 31 bits of start_us / 100000 of the tick: proves that each tick is stored once
	ProcessCPUUS         uint32 = 70 // CPU time of the process (user + system)
	ProcessThreads       uint32 = 71 // Threads
	GoGCCycles           uint32 = 72 // GC cycles that ended in the tick
	GoGCActiveUS         uint32 = 73 // Wall time of the tick in which a GC cycle was running
	GoGCPauseUS          uint32 = 74 // Stop-the-world time in the tick
	GoHeapLiveBytes      uint32 = 75 // Heap in use after the last GC, where /metrics tells
	GoHeapGoalBytes      uint32 = 76 // Heap size that starts the next GC, where /metrics tells
	DNSQueries           uint32 = 80 // Queries seen
	DNSAnswers           uint32 = 81 // Answers seen
	DNSNxdomain          uint32 = 82 // Answers NXDOMAIN
	DNSServfail          uint32 = 83 // Answers SERVFAIL
	DNSRefused           uint32 = 84 // Answers REFUSED
	DNSTimeouts          uint32 = 85 // Queries given up after 5 s without an answer
	DNSSlow              uint32 = 86 // Answers later than 20 ms
	DNSLatencyUS         uint32 = 87 // Query seen to answer seen
	DNSLatencyMaxUS      uint32 = 88 // Slowest answer of the tick; missing where there was none
	DNSInflight          uint32 = 89 // Queries without an answer yet at the end of the tick
	DNSQueueWaitUS       uint32 = 90 // Packet in the socket's receive queue until the server read it
	DNSWorkUS            uint32 = 91 // Query read until its answer was sent
	DNSSocketDrops       uint32 = 92 // Datagrams dropped because the receive buffer was full
	DNSReceiveQueueBytes uint32 = 93 // Bytes waiting in the receive buffer
	ProbeLatencyUS       uint32 = 95 // Time to answer, as a client sees it
	ProbeSent            uint32 = 96 // Probes sent
	ProbeFailures        uint32 = 97 // Probes without a usable answer in time
)

// Names of facts.
const (
	FactNodeHostname        = "node.hostname"         // Host name
	FactNodeKernel          = "node.kernel"           // uname -r
	FactNodeOS              = "node.os"               // PRETTY_NAME of os-release
	FactNodeCpus            = "node.cpus"             // Online CPUs
	FactNodeMemoryBytes     = "node.memory_bytes"     // MemTotal
	FactNodeCgroupVersion   = "node.cgroup_version"   // 1 or 2
	FactCPUQuotaUS          = "cpu.quota_us"          // CPU time per period; -1: no limit
	FactCPUPeriodUS         = "cpu.period_us"         // Length of a CFS period
	FactCPUBurstUS          = "cpu.burst_us"          // CFS burst; absent where the kernel has none (before Linux 5.14)
	FactCPUParentQuotaUS    = "cpu.parent_quota_us"   // Tightest quota of an ancestor in us per its period, scaled to this cgroup's period; -1: none
	FactMemoryLimitBytes    = "memory.limit_bytes"    // -1: no limit
	FactWorkloadManager     = "workload.manager"      // kubernetes, docker, containerd, systemd or none
	FactWorkloadNamespace   = "workload.namespace"    // Kubernetes namespace
	FactWorkloadPod         = "workload.pod"          // Pod name
	FactWorkloadContainer   = "workload.container"    // Container or systemd unit name
	FactWorkloadOwner       = "workload.owner"        // KIND/NAME of the controller that manages the pod
	FactWorkloadImage       = "workload.image"        // Image reference
	FactProcessCommand      = "process.command"       // comm
	FactProcessExecutable   = "process.executable"    // Base name of the executable
	FactProcessAffinityCpus = "process.affinity_cpus" // CPUs the process may run on
	FactGoVersion           = "go.version"            // Go release it was built with, 1.23.4
	FactGoMainModule        = "go.main_module"        // PATH@VERSION of the main module
	FactGoEnvGOMAXPROCS     = "go.env.GOMAXPROCS"     // From the environment; absent: unset
	FactGoEnvGOGC           = "go.env.GOGC"           // From the environment; absent: unset
	FactGoEnvGOMEMLIMIT     = "go.env.GOMEMLIMIT"     // From the environment; absent: unset
	FactGoEnvGODEBUG        = "go.env.GODEBUG"        // From the environment; absent: unset
	FactGoDefaultGodebug    = "go.default_godebug"    // DefaultGODEBUG build setting
	FactGoAutomaxprocs      = "go.automaxprocs"       // Version of go.uber.org/automaxprocs in the build; absent: not used
	FactGoGCSource          = "go.gc_source"          // uprobe, metrics or threads: where GC data of this process come from
	FactGoGomaxprocs        = "go.gomaxprocs"         // Value in effect, where it can be read from the process
	FactDNSSoftware         = "dns.software"          // coredns, dnsmasq, unbound, named, …
	FactDNSVersion          = "dns.version"           // From build info or version.bind
	FactDNSUDPSockets       = "dns.udp_sockets"       // UDP sockets bound to the address (more than one: SO_REUSEPORT)
	FactDNSCorefile         = "dns.corefile"          // Corefile of a CoreDNS, secrets removed
	FactDNSPathSplit        = "dns.path_split"        // available, or why it is not
)

// Names of events.
const (
	EventGoGCCycle      = "go.gc_cycle"     // One GC cycle, start to end of mark termination. attributes: source (uprobe|metrics|threads), pause_us
	EventProcessStart   = "process.start"   // A watched process appeared
	EventProcessExit    = "process.exit"    // A watched process ended
	EventMemoryOOMKill  = "memory.oom_kill" // The OOM killer ended a process. attributes: count
	EventCollectorStart = "collector.start" // The collector started. attributes: version
	EventCollectorShed  = "collector.shed"  // The collector lowered its resolution to stay in budget. attributes: from, to, why
)

// All has every metric, by id.
var All = map[uint32]Metric{
	CPUUsageUS:           {CPUUsageUS, "cpu_usage_us", "us", Delta, I32, "cgroup_cpu", "CPU time used in the tick, all CPUs together"},
	CPUUserUS:            {CPUUserUS, "cpu_user_us", "us", Delta, I32, "cgroup_cpu", "CPU time used in user mode"},
	CPUSystemUS:          {CPUSystemUS, "cpu_system_us", "us", Delta, I32, "cgroup_cpu", "CPU time used in kernel mode"},
	CPUPeriods:           {CPUPeriods, "cpu_periods", "1", Delta, I16, "cgroup_cpu", "CFS bandwidth periods that ended in the tick (nr_periods)"},
	CPUThrottledPeriods:  {CPUThrottledPeriods, "cpu_throttled_periods", "1", Delta, I16, "cgroup_cpu", "Periods that ended throttled in the tick (nr_throttled)"},
	CPUThrottledUS:       {CPUThrottledUS, "cpu_throttled_us", "us", Delta, I32, "cgroup_cpu", "Throttled time credited in the tick, summed over run queues, credited when a queue is unthrottled"},
	CPUBursts:            {CPUBursts, "cpu_bursts", "1", Delta, I16, "cgroup_cpu", "Periods that used burst (nr_bursts)"},
	CPUBurstUS:           {CPUBurstUS, "cpu_burst_us", "us", Delta, I32, "cgroup_cpu", "CPU time above the quota taken from burst"},
	CPUThrottledLocalUS:  {CPUThrottledLocalUS, "cpu_throttled_local_us", "us", Delta, I32, "cgroup_cpu", "cpu.stat.local: throttled time including ancestors' limits"},
	MemoryUsageBytes:     {MemoryUsageBytes, "memory_usage_bytes", "bytes", Gauge, F64, "cgroup_memory", "Memory charged to the cgroup"},
	MemoryAnonBytes:      {MemoryAnonBytes, "memory_anon_bytes", "bytes", Gauge, F64, "cgroup_memory", "Anonymous memory (v1: rss)"},
	MemoryFileBytes:      {MemoryFileBytes, "memory_file_bytes", "bytes", Gauge, F64, "cgroup_memory", "Page cache (v1: cache)"},
	MemoryLimitHits:      {MemoryLimitHits, "memory_limit_hits", "1", Delta, I32, "cgroup_memory", "Allocations that hit the limit (v1: failcnt, v2: memory.events max)"},
	MemoryOOMKills:       {MemoryOOMKills, "memory_oom_kills", "1", Delta, I16, "cgroup_memory", "Processes killed by the OOM killer"},
	MemoryMajorFaults:    {MemoryMajorFaults, "memory_major_faults", "1", Delta, I32, "cgroup_memory", "Major page faults"},
	PidsCurrent:          {PidsCurrent, "pids_current", "1", Gauge, I32, "cgroup_pids", "Tasks in the cgroup"},
	PSICPUSomeUS:         {PSICPUSomeUS, "psi_cpu_some_us", "us", Delta, I32, "psi", "Time some task waited for a CPU"},
	PSICPUFullUS:         {PSICPUFullUS, "psi_cpu_full_us", "us", Delta, I32, "psi", "Time all tasks waited for a CPU"},
	PSIMemorySomeUS:      {PSIMemorySomeUS, "psi_memory_some_us", "us", Delta, I32, "psi", "Time some task waited for memory"},
	PSIMemoryFullUS:      {PSIMemoryFullUS, "psi_memory_full_us", "us", Delta, I32, "psi", "Time all tasks waited for memory"},
	PSIIOSomeUS:          {PSIIOSomeUS, "psi_io_some_us", "us", Delta, I32, "psi", "Time some task waited for I/O"},
	PSIIOFullUS:          {PSIIOFullUS, "psi_io_full_us", "us", Delta, I32, "psi", "Time all tasks waited for I/O"},
	HostUserUS:           {HostUserUS, "host_user_us", "us", Delta, I32, "host_cpu", "user + nice"},
	HostSystemUS:         {HostSystemUS, "host_system_us", "us", Delta, I32, "host_cpu", "system"},
	HostIRQUS:            {HostIRQUS, "host_irq_us", "us", Delta, I32, "host_cpu", "irq + softirq"},
	HostIdleUS:           {HostIdleUS, "host_idle_us", "us", Delta, I32, "host_cpu", "idle"},
	HostIowaitUS:         {HostIowaitUS, "host_iowait_us", "us", Delta, I32, "host_cpu", "iowait"},
	HostStealUS:          {HostStealUS, "host_steal_us", "us", Delta, I32, "host_cpu", "stolen by the hypervisor"},
	HostRunnable:         {HostRunnable, "host_runnable", "1", Gauge, I16, "host_cpu", "procs_running"},
	CollectorLatenessUS:  {CollectorLatenessUS, "collector_lateness_us", "us", Gauge, I32, "self", "How long after its deadline the tick was sampled"},
	CollectorCPUUS:       {CollectorCPUUS, "collector_cpu_us", "us", Delta, I32, "self", "CPU time of the collector"},
	CollectorRSSBytes:    {CollectorRSSBytes, "collector_rss_bytes", "bytes", Gauge, F64, "self", "Resident memory of the collector"},
	CollectorTick:        {CollectorTick, "collector_tick", "1", Gauge, I32, "self", "Low 31 bits of start_us / 100000 of the tick: proves that each tick is stored once"},
	ProcessCPUUS:         {ProcessCPUUS, "process_cpu_us", "us", Delta, I32, "process", "CPU time of the process (user + system)"},
	ProcessThreads:       {ProcessThreads, "process_threads", "1", Gauge, I32, "process", "Threads"},
	GoGCCycles:           {GoGCCycles, "go_gc_cycles", "1", Delta, I16, "go_runtime", "GC cycles that ended in the tick"},
	GoGCActiveUS:         {GoGCActiveUS, "go_gc_active_us", "us", Delta, I32, "go_runtime", "Wall time of the tick in which a GC cycle was running"},
	GoGCPauseUS:          {GoGCPauseUS, "go_gc_pause_us", "us", Delta, I32, "go_runtime", "Stop-the-world time in the tick"},
	GoHeapLiveBytes:      {GoHeapLiveBytes, "go_heap_live_bytes", "bytes", Gauge, F64, "go_runtime", "Heap in use after the last GC, where /metrics tells"},
	GoHeapGoalBytes:      {GoHeapGoalBytes, "go_heap_goal_bytes", "bytes", Gauge, F64, "go_runtime", "Heap size that starts the next GC, where /metrics tells"},
	DNSQueries:           {DNSQueries, "dns_queries", "1", Delta, I32, "dns_capture", "Queries seen"},
	DNSAnswers:           {DNSAnswers, "dns_answers", "1", Delta, I32, "dns_capture", "Answers seen"},
	DNSNxdomain:          {DNSNxdomain, "dns_nxdomain", "1", Delta, I32, "dns_capture", "Answers NXDOMAIN"},
	DNSServfail:          {DNSServfail, "dns_servfail", "1", Delta, I32, "dns_capture", "Answers SERVFAIL"},
	DNSRefused:           {DNSRefused, "dns_refused", "1", Delta, I32, "dns_capture", "Answers REFUSED"},
	DNSTimeouts:          {DNSTimeouts, "dns_timeouts", "1", Delta, I32, "dns_capture", "Queries given up after 5 s without an answer"},
	DNSSlow:              {DNSSlow, "dns_slow", "1", Delta, I32, "dns_capture", "Answers later than 20 ms"},
	DNSLatencyUS:         {DNSLatencyUS, "dns_latency_us", "us", Distribution, Unspecified, "dns_capture", "Query seen to answer seen"},
	DNSLatencyMaxUS:      {DNSLatencyMaxUS, "dns_latency_max_us", "us", Gauge, I32, "dns_capture", "Slowest answer of the tick; missing where there was none"},
	DNSInflight:          {DNSInflight, "dns_inflight", "1", Gauge, I32, "dns_capture", "Queries without an answer yet at the end of the tick"},
	DNSQueueWaitUS:       {DNSQueueWaitUS, "dns_queue_wait_us", "us", Distribution, Unspecified, "dns_path_split", "Packet in the socket's receive queue until the server read it"},
	DNSWorkUS:            {DNSWorkUS, "dns_work_us", "us", Distribution, Unspecified, "dns_path_split", "Query read until its answer was sent"},
	DNSSocketDrops:       {DNSSocketDrops, "dns_socket_drops", "1", Delta, I32, "udp_socket", "Datagrams dropped because the receive buffer was full"},
	DNSReceiveQueueBytes: {DNSReceiveQueueBytes, "dns_receive_queue_bytes", "bytes", Gauge, I32, "udp_socket", "Bytes waiting in the receive buffer"},
	ProbeLatencyUS:       {ProbeLatencyUS, "probe_latency_us", "us", Distribution, Unspecified, "dns_probe", "Time to answer, as a client sees it"},
	ProbeSent:            {ProbeSent, "probe_sent", "1", Delta, I16, "dns_probe", "Probes sent"},
	ProbeFailures:        {ProbeFailures, "probe_failures", "1", Delta, I16, "dns_probe", "Probes without a usable answer in time"},
}
