// Code generated from contracts/metrics.toml by scripts/gen_contracts.py. DO NOT EDIT.

// Package catalogue has the wire ids of metrics and the names of facts and events.
package catalogue

// Thresholds that all programs share.
const (
	SlowUS       = 20_000    // An answer that takes longer is slow, µs
	DNSGivenUpUS = 5_000_000 // A DNS query without an answer for this long has timed out, µs
)

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
	CPUUsageUS                  uint32 = 1   // CPU time used in the tick, summed over all CPUs
	CPUUserUS                   uint32 = 2   // CPU time used in user mode
	CPUSystemUS                 uint32 = 3   // CPU time used in kernel mode
	CPUPeriods                  uint32 = 4   // CFS bandwidth periods that ended in the tick (nr_periods)
	CPUThrottledPeriods         uint32 = 5   // Periods that ended throttled in the tick (nr_throttled)
	CPUThrottledUS              uint32 = 6   // Throttled time credited in the tick, summed over run queues; a queue is credited when it is unthrottled
	CPUBursts                   uint32 = 7   // Periods that used burst (nr_bursts)
	CPUBurstUS                  uint32 = 8   // CPU time above the quota, taken from burst
	CPUThrottledLocalUS         uint32 = 9   // cpu.stat.local: throttled time including ancestors' limits
	MemoryUsageBytes            uint32 = 20  // Memory charged to the cgroup
	MemoryAnonBytes             uint32 = 21  // Anonymous memory (v1: rss)
	MemoryFileBytes             uint32 = 22  // Page cache (v1: cache)
	MemoryLimitHits             uint32 = 23  // Allocations that hit the limit (v1: failcnt, v2: memory.events.local max)
	MemoryOOMKills              uint32 = 24  // Processes killed by the OOM killer
	MemoryMajorFaults           uint32 = 25  // Major page faults
	MemoryRefaults              uint32 = 250 // File pages read again soon after they were reclaimed (memory.stat workingset_refault_file)
	PidsCurrent                 uint32 = 30  // Tasks in the cgroup
	PSICPUSomeUS                uint32 = 40  // Time some task waited for a CPU
	PSICPUFullUS                uint32 = 41  // Time all tasks waited for a CPU
	PSIMemorySomeUS             uint32 = 42  // Time some task waited for memory
	PSIMemoryFullUS             uint32 = 43  // Time all tasks waited for memory
	PSIIOSomeUS                 uint32 = 44  // Time some task waited for I/O
	PSIIOFullUS                 uint32 = 45  // Time all tasks waited for I/O
	HostUserUS                  uint32 = 50  // user + nice
	HostSystemUS                uint32 = 51  // system
	HostIRQUS                   uint32 = 52  // irq + softirq
	HostIdleUS                  uint32 = 53  // idle
	HostIowaitUS                uint32 = 54  // iowait
	HostStealUS                 uint32 = 55  // stolen by the hypervisor
	HostRunnable                uint32 = 56  // procs_running
	CollectorLatenessUS         uint32 = 60  // How long after its deadline the CPU time of the tick was read, without the time the read itself takes
	RealtimeLatencyUS           uint32 = 255 // How long the collector's sampling thread, which has real-time priority, was due at the end of the tick or while it read CPU time, and did not run: nor could an ordinary program on that CPU. Missing without that priority (CAP_SYS_NICE)
	CollectorCPUUS              uint32 = 61  // CPU time of the collector
	CollectorRSSBytes           uint32 = 62  // Resident memory of the collector
	CollectorTick               uint32 = 63  // Low 31 bits of start_us / 100000 of the tick: proves that each tick is stored exactly once
	ProcessCPUUS                uint32 = 70  // CPU time of the process (user + system)
	ProcessThreads              uint32 = 71  // Threads
	GCCycles                    uint32 = 72  // GC cycles that ended in the tick
	GCActiveUS                  uint32 = 73  // Wall time of the tick in which a GC cycle was running
	GCPauseUS                   uint32 = 74  // Stop-the-world time in the tick
	HeapLiveBytes               uint32 = 75  // Heap in use after the last GC, where the runtime reports it
	HeapGoalBytes               uint32 = 76  // Heap size that starts the next GC, where the runtime reports it
	GCCPUUS                     uint32 = 252 // CPU time of the threads on which a JVM collects garbage, while the program is stopped and while it runs; includes the VM thread. The memory that threads of the program free themselves is not in it
	JITCPUUS                    uint32 = 253 // CPU time of the compiler threads of a JVM
	ProcessRunDelayUS           uint32 = 77  // Time threads of the process were runnable and waited for a CPU, summed over threads and counted in the tick in which the wait ended; includes time throttled by a CPU limit
	ProcessBlockedUS            uint32 = 240 // Time threads of the process were blocked in the kernel (state D), summed over threads; includes waits still in progress
	ProcessIOWaitUS             uint32 = 241 // The part of process_blocked_us in which threads waited for I/O itself; waits for a file system's lock or journal are not included
	DiskReadBytes               uint32 = 242 // Bytes the cgroup read from that disk; v1: only where a limit is set for the disk, on recent kernels, and without later kernel writeback
	DiskWrittenBytes            uint32 = 243 // Bytes the cgroup wrote to that disk, with the same limits as disk_read_bytes
	DiskReads                   uint32 = 244 // Read requests from the cgroup to that disk
	DiskWrites                  uint32 = 245 // Write requests from the cgroup to that disk
	DiskBusyUS                  uint32 = 246 // Time in which that disk had requests in flight, from all cgroups; node: the disk that was busiest in the tick
	DiskRequests                uint32 = 247 // Requests completed by the same disk
	DiskRequestUS               uint32 = 248 // Total time these requests took; a request held back by its cgroup's limit has not started yet
	DiskBytes                   uint32 = 249 // Bytes read from and written to the same disk
	DNSQueries                  uint32 = 80  // Queries seen
	DNSAnswers                  uint32 = 81  // Answers seen
	DNSNxdomain                 uint32 = 82  // NXDOMAIN answers
	DNSServfail                 uint32 = 83  // SERVFAIL answers
	DNSRefused                  uint32 = 84  // REFUSED answers
	DNSTimeouts                 uint32 = 85  // Queries that timed out after 5 s without an answer
	DNSLateServfail             uint32 = 98  // SERVFAIL answers to queries that had timed out: counted in dns_timeouts 5 s after the query, and here when the answer arrived
	DNSSlow                     uint32 = 86  // Answers that took longer than 20 ms
	DNSLatencyUS                uint32 = 87  // Time from query seen to answer seen
	DNSLatencyMaxUS             uint32 = 88  // Slowest answer in the tick; missing if there was none
	DNSInflight                 uint32 = 89  // Queries in flight at the end of the tick
	DNSQueueWaitUS              uint32 = 90  // Time a packet spent in the socket's receive queue until the server read it
	DNSWorkUS                   uint32 = 91  // Time from the server reading a query to sending its answer
	DNSSocketDrops              uint32 = 92  // Datagrams dropped because the receive buffer was full
	DNSReceiveQueueBytes        uint32 = 93  // Bytes waiting in the receive buffer
	ProbeLatencyUS              uint32 = 95  // Time to answer as a client sees it
	ProbeSent                   uint32 = 96  // Probes sent
	ProbeFailures               uint32 = 97  // Probes without a usable answer in time
	DNSTcpConnections           uint32 = 100 // Established TCP connections from clients, accepted or not
	DNSTcpCloseWait             uint32 = 101 // Connections closed by the client but not yet by the server
	DNSTcpIdle                  uint32 = 102 // Accepted TCP connections from clients with no data for over 1 s and no query in flight
	DNSAcceptBacklog            uint32 = 103 // Connections established but not yet accepted by the server (sk_ack_backlog)
	DNSListenDrops              uint32 = 104 // Connection attempts that the listening socket dropped (sk_drops)
	DNSListenOverflows          uint32 = 105 // TcpExt ListenOverflows of the server's network namespace
	DNSUpstreamConnections      uint32 = 106 // Established TCP connections from the server's process to its upstreams
	DNSUpstreamIdle             uint32 = 107 // Upstream connections with no data for over 1 s
	ProcessChildren             uint32 = 110 // Child processes of a DNS server (dnsmasq: one per TCP connection)
	CorednsCacheHits            uint32 = 120 // Answers from the cache. This and the other coredns_ metrics: growth since the last scrape of the metrics page (1 to 15 s), in the tick of the scrape, at the address of the process that receives the most queries
	CorednsCacheMisses          uint32 = 121 // Queries not found in the cache
	CorednsForwardRequests      uint32 = 122 // Queries sent to an upstream (coredns_proxy_request_duration_seconds_count, before 1.11 coredns_forward_requests_total)
	CorednsForwardTimeUS        uint32 = 123 // Total time these queries took
	CorednsForwardErrors        uint32 = 124 // SERVFAIL answers from upstreams, failed health checks, and broken upstreams
	CorednsConnCacheHits        uint32 = 125 // Forwarded queries that reused a pooled connection
	CorednsConnCacheMisses      uint32 = 126 // Forwarded queries that opened a new connection
	CorednsMaxConcurrentRejects uint32 = 127 // Queries refused by forward's max_concurrent
	CorednsPanics               uint32 = 128 // Panics
	DnsmasqCacheHits            uint32 = 130 // Answers from dnsmasq's cache (CHAOS TXT hits.bind), every 10 s; main process only, which serves UDP: TCP is served by child processes with their own counters
	DnsmasqCacheMisses          uint32 = 131 // Queries that dnsmasq forwarded (CHAOS TXT misses.bind), as above
	Dentries                    uint32 = 140 // Dentries on the node (nr_dentry)
	DentriesUnused              uint32 = 141 // Dentries on an LRU list (nr_unused)
	DentriesNegative            uint32 = 142 // Unused negative dentries: names that do not exist (nr_negative; 0 before Linux 5.0)
	SlabDentryBytes             uint32 = 143 // Memory of the dentry slab
	SlabInodeBytes              uint32 = 144 // Memory of all inode slabs
	SlabReclaimableBytes        uint32 = 145 // SReclaimable
	SlabUnreclaimableBytes      uint32 = 146 // SUnreclaim
	MemoryAvailableBytes        uint32 = 147 // MemAvailable
	MemoryFreeBytes             uint32 = 148 // MemFree
	MemoryCachedBytes           uint32 = 149 // Cached + Buffers
	VmScanDirectPages           uint32 = 150 // Pages scanned in direct reclaim (pgscan_direct)
	VmScanKswapdPages           uint32 = 151 // Pages scanned by kswapd (pgscan_kswapd)
	VmStealDirectPages          uint32 = 152 // Pages reclaimed in direct reclaim (pgsteal_direct)
	VmStealKswapdPages          uint32 = 153 // Pages reclaimed by kswapd (pgsteal_kswapd)
	VmAllocStalls               uint32 = 154 // Direct reclaims started, all zones (allocstall_*)
	VmSlabsScanned              uint32 = 155 // Slab objects scanned (slabs_scanned)
	VmDropSlab                  uint32 = 156 // Times slab caches were dropped manually (drop_slab)
	VmCompactStalls             uint32 = 157 // Direct compactions (compact_stall)
	VmLowMarginBytes            uint32 = 158 // Free pages above the low watermark, summed over zones
	MemorySlabBytes             uint32 = 160 // Slab charged to the cgroup (v2: memory.stat slab; v1: memory.kmem.usage_in_bytes)
	MemoryReclaimScannedPages   uint32 = 161 // Pages scanned for the cgroup (v2: memory.stat pgscan)
	MemoryHighEvents            uint32 = 162 // Times memory.high was exceeded (v2)
	ProcessFds                  uint32 = 165 // Open file descriptors of a DNS server
	ProcessRSSBytes             uint32 = 166 // Resident memory of a watched process
	GoGoroutines                uint32 = 167 // Goroutines
	LookupFailures              uint32 = 170 // System calls on paths that failed with ENOENT; missing while tracing is off
	ThreadExits                 uint32 = 171 // Threads that ended
	Unmounts                    uint32 = 172 // File systems unmounted
	BpfLoads                    uint32 = 175 // eBPF programs loaded (bpf(2) BPF_PROG_LOAD that returned)
	BpfLoadUS                   uint32 = 176 // Time these calls took, including verification
	RecorderCPUUS               uint32 = 178 // CPU time of the flight recorder
	PodStartSliUS               uint32 = 180 // Pod start without image pulls and init containers (kubelet_pod_start_sli_duration_seconds)
	PodStartTotalUS             uint32 = 181 // Pod start including image pulls and init containers (kubelet_pod_start_total_duration_seconds; older: kubelet_pod_start_duration_seconds)
	PodSandboxUS                uint32 = 182 // run_podsandbox in the container runtime (kubelet_runtime_operations_duration_seconds)
	PodImagePullUS              uint32 = 183 // Image pulls (kubelet_runtime_operations_duration_seconds pull_image)
	PodContainerStartUS         uint32 = 184 // create_container and start_container
	PodCgroupUS                 uint32 = 185 // Creating a pod's cgroups (kubelet_cgroup_manager_duration_seconds create)
	PodCniUS                    uint32 = 186 // Cilium endpoint regeneration, total (cilium_endpoint_regeneration_time_stats_seconds)
	PodBpfLoadUS                uint32 = 187 // Part of endpoint regeneration: loading programs into the kernel (scope bpfLoadProg)
	PodBpfCompileUS             uint32 = 188 // Part of endpoint regeneration: compiling programs (scope bpfCompilation)
	Requests                    uint32 = 200 // Requests seen: data that arrived while the server owed no answer on the connection
	Responses                   uint32 = 201 // Answers started
	ResponsesSlow               uint32 = 202 // Answers started later than 20 ms after the request
	RequestLatencyUS            uint32 = 203 // Time from the last byte of a request arriving to the first byte of its answer being sent
	RequestLatencyMaxUS         uint32 = 204 // Slowest answer in the tick; missing if there was none
	RequestsInflight            uint32 = 205 // Requests in flight at the end of the tick
	RequestsUnanswered          uint32 = 206 // Requests whose connection ended without an answer
	RequestWaitUS               uint32 = 207 // Time data waited in the socket until the program read it
	ConnectionsOpened           uint32 = 208 // Connections established by clients, without those the kernel dropped first
	HandshakeUS                 uint32 = 209 // Time from SYN answered to connection established: one round trip plus any delay; 1 s, the minimum, where the SYN-ACK was retransmitted; handshakes with SYN cookies and a client's wait before its SYN got through are not included
	AcceptQueue                 uint32 = 210 // Most connections waiting in the accept queue at once, sampled when one more was queued (sk_ack_backlog); missing if none waited
	ListenDrops                 uint32 = 211 // Packets of connection attempts dropped by the listening sockets (sk_drops, ListenDrops per socket): SYNs; for a handshake that cannot complete, its last packet, the request after it, and retransmissions of both; also a SYN retransmitted because the SYN-ACK was lost. Read every second
	SynackRetransmits           uint32 = 212 // SYN-ACKs retransmitted: the SYN-ACK or the client's reply was lost, or was dropped because the accept queue was full
	Retransmits                 uint32 = 213 // Data segments retransmitted, as they are on the wire (tcp:tcp_retransmit_skb, gso_segs)
	RetransmitDelayUS           uint32 = 214 // Time from first to last transmission of data that a timer resent: clients received it at least this much later. Counted when the client next sends a packet; it adds to request_latency_us, which does not include it
	FastRetransmitDelayUS       uint32 = 254 // Like retransmit_delay_us, of data resent without a timer, because the client had received what came after it: fast retransmit, about a round trip
	Reconnections               uint32 = 215 // Connections from addresses that had opened another one to this server within 10 s
	UpstreamCalls               uint32 = 220 // Calls that ended: answered or given up
	UpstreamCallsSlow           uint32 = 221 // Calls whose answer took longer than 20 ms
	UpstreamLatencyUS           uint32 = 222 // Time from the last packet of a request being sent to the first data of its answer: upstream and network, without the caller
	UpstreamLatencyMaxUS        uint32 = 223 // Slowest answer in the tick; missing if there was none
	UpstreamUnanswered          uint32 = 224 // Calls whose connection ended without an answer
	HttpResponses               uint32 = 230 // Answers whose plaintext HTTP status was read; missing until a server has sent one
	HttpClientErrors            uint32 = 231 // HTTP answers with status 4xx
	HttpServerErrors            uint32 = 232 // HTTP answers with status 5xx
	GrpcResponses               uint32 = 233 // Answers whose plaintext grpc-status was read, when it came: with the end of the answer; they are not part of http_responses; missing until a server has sent one
	GrpcClientErrors            uint32 = 234 // gRPC answers with any other code than OK and those of grpc_server_errors
	GrpcServerErrors            uint32 = 235 // gRPC answers with UNKNOWN (2), DEADLINE_EXCEEDED (4), UNIMPLEMENTED (12), INTERNAL (13), UNAVAILABLE (14), or DATA_LOSS (15)
)

// Names of facts.
const (
	FactNodeHostname               = "node.hostname"                // Host name
	FactNodeName                   = "node.name"                    // Kubernetes node name
	FactNodeKernel                 = "node.kernel"                  // uname -r
	FactNodeOS                     = "node.os"                      // PRETTY_NAME of os-release
	FactNodeCpus                   = "node.cpus"                    // Online CPUs
	FactNodeMemoryBytes            = "node.memory_bytes"            // MemTotal
	FactNodeCgroupVersion          = "node.cgroup_version"          // 1 or 2
	FactNodeWatermarks             = "node.watermarks"              // JSON {min_free_kbytes, watermark_scale_factor, zones: [{name, min, low, high}]}, zones in pages
	FactNodeDentryLimit            = "node.dentry_limit"            // JSON of this kernel's limits for negative dentries (fs.negative-dentry-limit, fs.dentry-fs-klimit, fs.dentry-negative); {}: none
	FactNodeVfsCachePressure       = "node.vfs_cache_pressure"      // vm.vfs_cache_pressure
	FactNodeRmemDefault            = "node.rmem_default"            // net.core.rmem_default: bytes that the receive queue of a socket holds unless its program asks for another size
	FactNodeCilium                 = "node.cilium"                  // Version of the Cilium agent on the node
	FactNodeKubelet                = "node.kubelet"                 // Version of the kubelet
	FactNodeConditions             = "node.conditions"              // JSON object of the node's conditions in Kubernetes, type to True, False or Unknown: Ready, and others that are not False
	FactNodeTaints                 = "node.taints"                  // JSON list of the node's taints, KEY=VALUE:EFFECT
	FactCPUQuotaUS                 = "cpu.quota_us"                 // CPU time per period; -1: no limit
	FactCPUPeriodUS                = "cpu.period_us"                // Length of a CFS period
	FactCPUBurstUS                 = "cpu.burst_us"                 // CFS burst; absent if the kernel does not support it (before Linux 5.14)
	FactCPUParentQuotaUS           = "cpu.parent_quota_us"          // Tightest quota of an ancestor in us per its period, scaled to this cgroup's period; -1: none
	FactMemoryLimitBytes           = "memory.limit_bytes"           // -1: no limit
	FactMemoryHighBytes            = "memory.high_bytes"            // memory.high, -1: no limit; cgroup v2 only
	FactWorkloadManager            = "workload.manager"             // kubernetes, docker, containerd, systemd or none
	FactWorkloadNamespace          = "workload.namespace"           // Kubernetes namespace
	FactWorkloadPod                = "workload.pod"                 // Pod name
	FactWorkloadContainer          = "workload.container"           // Container or systemd unit name
	FactWorkloadOwner              = "workload.owner"               // KIND/NAME of the controller that manages the pod
	FactWorkloadCreatedAt          = "workload.created_at"          // When the pod was created, RFC 3339
	FactNssSdbUseCache             = "nss.sdb_use_cache"            // NSS_SDB_USE_CACHE in the environment of the first process; empty: not set, reported for containers once a program of the node was seen to look up the names that NSS makes up
	FactWorkloadObjective          = "workload.objective"           // Pod annotation jitterscope.io/objective, as written: p99<50ms; empty: removed
	FactWorkloadVersion            = "workload.version"             // Pod label app.kubernetes.io/version
	FactWorkloadChart              = "workload.chart"               // Pod label helm.sh/chart, NAME-VERSION
	FactWorkloadPartOf             = "workload.part_of"             // Label app.kubernetes.io/part-of of the pod or Docker container; jitterscope: the unit of the collector, too
	FactWorkloadRestartedAt        = "workload.restarted_at"        // Pod annotation kubectl.kubernetes.io/restartedAt: when a rolling restart was requested; empty: never
	FactWorkloadRevision           = "workload.revision"            // Pod label pod-template-hash, rollouts-pod-template-hash, or controller-revision-hash: a hash of the pod template of the pod's controller
	FactWorkloadImage              = "workload.image"               // Image reference
	FactWorkloadRequestedCpus      = "workload.requested_cpus"      // CPU request of a Kubernetes container, in CPUs, as in effect; 0: none
	FactWorkloadRequestedBytes     = "workload.requested_bytes"     // Memory request of a Kubernetes container, as in effect; 0: none
	FactWorkloadQosClass           = "workload.qos_class"           // QoS class of the pod: Guaranteed, Burstable or BestEffort
	FactWorkloadLimitRange         = "workload.limit_range"         // JSON {container, pod}: what the LimitRanges of a container's namespace allow each container, and all of a pod's together, as {max_cpus, max_bytes, min_cpus, min_bytes, max_cpu_ratio, max_memory_ratio}, the ratios of limit to request; absent keys: not restricted
	FactWorkloadQuota              = "workload.quota"               // JSON of the ResourceQuotas of a container's namespace by name: limits.cpu, limits.memory, requests.cpu, and requests.memory, each as {hard, used} in CPUs or bytes; without quotas that apply to some pods only. Recorded again when hard changes, when a quarter less is left, or when more is left for an hour
	FactWorkloadAutoscaler         = "workload.autoscaler"          // JSON {name, min, max, targets} of the HorizontalPodAutoscaler of the container's workload: replicas, and by metric what it aims at, as written (80%, 600m); {}: none
	FactWorkloadServices           = "workload.services"            // JSON list of the Kubernetes Services with addresses that select the container's pod, ready or not: {name, addresses, ports}, name NAMESPACE/NAME, ports the pod's port by PORT/PROTOCOL; []: none
	FactWorkloadVerticalAutoscaler = "workload.vertical_autoscaler" // JSON {name, mode, allowed, recommended} of the VerticalPodAutoscaler of the container's workload: mode Off, Initial, Recreate, InPlaceOrRecreate, InPlace, or Auto; allowed {min_cpus, max_cpus, min_bytes, max_bytes}, and recommended {cpus, bytes}, of this container; {}: none
	FactProcessCommand             = "process.command"              // comm
	FactProcessExecutable          = "process.executable"           // Base name of the executable
	FactProcessAffinityCpus        = "process.affinity_cpus"        // CPUs the process may run on
	FactGoVersion                  = "go.version"                   // Go release that built the program, 1.23.4
	FactGoMainModule               = "go.main_module"               // PATH@VERSION of the main module
	FactGoEnvGOMAXPROCS            = "go.env.GOMAXPROCS"            // From the environment; absent: unset
	FactGoEnvGOGC                  = "go.env.GOGC"                  // From the environment; absent: unset
	FactGoEnvGOMEMLIMIT            = "go.env.GOMEMLIMIT"            // From the environment; absent: unset
	FactGoEnvGODEBUG               = "go.env.GODEBUG"               // From the environment; absent: unset
	FactGoDefaultGodebug           = "go.default_godebug"           // DefaultGODEBUG build setting
	FactGoAutomaxprocs             = "go.automaxprocs"              // Version of go.uber.org/automaxprocs in the build; absent: not used
	FactGoGCSource                 = "go.gc_source"                 // uprobe, metrics or threads: where GC data for this process comes from
	FactGoGomaxprocs               = "go.gomaxprocs"                // Value in effect, where it can be read from the process
	FactDiskLimits                 = "disk.limits"                  // JSON list of {device, number, read_bytes_per_s, write_bytes_per_s, reads_per_s, writes_per_s}: I/O limits of the cgroup (v1: blkio.throttle.*_device, v2: io.max), number MAJOR:MINOR; absent keys: no such limit
	FactDiskDevice                 = "disk.device"                  // Name of the disk on which the cgroup did the most I/O, sda
	FactDiskRotational             = "disk.rotational"              // Whether that disk is rotational: 1 or 0
	FactCPUWeight                  = "cpu.weight"                   // Share of contended CPU in cgroup v2 units: cpu.weight, or cpu.shares of v1 scaled (1024 is 100); idle where cpu.idle is set
	FactRuntimeName                = "runtime.name"                 // jvm, nodejs, python, ruby or dotnet: the runtime, whose GC is watched except for dotnet; absent for Go programs, which have go.version
	FactRuntimeVersion             = "runtime.version"              // Release of that runtime
	FactRuntimeGCSource            = "runtime.gc_source"            // hsperfdata, uprobe or usdt: where GC data for this process comes from
	FactRuntimeGCMarking           = "runtime.gc_marking"           // observed: GC cycles and gc_active_us of a Node.js or Ruby process include marking while the program runs; absent: pauses only
	FactRuntimeGCKind              = "runtime.gc_kind"              // Garbage collectors of a JVM, by the JVM's names: PSParallelCompact, G1 young collection pauses, …
	FactRuntimeOptions             = "runtime.options"              // JSON list of the options that govern CPU, threads, and memory, from the command line and environment: -Xmx, -XX:ActiveProcessorCount, --max-old-space-size, RUBY_GC_MALLOC_LIMIT, System.GC.Server, …; no others
	FactRuntimeCpus                = "runtime.cpus"                 // Number of CPUs the runtime detected, where it reports this
	FactTcpProgram                 = "tcp.program"                  // Base name of the listening executable
	FactTcpProcess                 = "tcp.process"                  // Key of the listening process, PID:STARTTIME_TICKS
	FactTcpAddresses               = "tcp.addresses"                // JSON list of the ADDRESS:PORT pairs it listens on
	FactTcpAcceptLimit             = "tcp.accept_limit"             // Connections that can wait in the accept queue (sk_max_ack_backlog: the backlog of listen(), capped by net.core.somaxconn); the lowest of its listening sockets
	FactTcpSomaxconn               = "tcp.somaxconn"                // net.core.somaxconn of the server's network namespace
	FactTcpTimedOneIn              = "tcp.timed_one_in"             // 1: every request is timed; 8: the server gets very many requests, and of those with a fast answer one in 8 is timed, for all 8 (docs/requests.md)
	FactTcpListeners               = "tcp.listeners"                // Listening sockets (more than one per address: SO_REUSEPORT)
	FactUpstreamServer             = "upstream.server"              // Key of the TCP server on this node that listens there; absent if it runs elsewhere or is unknown
	FactUpstreamService            = "upstream.service"             // NAMESPACE/NAME of the Kubernetes Service with that address, listed by the source services; empty: no longer one; absent: none, or not known
	FactDNSSoftware                = "dns.software"                 // coredns, dnsmasq, unbound, named, …
	FactDNSVersion                 = "dns.version"                  // From build info or version.bind
	FactDNSUDPSockets              = "dns.udp_sockets"              // UDP sockets bound to the address (more than one: SO_REUSEPORT)
	FactDNSCorefile                = "dns.corefile"                 // CoreDNS Corefile, secrets removed
	FactDNSCorefileParsed          = "dns.corefile_parsed"          // The Corefile as CoreDNS's own parser reads it, imports and snippets expanded: JSON list of {zones, plugins: [{name, args, options}]}, options a list of lists of words; {$NAME} stays as written; absent if it cannot be parsed
	FactDNSServiceAddresses        = "dns.service_addresses"        // JSON list of the addresses of the Kubernetes Services that select the server's pod, listed by the source services; []: none
	FactDNSPathSplit               = "dns.path_split"               // available, or why not
	FactDNSArguments               = "dns.arguments"                // dnsmasq command line, secrets removed; arguments separated by spaces
	FactDNSUpstreams               = "dns.upstreams"                // JSON list of {zone, address, port, force_tcp, prefer_udp, max_concurrent, expire_s, policy}: where the server forwards, from the Corefile or the arguments; absent keys: not set
	FactDNSChildLimit              = "dns.child_limit"              // Maximum TCP connections a dnsmasq serves at once: 20, or --max-tcp-connections
	FactDNSNegativeCache           = "dns.negative_cache"           // yes, no, or absent if unknown
	FactDNSResolvConf              = "dns.resolv_conf"              // JSON {nameservers, search, ndots, options} of the container's resolv.conf
	FactNetAddresses               = "net.addresses"                // JSON list of IP addresses in the container's network namespace, without loopback; absent in the node's own namespace
	FactKubeDNSAutoscaler          = "kube.dns_autoscaler"          // JSON of the kube-dns-autoscaler ConfigMap: linear or ladder parameters
	FactKubeClusterSize            = "kube.cluster_size"            // JSON {nodes, cores, kube_dns_replicas} of the cluster, if the collector can query the API server
	FactKubeServerVersion          = "kube.server_version"          // gitVersion of the API server, v1.30.5-gke.1014001
	FactKubeStubDomains            = "kube.stub_domains"            // JSON of stubDomains and upstreamNameservers of the kube-dns ConfigMap
)

// Names of events.
const (
	EventGoGCCycle        = "go.gc_cycle"        // One GC cycle, start to end of mark termination. attributes: source (uprobe|metrics|threads), pause_us
	EventGCCycle          = "gc.cycle"           // One GC cycle of a runtime other than Go, start to end. attributes: source (hsperfdata|uprobe|usdt), collector, cause, pause_us (the part in which the program was paused); marking_us where the heap was marked for that long first while the program ran
	EventProcessStart     = "process.start"      // A watched process started
	EventProcessExit      = "process.exit"       // A watched process exited
	EventMemoryOOMKill    = "memory.oom_kill"    // The OOM killer killed a process. attributes: count; where the kernel reports them: pid, command, constraint (memcg|none|cpuset|mempolicy), limit_cgroup (whose limit), anon_bytes, file_bytes, shmem_bytes, trigger_command (the program that allocated). uncounted_by (kernel_log|kubelet): the cgroup was removed before its counter was read, so memory_oom_kills lacks this kill; the kubelet reports reason, exit_code, restarts. Kills in a cgroup that is not watched are at the nearest one above that is (uncounted_by kernel_log), or at the node, with cgroup
	EventCollectorStart   = "collector.start"    // The collector started. attributes: version
	EventCollectorShed    = "collector.shed"     // The collector lowered its resolution to stay within its budget. attributes: from, to, why
	EventDNSError         = "dns.error"          // Error lines of one kind within one second. attributes: kind (io_timeout|connection_refused|unreachable|too_many_connections|panic|other), count, upstream, name, line (the first)
	EventDNSNames         = "dns.names"          // Names with the most queries in the event's window. attributes: rows, a JSON list of [client, name, type, queries, nxdomain, servfail, latency_sum_us]; queries, nxdomain, servfail, latency_sum_us, names: totals of the window, including names not listed (names: an estimate where not all fit). A query counts when it is answered or timed out
	EventRequestsKinds    = "requests.kinds"     // Answered requests in the event's window by kind, where known from plaintext: HTTP method and route (IDs replaced), Redis command, PostgreSQL and MySQL statement. attributes: rows, a JSON list of [kind, requests, slow (over 20 ms), http_client_errors, http_server_errors, latency_sum_us, latency_max_us]; an empty kind: all others; errors null: not measured, because no answer had a readable status; latency, a JSON list of [bucket, requests, bucket, requests, ...] for each of the first rows, as many as fit: bucket b holds latencies over 1.04^(3b-3) up to 1.04^(3b) us; grpc, a JSON list of [code, answers, code, answers, ...] for each of the first rows, missing without gRPC: answers by grpc-status, which comes with their end, so the request can be in an earlier event; the errors in rows do not include them
	EventServerWaiting    = "server.waiting"     // What the server's threads waited in while it owed answers and gave none for at least 30 ms, read every 50 ms; the event lasts from the first look to the last. attributes: looks, read (threads, all looks together; at most 32 per look), threads (of the processes, some of which might not be read), waits, a JSON list of [state, system call (? not known), kernel function, times, kernel frames]; usual, the same of one look while it owed no answer
	EventFsLookupFailures = "fs.lookup_failures" // Processes that looked up nonexistent names in the event's window. attributes: rows, a JSON list of [command, pid, pattern, count], pattern with digits as # and hex as % (pid 0: all other processes); total; nss, where such a program has NSS loaded: JSON {command, version, env, file_system}: libnss3's version, NSS_SDB_USE_CACHE (absent: unset), type of the database's file system
	EventFsTracing        = "fs.tracing"         // Failed lookups were traced in this window. attributes: why
	EventFsUnmount        = "fs.unmount"         // A file system was unmounted; the event lasts while its dentries are freed, 0: too short to measure. attributes: target, type, last (yes: the last mount of its file system), dentries (freed), command and pid (of the process that used the most system time meanwhile, if it took long)
	EventFsDropCaches     = "fs.drop_caches"     // Caches were dropped manually; the event marks when this finished. attributes: command, pid, what (1: pages, 2: dentries and inodes, 3: both)
	EventProcessMassExit  = "process.mass_exit"  // Many threads ended within one second. attributes: command, pid, threads
	EventBpfLoad          = "bpf.load"           // An eBPF program was loaded; the event lasts from the start of its verification to the end. attributes: command, pid, name, type, instructions (after verification), verified_instructions; if it was unloaded at once, only command and pid, and no duration. Loads that the verifier rejects are not recorded
	EventPodStart         = "pod.start"          // A pod started; the event lasts from creation to running. attributes: namespace, pod, and *_us of the known phases
	EventPodEvicted       = "pod.evicted"        // A pod was evicted from the node. attributes: namespace, pod, owner, reason (TerminationByKubelet|EvictionByEvictionAPI|DeletionByTaintManager|PreemptionByScheduler|…; Evicted: by a kubelet before 1.26), message
)

// All has every metric, by id.
var All = map[uint32]Metric{
	CPUUsageUS:                  {CPUUsageUS, "cpu_usage_us", "us", Delta, I32, "cgroup_cpu", "CPU time used in the tick, summed over all CPUs"},
	CPUUserUS:                   {CPUUserUS, "cpu_user_us", "us", Delta, I32, "cgroup_cpu", "CPU time used in user mode"},
	CPUSystemUS:                 {CPUSystemUS, "cpu_system_us", "us", Delta, I32, "cgroup_cpu", "CPU time used in kernel mode"},
	CPUPeriods:                  {CPUPeriods, "cpu_periods", "1", Delta, I16, "cgroup_cpu", "CFS bandwidth periods that ended in the tick (nr_periods)"},
	CPUThrottledPeriods:         {CPUThrottledPeriods, "cpu_throttled_periods", "1", Delta, I16, "cgroup_cpu", "Periods that ended throttled in the tick (nr_throttled)"},
	CPUThrottledUS:              {CPUThrottledUS, "cpu_throttled_us", "us", Delta, I32, "cgroup_cpu", "Throttled time credited in the tick, summed over run queues; a queue is credited when it is unthrottled"},
	CPUBursts:                   {CPUBursts, "cpu_bursts", "1", Delta, I16, "cgroup_cpu", "Periods that used burst (nr_bursts)"},
	CPUBurstUS:                  {CPUBurstUS, "cpu_burst_us", "us", Delta, I32, "cgroup_cpu", "CPU time above the quota, taken from burst"},
	CPUThrottledLocalUS:         {CPUThrottledLocalUS, "cpu_throttled_local_us", "us", Delta, I32, "cgroup_cpu", "cpu.stat.local: throttled time including ancestors' limits"},
	MemoryUsageBytes:            {MemoryUsageBytes, "memory_usage_bytes", "bytes", Gauge, F64, "cgroup_memory", "Memory charged to the cgroup"},
	MemoryAnonBytes:             {MemoryAnonBytes, "memory_anon_bytes", "bytes", Gauge, F64, "cgroup_memory", "Anonymous memory (v1: rss)"},
	MemoryFileBytes:             {MemoryFileBytes, "memory_file_bytes", "bytes", Gauge, F64, "cgroup_memory", "Page cache (v1: cache)"},
	MemoryLimitHits:             {MemoryLimitHits, "memory_limit_hits", "1", Delta, I32, "cgroup_memory", "Allocations that hit the limit (v1: failcnt, v2: memory.events.local max)"},
	MemoryOOMKills:              {MemoryOOMKills, "memory_oom_kills", "1", Delta, I16, "cgroup_memory", "Processes killed by the OOM killer"},
	MemoryMajorFaults:           {MemoryMajorFaults, "memory_major_faults", "1", Delta, I32, "cgroup_memory", "Major page faults"},
	MemoryRefaults:              {MemoryRefaults, "memory_refaults", "1", Delta, I32, "cgroup_memory", "File pages read again soon after they were reclaimed (memory.stat workingset_refault_file)"},
	PidsCurrent:                 {PidsCurrent, "pids_current", "1", Gauge, I32, "cgroup_pids", "Tasks in the cgroup"},
	PSICPUSomeUS:                {PSICPUSomeUS, "psi_cpu_some_us", "us", Delta, I32, "psi", "Time some task waited for a CPU"},
	PSICPUFullUS:                {PSICPUFullUS, "psi_cpu_full_us", "us", Delta, I32, "psi", "Time all tasks waited for a CPU"},
	PSIMemorySomeUS:             {PSIMemorySomeUS, "psi_memory_some_us", "us", Delta, I32, "psi", "Time some task waited for memory"},
	PSIMemoryFullUS:             {PSIMemoryFullUS, "psi_memory_full_us", "us", Delta, I32, "psi", "Time all tasks waited for memory"},
	PSIIOSomeUS:                 {PSIIOSomeUS, "psi_io_some_us", "us", Delta, I32, "psi", "Time some task waited for I/O"},
	PSIIOFullUS:                 {PSIIOFullUS, "psi_io_full_us", "us", Delta, I32, "psi", "Time all tasks waited for I/O"},
	HostUserUS:                  {HostUserUS, "host_user_us", "us", Delta, I32, "host_cpu", "user + nice"},
	HostSystemUS:                {HostSystemUS, "host_system_us", "us", Delta, I32, "host_cpu", "system"},
	HostIRQUS:                   {HostIRQUS, "host_irq_us", "us", Delta, I32, "host_cpu", "irq + softirq"},
	HostIdleUS:                  {HostIdleUS, "host_idle_us", "us", Delta, I32, "host_cpu", "idle"},
	HostIowaitUS:                {HostIowaitUS, "host_iowait_us", "us", Delta, I32, "host_cpu", "iowait"},
	HostStealUS:                 {HostStealUS, "host_steal_us", "us", Delta, I32, "host_cpu", "stolen by the hypervisor"},
	HostRunnable:                {HostRunnable, "host_runnable", "1", Gauge, I16, "host_cpu", "procs_running"},
	CollectorLatenessUS:         {CollectorLatenessUS, "collector_lateness_us", "us", Gauge, I32, "self", "How long after its deadline the CPU time of the tick was read, without the time the read itself takes"},
	RealtimeLatencyUS:           {RealtimeLatencyUS, "realtime_latency_us", "us", Gauge, I32, "self", "How long the collector's sampling thread, which has real-time priority, was due at the end of the tick or while it read CPU time, and did not run: nor could an ordinary program on that CPU. Missing without that priority (CAP_SYS_NICE)"},
	CollectorCPUUS:              {CollectorCPUUS, "collector_cpu_us", "us", Delta, I32, "self", "CPU time of the collector"},
	CollectorRSSBytes:           {CollectorRSSBytes, "collector_rss_bytes", "bytes", Gauge, F64, "self", "Resident memory of the collector"},
	CollectorTick:               {CollectorTick, "collector_tick", "1", Gauge, I32, "self", "Low 31 bits of start_us / 100000 of the tick: proves that each tick is stored exactly once"},
	ProcessCPUUS:                {ProcessCPUUS, "process_cpu_us", "us", Delta, I32, "process", "CPU time of the process (user + system)"},
	ProcessThreads:              {ProcessThreads, "process_threads", "1", Gauge, I32, "process", "Threads"},
	GCCycles:                    {GCCycles, "gc_cycles", "1", Delta, I16, "go_runtime", "GC cycles that ended in the tick"},
	GCActiveUS:                  {GCActiveUS, "gc_active_us", "us", Delta, I32, "go_runtime", "Wall time of the tick in which a GC cycle was running"},
	GCPauseUS:                   {GCPauseUS, "gc_pause_us", "us", Delta, I32, "go_runtime", "Stop-the-world time in the tick"},
	HeapLiveBytes:               {HeapLiveBytes, "heap_live_bytes", "bytes", Gauge, F64, "go_runtime", "Heap in use after the last GC, where the runtime reports it"},
	HeapGoalBytes:               {HeapGoalBytes, "heap_goal_bytes", "bytes", Gauge, F64, "go_runtime", "Heap size that starts the next GC, where the runtime reports it"},
	GCCPUUS:                     {GCCPUUS, "gc_cpu_us", "us", Delta, I32, "jvm_gc", "CPU time of the threads on which a JVM collects garbage, while the program is stopped and while it runs; includes the VM thread. The memory that threads of the program free themselves is not in it"},
	JITCPUUS:                    {JITCPUUS, "jit_cpu_us", "us", Delta, I32, "jvm_gc", "CPU time of the compiler threads of a JVM"},
	ProcessRunDelayUS:           {ProcessRunDelayUS, "process_run_delay_us", "us", Delta, I32, "run_delay", "Time threads of the process were runnable and waited for a CPU, summed over threads and counted in the tick in which the wait ended; includes time throttled by a CPU limit"},
	ProcessBlockedUS:            {ProcessBlockedUS, "process_blocked_us", "us", Delta, I32, "blocked", "Time threads of the process were blocked in the kernel (state D), summed over threads; includes waits still in progress"},
	ProcessIOWaitUS:             {ProcessIOWaitUS, "process_io_wait_us", "us", Delta, I32, "blocked", "The part of process_blocked_us in which threads waited for I/O itself; waits for a file system's lock or journal are not included"},
	DiskReadBytes:               {DiskReadBytes, "disk_read_bytes", "bytes", Delta, F64, "disk_io", "Bytes the cgroup read from that disk; v1: only where a limit is set for the disk, on recent kernels, and without later kernel writeback"},
	DiskWrittenBytes:            {DiskWrittenBytes, "disk_written_bytes", "bytes", Delta, F64, "disk_io", "Bytes the cgroup wrote to that disk, with the same limits as disk_read_bytes"},
	DiskReads:                   {DiskReads, "disk_reads", "1", Delta, I32, "disk_io", "Read requests from the cgroup to that disk"},
	DiskWrites:                  {DiskWrites, "disk_writes", "1", Delta, I32, "disk_io", "Write requests from the cgroup to that disk"},
	DiskBusyUS:                  {DiskBusyUS, "disk_busy_us", "us", Delta, I32, "disk_io", "Time in which that disk had requests in flight, from all cgroups; node: the disk that was busiest in the tick"},
	DiskRequests:                {DiskRequests, "disk_requests", "1", Delta, I32, "disk_io", "Requests completed by the same disk"},
	DiskRequestUS:               {DiskRequestUS, "disk_request_us", "us", Delta, I32, "disk_io", "Total time these requests took; a request held back by its cgroup's limit has not started yet"},
	DiskBytes:                   {DiskBytes, "disk_bytes", "bytes", Delta, F64, "disk_io", "Bytes read from and written to the same disk"},
	DNSQueries:                  {DNSQueries, "dns_queries", "1", Delta, I32, "dns_capture", "Queries seen"},
	DNSAnswers:                  {DNSAnswers, "dns_answers", "1", Delta, I32, "dns_capture", "Answers seen"},
	DNSNxdomain:                 {DNSNxdomain, "dns_nxdomain", "1", Delta, I32, "dns_capture", "NXDOMAIN answers"},
	DNSServfail:                 {DNSServfail, "dns_servfail", "1", Delta, I32, "dns_capture", "SERVFAIL answers"},
	DNSRefused:                  {DNSRefused, "dns_refused", "1", Delta, I32, "dns_capture", "REFUSED answers"},
	DNSTimeouts:                 {DNSTimeouts, "dns_timeouts", "1", Delta, I32, "dns_capture", "Queries that timed out after 5 s without an answer"},
	DNSLateServfail:             {DNSLateServfail, "dns_late_servfail", "1", Delta, I32, "dns_capture", "SERVFAIL answers to queries that had timed out: counted in dns_timeouts 5 s after the query, and here when the answer arrived"},
	DNSSlow:                     {DNSSlow, "dns_slow", "1", Delta, I32, "dns_capture", "Answers that took longer than 20 ms"},
	DNSLatencyUS:                {DNSLatencyUS, "dns_latency_us", "us", Distribution, Unspecified, "dns_capture", "Time from query seen to answer seen"},
	DNSLatencyMaxUS:             {DNSLatencyMaxUS, "dns_latency_max_us", "us", Gauge, I32, "dns_capture", "Slowest answer in the tick; missing if there was none"},
	DNSInflight:                 {DNSInflight, "dns_inflight", "1", Gauge, I32, "dns_capture", "Queries in flight at the end of the tick"},
	DNSQueueWaitUS:              {DNSQueueWaitUS, "dns_queue_wait_us", "us", Distribution, Unspecified, "dns_path_split", "Time a packet spent in the socket's receive queue until the server read it"},
	DNSWorkUS:                   {DNSWorkUS, "dns_work_us", "us", Distribution, Unspecified, "dns_path_split", "Time from the server reading a query to sending its answer"},
	DNSSocketDrops:              {DNSSocketDrops, "dns_socket_drops", "1", Delta, I32, "udp_socket", "Datagrams dropped because the receive buffer was full"},
	DNSReceiveQueueBytes:        {DNSReceiveQueueBytes, "dns_receive_queue_bytes", "bytes", Gauge, I32, "udp_socket", "Bytes waiting in the receive buffer"},
	ProbeLatencyUS:              {ProbeLatencyUS, "probe_latency_us", "us", Distribution, Unspecified, "dns_probe", "Time to answer as a client sees it"},
	ProbeSent:                   {ProbeSent, "probe_sent", "1", Delta, I16, "dns_probe", "Probes sent"},
	ProbeFailures:               {ProbeFailures, "probe_failures", "1", Delta, I16, "dns_probe", "Probes without a usable answer in time"},
	DNSTcpConnections:           {DNSTcpConnections, "dns_tcp_connections", "1", Gauge, I32, "dns_tcp", "Established TCP connections from clients, accepted or not"},
	DNSTcpCloseWait:             {DNSTcpCloseWait, "dns_tcp_close_wait", "1", Gauge, I32, "dns_tcp", "Connections closed by the client but not yet by the server"},
	DNSTcpIdle:                  {DNSTcpIdle, "dns_tcp_idle", "1", Gauge, I32, "dns_tcp", "Accepted TCP connections from clients with no data for over 1 s and no query in flight"},
	DNSAcceptBacklog:            {DNSAcceptBacklog, "dns_accept_backlog", "1", Gauge, I32, "dns_tcp", "Connections established but not yet accepted by the server (sk_ack_backlog)"},
	DNSListenDrops:              {DNSListenDrops, "dns_listen_drops", "1", Delta, I32, "dns_tcp", "Connection attempts that the listening socket dropped (sk_drops)"},
	DNSListenOverflows:          {DNSListenOverflows, "dns_listen_overflows", "1", Delta, I32, "dns_tcp", "TcpExt ListenOverflows of the server's network namespace"},
	DNSUpstreamConnections:      {DNSUpstreamConnections, "dns_upstream_connections", "1", Gauge, I32, "dns_tcp", "Established TCP connections from the server's process to its upstreams"},
	DNSUpstreamIdle:             {DNSUpstreamIdle, "dns_upstream_idle", "1", Gauge, I32, "dns_tcp", "Upstream connections with no data for over 1 s"},
	ProcessChildren:             {ProcessChildren, "process_children", "1", Gauge, I32, "process_children", "Child processes of a DNS server (dnsmasq: one per TCP connection)"},
	CorednsCacheHits:            {CorednsCacheHits, "coredns_cache_hits", "1", Delta, I32, "coredns_metrics", "Answers from the cache. This and the other coredns_ metrics: growth since the last scrape of the metrics page (1 to 15 s), in the tick of the scrape, at the address of the process that receives the most queries"},
	CorednsCacheMisses:          {CorednsCacheMisses, "coredns_cache_misses", "1", Delta, I32, "coredns_metrics", "Queries not found in the cache"},
	CorednsForwardRequests:      {CorednsForwardRequests, "coredns_forward_requests", "1", Delta, I32, "coredns_metrics", "Queries sent to an upstream (coredns_proxy_request_duration_seconds_count, before 1.11 coredns_forward_requests_total)"},
	CorednsForwardTimeUS:        {CorednsForwardTimeUS, "coredns_forward_time_us", "us", Delta, F64, "coredns_metrics", "Total time these queries took"},
	CorednsForwardErrors:        {CorednsForwardErrors, "coredns_forward_errors", "1", Delta, I32, "coredns_metrics", "SERVFAIL answers from upstreams, failed health checks, and broken upstreams"},
	CorednsConnCacheHits:        {CorednsConnCacheHits, "coredns_conn_cache_hits", "1", Delta, I32, "coredns_metrics", "Forwarded queries that reused a pooled connection"},
	CorednsConnCacheMisses:      {CorednsConnCacheMisses, "coredns_conn_cache_misses", "1", Delta, I32, "coredns_metrics", "Forwarded queries that opened a new connection"},
	CorednsMaxConcurrentRejects: {CorednsMaxConcurrentRejects, "coredns_max_concurrent_rejects", "1", Delta, I32, "coredns_metrics", "Queries refused by forward's max_concurrent"},
	CorednsPanics:               {CorednsPanics, "coredns_panics", "1", Delta, I32, "coredns_metrics", "Panics"},
	DnsmasqCacheHits:            {DnsmasqCacheHits, "dnsmasq_cache_hits", "1", Delta, I32, "dnsmasq_counters", "Answers from dnsmasq's cache (CHAOS TXT hits.bind), every 10 s; main process only, which serves UDP: TCP is served by child processes with their own counters"},
	DnsmasqCacheMisses:          {DnsmasqCacheMisses, "dnsmasq_cache_misses", "1", Delta, I32, "dnsmasq_counters", "Queries that dnsmasq forwarded (CHAOS TXT misses.bind), as above"},
	Dentries:                    {Dentries, "dentries", "1", Gauge, F64, "dentry_state", "Dentries on the node (nr_dentry)"},
	DentriesUnused:              {DentriesUnused, "dentries_unused", "1", Gauge, F64, "dentry_state", "Dentries on an LRU list (nr_unused)"},
	DentriesNegative:            {DentriesNegative, "dentries_negative", "1", Gauge, F64, "dentry_state", "Unused negative dentries: names that do not exist (nr_negative; 0 before Linux 5.0)"},
	SlabDentryBytes:             {SlabDentryBytes, "slab_dentry_bytes", "bytes", Gauge, F64, "slabinfo", "Memory of the dentry slab"},
	SlabInodeBytes:              {SlabInodeBytes, "slab_inode_bytes", "bytes", Gauge, F64, "slabinfo", "Memory of all inode slabs"},
	SlabReclaimableBytes:        {SlabReclaimableBytes, "slab_reclaimable_bytes", "bytes", Gauge, F64, "meminfo", "SReclaimable"},
	SlabUnreclaimableBytes:      {SlabUnreclaimableBytes, "slab_unreclaimable_bytes", "bytes", Gauge, F64, "meminfo", "SUnreclaim"},
	MemoryAvailableBytes:        {MemoryAvailableBytes, "memory_available_bytes", "bytes", Gauge, F64, "meminfo", "MemAvailable"},
	MemoryFreeBytes:             {MemoryFreeBytes, "memory_free_bytes", "bytes", Gauge, F64, "meminfo", "MemFree"},
	MemoryCachedBytes:           {MemoryCachedBytes, "memory_cached_bytes", "bytes", Gauge, F64, "meminfo", "Cached + Buffers"},
	VmScanDirectPages:           {VmScanDirectPages, "vm_scan_direct_pages", "1", Delta, I32, "vmstat", "Pages scanned in direct reclaim (pgscan_direct)"},
	VmScanKswapdPages:           {VmScanKswapdPages, "vm_scan_kswapd_pages", "1", Delta, I32, "vmstat", "Pages scanned by kswapd (pgscan_kswapd)"},
	VmStealDirectPages:          {VmStealDirectPages, "vm_steal_direct_pages", "1", Delta, I32, "vmstat", "Pages reclaimed in direct reclaim (pgsteal_direct)"},
	VmStealKswapdPages:          {VmStealKswapdPages, "vm_steal_kswapd_pages", "1", Delta, I32, "vmstat", "Pages reclaimed by kswapd (pgsteal_kswapd)"},
	VmAllocStalls:               {VmAllocStalls, "vm_alloc_stalls", "1", Delta, I32, "vmstat", "Direct reclaims started, all zones (allocstall_*)"},
	VmSlabsScanned:              {VmSlabsScanned, "vm_slabs_scanned", "1", Delta, I32, "vmstat", "Slab objects scanned (slabs_scanned)"},
	VmDropSlab:                  {VmDropSlab, "vm_drop_slab", "1", Delta, I16, "vmstat", "Times slab caches were dropped manually (drop_slab)"},
	VmCompactStalls:             {VmCompactStalls, "vm_compact_stalls", "1", Delta, I32, "vmstat", "Direct compactions (compact_stall)"},
	VmLowMarginBytes:            {VmLowMarginBytes, "vm_low_margin_bytes", "bytes", Gauge, F64, "watermarks", "Free pages above the low watermark, summed over zones"},
	MemorySlabBytes:             {MemorySlabBytes, "memory_slab_bytes", "bytes", Gauge, F64, "cgroup_reclaim", "Slab charged to the cgroup (v2: memory.stat slab; v1: memory.kmem.usage_in_bytes)"},
	MemoryReclaimScannedPages:   {MemoryReclaimScannedPages, "memory_reclaim_scanned_pages", "1", Delta, I32, "cgroup_reclaim", "Pages scanned for the cgroup (v2: memory.stat pgscan)"},
	MemoryHighEvents:            {MemoryHighEvents, "memory_high_events", "1", Delta, I32, "cgroup_reclaim", "Times memory.high was exceeded (v2)"},
	ProcessFds:                  {ProcessFds, "process_fds", "1", Gauge, I32, "process_memory", "Open file descriptors of a DNS server"},
	ProcessRSSBytes:             {ProcessRSSBytes, "process_rss_bytes", "bytes", Gauge, F64, "process_memory", "Resident memory of a watched process"},
	GoGoroutines:                {GoGoroutines, "go_goroutines", "1", Gauge, I32, "go_runtime", "Goroutines"},
	LookupFailures:              {LookupFailures, "lookup_failures", "1", Delta, I32, "failed_lookups", "System calls on paths that failed with ENOENT; missing while tracing is off"},
	ThreadExits:                 {ThreadExits, "thread_exits", "1", Delta, I32, "process_exits", "Threads that ended"},
	Unmounts:                    {Unmounts, "unmounts", "1", Delta, I16, "unmounts", "File systems unmounted"},
	BpfLoads:                    {BpfLoads, "bpf_loads", "1", Delta, I16, "bpf_loads", "eBPF programs loaded (bpf(2) BPF_PROG_LOAD that returned)"},
	BpfLoadUS:                   {BpfLoadUS, "bpf_load_us", "us", Delta, I32, "bpf_loads", "Time these calls took, including verification"},
	RecorderCPUUS:               {RecorderCPUUS, "recorder_cpu_us", "us", Delta, I32, "flight_recorder", "CPU time of the flight recorder"},
	PodStartSliUS:               {PodStartSliUS, "pod_start_sli_us", "us", Distribution, Unspecified, "kubelet_metrics", "Pod start without image pulls and init containers (kubelet_pod_start_sli_duration_seconds)"},
	PodStartTotalUS:             {PodStartTotalUS, "pod_start_total_us", "us", Distribution, Unspecified, "kubelet_metrics", "Pod start including image pulls and init containers (kubelet_pod_start_total_duration_seconds; older: kubelet_pod_start_duration_seconds)"},
	PodSandboxUS:                {PodSandboxUS, "pod_sandbox_us", "us", Distribution, Unspecified, "kubelet_metrics", "run_podsandbox in the container runtime (kubelet_runtime_operations_duration_seconds)"},
	PodImagePullUS:              {PodImagePullUS, "pod_image_pull_us", "us", Distribution, Unspecified, "kubelet_metrics", "Image pulls (kubelet_runtime_operations_duration_seconds pull_image)"},
	PodContainerStartUS:         {PodContainerStartUS, "pod_container_start_us", "us", Distribution, Unspecified, "kubelet_metrics", "create_container and start_container"},
	PodCgroupUS:                 {PodCgroupUS, "pod_cgroup_us", "us", Distribution, Unspecified, "kubelet_metrics", "Creating a pod's cgroups (kubelet_cgroup_manager_duration_seconds create)"},
	PodCniUS:                    {PodCniUS, "pod_cni_us", "us", Distribution, Unspecified, "cni_metrics", "Cilium endpoint regeneration, total (cilium_endpoint_regeneration_time_stats_seconds)"},
	PodBpfLoadUS:                {PodBpfLoadUS, "pod_bpf_load_us", "us", Distribution, Unspecified, "cni_metrics", "Part of endpoint regeneration: loading programs into the kernel (scope bpfLoadProg)"},
	PodBpfCompileUS:             {PodBpfCompileUS, "pod_bpf_compile_us", "us", Distribution, Unspecified, "cni_metrics", "Part of endpoint regeneration: compiling programs (scope bpfCompilation)"},
	Requests:                    {Requests, "requests", "1", Delta, I32, "tcp_requests", "Requests seen: data that arrived while the server owed no answer on the connection"},
	Responses:                   {Responses, "responses", "1", Delta, I32, "tcp_requests", "Answers started"},
	ResponsesSlow:               {ResponsesSlow, "responses_slow", "1", Delta, I32, "tcp_requests", "Answers started later than 20 ms after the request"},
	RequestLatencyUS:            {RequestLatencyUS, "request_latency_us", "us", Distribution, Unspecified, "tcp_requests", "Time from the last byte of a request arriving to the first byte of its answer being sent"},
	RequestLatencyMaxUS:         {RequestLatencyMaxUS, "request_latency_max_us", "us", Gauge, I32, "tcp_requests", "Slowest answer in the tick; missing if there was none"},
	RequestsInflight:            {RequestsInflight, "requests_inflight", "1", Gauge, I32, "tcp_requests", "Requests in flight at the end of the tick"},
	RequestsUnanswered:          {RequestsUnanswered, "requests_unanswered", "1", Delta, I32, "tcp_requests", "Requests whose connection ended without an answer"},
	RequestWaitUS:               {RequestWaitUS, "request_wait_us", "us", Distribution, Unspecified, "tcp_requests", "Time data waited in the socket until the program read it"},
	ConnectionsOpened:           {ConnectionsOpened, "connections_opened", "1", Delta, I32, "tcp_requests", "Connections established by clients, without those the kernel dropped first"},
	HandshakeUS:                 {HandshakeUS, "handshake_us", "us", Distribution, Unspecified, "tcp_requests", "Time from SYN answered to connection established: one round trip plus any delay; 1 s, the minimum, where the SYN-ACK was retransmitted; handshakes with SYN cookies and a client's wait before its SYN got through are not included"},
	AcceptQueue:                 {AcceptQueue, "accept_queue", "1", Gauge, I32, "tcp_requests", "Most connections waiting in the accept queue at once, sampled when one more was queued (sk_ack_backlog); missing if none waited"},
	ListenDrops:                 {ListenDrops, "listen_drops", "1", Delta, I32, "tcp_requests", "Packets of connection attempts dropped by the listening sockets (sk_drops, ListenDrops per socket): SYNs; for a handshake that cannot complete, its last packet, the request after it, and retransmissions of both; also a SYN retransmitted because the SYN-ACK was lost. Read every second"},
	SynackRetransmits:           {SynackRetransmits, "synack_retransmits", "1", Delta, I32, "tcp_requests", "SYN-ACKs retransmitted: the SYN-ACK or the client's reply was lost, or was dropped because the accept queue was full"},
	Retransmits:                 {Retransmits, "retransmits", "1", Delta, I32, "tcp_requests", "Data segments retransmitted, as they are on the wire (tcp:tcp_retransmit_skb, gso_segs)"},
	RetransmitDelayUS:           {RetransmitDelayUS, "retransmit_delay_us", "us", Distribution, Unspecified, "tcp_requests", "Time from first to last transmission of data that a timer resent: clients received it at least this much later. Counted when the client next sends a packet; it adds to request_latency_us, which does not include it"},
	FastRetransmitDelayUS:       {FastRetransmitDelayUS, "fast_retransmit_delay_us", "us", Distribution, Unspecified, "tcp_requests", "Like retransmit_delay_us, of data resent without a timer, because the client had received what came after it: fast retransmit, about a round trip"},
	Reconnections:               {Reconnections, "reconnections", "1", Delta, I32, "tcp_requests", "Connections from addresses that had opened another one to this server within 10 s"},
	UpstreamCalls:               {UpstreamCalls, "upstream_calls", "1", Delta, I32, "tcp_requests", "Calls that ended: answered or given up"},
	UpstreamCallsSlow:           {UpstreamCallsSlow, "upstream_calls_slow", "1", Delta, I32, "tcp_requests", "Calls whose answer took longer than 20 ms"},
	UpstreamLatencyUS:           {UpstreamLatencyUS, "upstream_latency_us", "us", Distribution, Unspecified, "tcp_requests", "Time from the last packet of a request being sent to the first data of its answer: upstream and network, without the caller"},
	UpstreamLatencyMaxUS:        {UpstreamLatencyMaxUS, "upstream_latency_max_us", "us", Gauge, I32, "tcp_requests", "Slowest answer in the tick; missing if there was none"},
	UpstreamUnanswered:          {UpstreamUnanswered, "upstream_unanswered", "1", Delta, I32, "tcp_requests", "Calls whose connection ended without an answer"},
	HttpResponses:               {HttpResponses, "http_responses", "1", Delta, I32, "tcp_requests", "Answers whose plaintext HTTP status was read; missing until a server has sent one"},
	HttpClientErrors:            {HttpClientErrors, "http_client_errors", "1", Delta, I32, "tcp_requests", "HTTP answers with status 4xx"},
	HttpServerErrors:            {HttpServerErrors, "http_server_errors", "1", Delta, I32, "tcp_requests", "HTTP answers with status 5xx"},
	GrpcResponses:               {GrpcResponses, "grpc_responses", "1", Delta, I32, "tcp_requests", "Answers whose plaintext grpc-status was read, when it came: with the end of the answer; they are not part of http_responses; missing until a server has sent one"},
	GrpcClientErrors:            {GrpcClientErrors, "grpc_client_errors", "1", Delta, I32, "tcp_requests", "gRPC answers with any other code than OK and those of grpc_server_errors"},
	GrpcServerErrors:            {GrpcServerErrors, "grpc_server_errors", "1", Delta, I32, "tcp_requests", "gRPC answers with UNKNOWN (2), DEADLINE_EXCEEDED (4), UNIMPLEMENTED (12), INTERNAL (13), UNAVAILABLE (14), or DATA_LOSS (15)"},
}
