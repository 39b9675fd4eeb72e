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
	CPUUsageUS                  uint32 = 1   // CPU time used in the tick, all CPUs together
	CPUUserUS                   uint32 = 2   // CPU time used in user mode
	CPUSystemUS                 uint32 = 3   // CPU time used in kernel mode
	CPUPeriods                  uint32 = 4   // CFS bandwidth periods that ended in the tick (nr_periods)
	CPUThrottledPeriods         uint32 = 5   // Periods that ended throttled in the tick (nr_throttled)
	CPUThrottledUS              uint32 = 6   // Throttled time credited in the tick, summed over run queues, credited when a queue is unthrottled
	CPUBursts                   uint32 = 7   // Periods that used burst (nr_bursts)
	CPUBurstUS                  uint32 = 8   // CPU time above the quota taken from burst
	CPUThrottledLocalUS         uint32 = 9   // cpu.stat.local: throttled time including ancestors' limits
	MemoryUsageBytes            uint32 = 20  // Memory charged to the cgroup
	MemoryAnonBytes             uint32 = 21  // Anonymous memory (v1: rss)
	MemoryFileBytes             uint32 = 22  // Page cache (v1: cache)
	MemoryLimitHits             uint32 = 23  // Allocations that hit the limit (v1: failcnt, v2: memory.events max)
	MemoryOOMKills              uint32 = 24  // Processes killed by the OOM killer
	MemoryMajorFaults           uint32 = 25  // Major page faults
	MemoryRefaults              uint32 = 250 // Pages of files that were read again soon after they had been dropped (memory.stat workingset_refault_file)
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
	CollectorLatenessUS         uint32 = 60  // How long after its deadline the CPU time of the tick was read, without the time that reading takes
	CollectorCPUUS              uint32 = 61  // CPU time of the collector
	CollectorRSSBytes           uint32 = 62  // Resident memory of the collector
	CollectorTick               uint32 = 63  // Low 31 bits of start_us / 100000 of the tick: proves that each tick is stored once
	ProcessCPUUS                uint32 = 70  // CPU time of the process (user + system)
	ProcessThreads              uint32 = 71  // Threads
	GCCycles                    uint32 = 72  // GC cycles that ended in the tick
	GCActiveUS                  uint32 = 73  // Wall time of the tick in which a GC cycle was running
	GCPauseUS                   uint32 = 74  // Stop-the-world time in the tick
	HeapLiveBytes               uint32 = 75  // Heap in use after the last GC, where the runtime tells
	HeapGoalBytes               uint32 = 76  // Heap size that starts the next GC, where the runtime tells
	ProcessRunDelayUS           uint32 = 77  // Time that threads of the process were runnable and waited for a CPU, all threads together, counted in the tick in which the waiting ended; time throttled by a CPU limit is part of it
	ProcessBlockedUS            uint32 = 240 // Time that threads of the process were blocked in the kernel (state D), all threads together, also of waits that go on
	ProcessIOWaitUS             uint32 = 241 // The part of process_blocked_us in which threads waited for I/O itself; a wait for a lock or the journal of a file system is not part of it
	DiskReadBytes               uint32 = 242 // Bytes that the cgroup read from that disk; v1: only where a limit for the disk is set, on recent kernels, and without what the kernel writes back later
	DiskWrittenBytes            uint32 = 243 // Bytes that the cgroup wrote to that disk, as disk_read_bytes
	DiskReads                   uint32 = 244 // Read requests of the cgroup to that disk
	DiskWrites                  uint32 = 245 // Write requests of the cgroup to that disk
	DiskBusyUS                  uint32 = 246 // Time in which that disk had requests in flight, of all cgroups; of the node: of the disk that was busiest in the tick
	DiskRequests                uint32 = 247 // Requests that the same disk finished
	DiskRequestUS               uint32 = 248 // Time that these requests took, added up; a request held back by a limit of its cgroup has not begun
	DiskBytes                   uint32 = 249 // Bytes that the same disk read and wrote
	DNSQueries                  uint32 = 80  // Queries seen
	DNSAnswers                  uint32 = 81  // Answers seen
	DNSNxdomain                 uint32 = 82  // Answers NXDOMAIN
	DNSServfail                 uint32 = 83  // Answers SERVFAIL
	DNSRefused                  uint32 = 84  // Answers REFUSED
	DNSTimeouts                 uint32 = 85  // Queries given up after 5 s without an answer
	DNSLateServfail             uint32 = 98  // SERVFAIL answers to queries that were given up: counted in dns_timeouts 5 s after the query, and here when the answer came
	DNSSlow                     uint32 = 86  // Answers later than 20 ms
	DNSLatencyUS                uint32 = 87  // Query seen to answer seen
	DNSLatencyMaxUS             uint32 = 88  // Slowest answer of the tick; missing where there was none
	DNSInflight                 uint32 = 89  // Queries without an answer yet at the end of the tick
	DNSQueueWaitUS              uint32 = 90  // Packet in the socket's receive queue until the server read it
	DNSWorkUS                   uint32 = 91  // Query read until its answer was sent
	DNSSocketDrops              uint32 = 92  // Datagrams dropped because the receive buffer was full
	DNSReceiveQueueBytes        uint32 = 93  // Bytes waiting in the receive buffer
	ProbeLatencyUS              uint32 = 95  // Time to answer, as a client sees it
	ProbeSent                   uint32 = 96  // Probes sent
	ProbeFailures               uint32 = 97  // Probes without a usable answer in time
	DNSTcpConnections           uint32 = 100 // Established TCP connections from clients, accepted or not
	DNSTcpCloseWait             uint32 = 101 // Connections that the client closed and the server did not close yet
	DNSTcpIdle                  uint32 = 102 // Accepted TCP connections from clients without data for over 1 s and without a query that waits
	DNSAcceptBacklog            uint32 = 103 // Connections that are complete but not accepted by the server (sk_ack_backlog)
	DNSListenDrops              uint32 = 104 // Connection attempts that the listening socket dropped (sk_drops)
	DNSListenOverflows          uint32 = 105 // TcpExt ListenOverflows of the server's network namespace
	DNSUpstreamConnections      uint32 = 106 // Established TCP connections of the server's process to DNS servers that it asks
	DNSUpstreamIdle             uint32 = 107 // Of these, without data for over 1 s
	ProcessChildren             uint32 = 110 // Child processes of a DNS server (dnsmasq: one for each TCP connection)
	CorednsCacheHits            uint32 = 120 // Answers from the cache. This and the other coredns_ metrics: growth since the last reading of the metrics page (1 to 15 s), in the tick that read it, at the address of the process that is asked most
	CorednsCacheMisses          uint32 = 121 // Queries that the cache did not know
	CorednsForwardRequests      uint32 = 122 // Queries sent to an upstream (coredns_proxy_request_duration_seconds_count, before 1.11 coredns_forward_requests_total)
	CorednsForwardTimeUS        uint32 = 123 // Time that these took, added up
	CorednsForwardErrors        uint32 = 124 // SERVFAIL answers of upstreams, failed health checks and broken upstreams
	CorednsConnCacheHits        uint32 = 125 // Forwarded queries that found a pooled connection
	CorednsConnCacheMisses      uint32 = 126 // Forwarded queries that opened a connection
	CorednsMaxConcurrentRejects uint32 = 127 // Queries refused by forward's max_concurrent
	CorednsPanics               uint32 = 128 // Panics
	DnsmasqCacheHits            uint32 = 130 // Answers from dnsmasq's cache (CHAOS TXT hits.bind), every 10 s; of its main process, which serves UDP: TCP is served by children that count for themselves
	DnsmasqCacheMisses          uint32 = 131 // Queries that dnsmasq forwarded (CHAOS TXT misses.bind), as above
	Dentries                    uint32 = 140 // Dentries of the node (nr_dentry)
	DentriesUnused              uint32 = 141 // Of these, on an LRU list (nr_unused)
	DentriesNegative            uint32 = 142 // Of the unused ones, names that do not exist (nr_negative; 0 before Linux 5.0)
	SlabDentryBytes             uint32 = 143 // Memory of the dentry slab
	SlabInodeBytes              uint32 = 144 // Memory of all inode slabs
	SlabReclaimableBytes        uint32 = 145 // SReclaimable
	SlabUnreclaimableBytes      uint32 = 146 // SUnreclaim
	MemoryAvailableBytes        uint32 = 147 // MemAvailable
	MemoryFreeBytes             uint32 = 148 // MemFree
	MemoryCachedBytes           uint32 = 149 // Cached + Buffers
	VmScanDirectPages           uint32 = 150 // Pages scanned by tasks that allocate (pgscan_direct)
	VmScanKswapdPages           uint32 = 151 // Pages scanned by kswapd (pgscan_kswapd)
	VmStealDirectPages          uint32 = 152 // Pages reclaimed by tasks that allocate (pgsteal_direct)
	VmStealKswapdPages          uint32 = 153 // Pages reclaimed by kswapd (pgsteal_kswapd)
	VmAllocStalls               uint32 = 154 // Direct reclaims begun, all zones (allocstall_*)
	VmSlabsScanned              uint32 = 155 // Slab objects scanned (slabs_scanned)
	VmDropSlab                  uint32 = 156 // Times that slab was dropped by hand (drop_slab)
	VmCompactStalls             uint32 = 157 // Direct compactions (compact_stall)
	VmLowMarginBytes            uint32 = 158 // Free pages above the low watermark, added up over zones
	MemorySlabBytes             uint32 = 160 // Slab charged to the cgroup (v2: memory.stat slab; v1: memory.kmem.usage_in_bytes)
	MemoryReclaimScannedPages   uint32 = 161 // Pages scanned for the cgroup (v2: memory.stat pgscan)
	MemoryHighEvents            uint32 = 162 // Times that memory.high was passed (v2)
	ProcessFds                  uint32 = 165 // Open descriptors of a DNS server
	ProcessRSSBytes             uint32 = 166 // Resident memory of a watched process
	GoGoroutines                uint32 = 167 // Goroutines
	LookupFailures              uint32 = 170 // System calls on paths that failed with ENOENT; missing while nobody traces
	ThreadExits                 uint32 = 171 // Threads that ended
	Unmounts                    uint32 = 172 // File systems unmounted
	BpfLoads                    uint32 = 175 // eBPF programs loaded (bpf(2) BPF_PROG_LOAD that returned)
	BpfLoadUS                   uint32 = 176 // Time these calls took, verification included
	RecorderCPUUS               uint32 = 178 // CPU time of the flight recorder
	PodStartSliUS               uint32 = 180 // Pod start without image pull and init containers (kubelet_pod_start_sli_duration_seconds)
	PodStartTotalUS             uint32 = 181 // Pod start with all (kubelet_pod_start_total_duration_seconds; older: kubelet_pod_start_duration_seconds)
	PodSandboxUS                uint32 = 182 // run_podsandbox of the runtime (kubelet_runtime_operations_duration_seconds)
	PodImagePullUS              uint32 = 183 // Image pulls (kubelet_runtime_operations_duration_seconds pull_image)
	PodContainerStartUS         uint32 = 184 // create_container and start_container
	PodCgroupUS                 uint32 = 185 // Creating the cgroups of a pod (kubelet_cgroup_manager_duration_seconds create)
	PodCniUS                    uint32 = 186 // Endpoint regeneration of Cilium, total (cilium_endpoint_regeneration_time_stats_seconds)
	PodBpfLoadUS                uint32 = 187 // Of it, loading programs into the kernel (scope bpfLoadProg)
	PodBpfCompileUS             uint32 = 188 // Of it, compiling them (scope bpfCompilation)
	Requests                    uint32 = 200 // Requests seen: data that came to the server while it owed no answer on the connection
	Responses                   uint32 = 201 // Answers begun
	ResponsesSlow               uint32 = 202 // Answers begun later than 20 ms
	RequestLatencyUS            uint32 = 203 // Last byte of a request came to first byte of its answer sent
	RequestLatencyMaxUS         uint32 = 204 // Slowest answer of the tick; missing where there was none
	RequestsInflight            uint32 = 205 // Requests without an answer yet at the end of the tick
	RequestsUnanswered          uint32 = 206 // Requests whose connection ended without an answer
	RequestWaitUS               uint32 = 207 // Data in the socket until the program read it
	ConnectionsOpened           uint32 = 208 // Connections that clients completed; those that the kernel dropped before are not among them
	HandshakeUS                 uint32 = 209 // SYN answered to connection complete: one round trip and what came on top; where the SYN-ACK was sent again, 1 s, which is the least it can be; those of SYN cookies are not in it. What a client waited before its SYN came through is not in it
	AcceptQueue                 uint32 = 210 // Most connections at once that waited to be accepted, when one more began to (sk_ack_backlog); missing where none did
	ListenDrops                 uint32 = 211 // Packets of connection attempts that the listening sockets dropped (sk_drops, as ListenDrops by socket): SYNs, and of a handshake that cannot end its last packet, the request behind it, and both again; also a SYN that comes again as the SYN-ACK was lost; read every second
	SynackRetransmits           uint32 = 212 // SYN-ACKs sent again: it or the client's answer was lost, or was dropped because the accept queue was full
	Retransmits                 uint32 = 213 // Segments with data that were sent again (tcp:tcp_retransmit_skb)
	RetransmitDelayUS           uint32 = 214 // Data on their way until they were sent the last time, of data that the retransmission timer sent again: clients got them at least so much later. Counted when the client is heard of again; on top of request_latency_us, in which it is not
	Reconnections               uint32 = 215 // Connections of addresses that had opened another one to this server within 10 s
	UpstreamCalls               uint32 = 220 // Calls that ended: answered, or given up
	UpstreamCallsSlow           uint32 = 221 // Calls answered later than 20 ms
	UpstreamLatencyUS           uint32 = 222 // Last packet of a request sent to first data of its answer: the upstream and the network, without the caller
	UpstreamLatencyMaxUS        uint32 = 223 // Slowest answer of the tick; missing where there was none
	UpstreamUnanswered          uint32 = 224 // Calls whose connection ended without an answer
	HttpResponses               uint32 = 230 // Answers that began with a status of HTTP/1 in clear; missing until a server has given one
	HttpClientErrors            uint32 = 231 // Of these, status 4xx
	HttpServerErrors            uint32 = 232 // Of these, status 5xx
)

// Names of facts.
const (
	FactNodeHostname        = "node.hostname"         // Host name
	FactNodeName            = "node.name"             // Name of the node in Kubernetes
	FactNodeKernel          = "node.kernel"           // uname -r
	FactNodeOS              = "node.os"               // PRETTY_NAME of os-release
	FactNodeCpus            = "node.cpus"             // Online CPUs
	FactNodeMemoryBytes     = "node.memory_bytes"     // MemTotal
	FactNodeCgroupVersion   = "node.cgroup_version"   // 1 or 2
	FactNodeWatermarks      = "node.watermarks"       // JSON {min_free_kbytes, watermark_scale_factor, zones: [{name, min, low, high}]}, zones in pages
	FactNodeDentryLimit     = "node.dentry_limit"     // JSON of the limits this kernel has for negative dentries (fs.negative-dentry-limit, fs.dentry-fs-klimit, fs.dentry-negative); {}: none
	FactNodeCilium          = "node.cilium"           // Version of the Cilium agent on the node
	FactNodeKubelet         = "node.kubelet"          // Version of the kubelet
	FactProcessNss          = "process.nss"           // JSON {version, env, file_system} of a process that has NSS loaded: libnss3's version, NSS_SDB_USE_CACHE (absent: unset), type of the database's file system
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
	FactWorkloadObjective   = "workload.objective"    // Annotation jitterscope.io/objective of the pod, as it is written: p99<50ms; empty: it was removed
	FactWorkloadVersion     = "workload.version"      // Label app.kubernetes.io/version of the pod
	FactWorkloadChart       = "workload.chart"        // Label helm.sh/chart of the pod, NAME-VERSION
	FactWorkloadRestartedAt = "workload.restarted_at" // Annotation kubectl.kubernetes.io/restartedAt of the pod: when a rolling restart was asked for; empty: never
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
	FactDiskLimits          = "disk.limits"           // JSON list of {device, number, read_bytes_per_s, write_bytes_per_s, reads_per_s, writes_per_s}: the I/O limits of the cgroup (v1: blkio.throttle.*_device, v2: io.max), number MAJOR:MINOR; absent keys: no such limit
	FactDiskDevice          = "disk.device"           // Name of the disk that the cgroup did most I/O on, sda
	FactDiskRotational      = "disk.rotational"       // Whether that disk has turning platters: 1 or 0
	FactCPUWeight           = "cpu.weight"            // Share of contended CPU as cgroup v2 writes it: cpu.weight, or cpu.shares of v1 scaled (1024 is 100); idle where cpu.idle is set
	FactRuntimeName         = "runtime.name"          // jvm, nodejs or python: the runtime whose GC is watched; absent of Go programs, which have go.version
	FactRuntimeVersion      = "runtime.version"       // Release of that runtime
	FactRuntimeGCSource     = "runtime.gc_source"     // hsperfdata, uprobe or usdt: where GC data of this process come from
	FactRuntimeGCMarking    = "runtime.gc_marking"    // observed: cycles and gc_active_us of a Node.js include marking while the program runs; absent: the pauses alone
	FactRuntimeGCKind       = "runtime.gc_kind"       // Collectors of a JVM by its own names: PSParallelCompact, G1 young collection pauses, …
	FactRuntimeOptions      = "runtime.options"       // JSON list of the options that govern CPU, threads and memory, from command line and environment: -Xmx, -XX:ActiveProcessorCount, --max-old-space-size, …; no others
	FactRuntimeCpus         = "runtime.cpus"          // CPUs that the runtime believes in, where it tells
	FactTcpProgram          = "tcp.program"           // Base name of the executable that listens
	FactTcpProcess          = "tcp.process"           // Key of the process that listens, PID:STARTTIME_TICKS
	FactTcpAddresses        = "tcp.addresses"         // JSON list of ADDRESS:PORT it listens at
	FactTcpAcceptLimit      = "tcp.accept_limit"      // Connections that may wait to be accepted (sk_max_ack_backlog: the backlog of listen(), at most net.core.somaxconn); the least of its listening sockets
	FactTcpSomaxconn        = "tcp.somaxconn"         // net.core.somaxconn of the server's network namespace
	FactTcpListeners        = "tcp.listeners"         // Listening sockets (more than one at an address: SO_REUSEPORT)
	FactUpstreamServer      = "upstream.server"       // Key of the TCP server of this node that listens there; absent where it is elsewhere or not known
	FactDNSSoftware         = "dns.software"          // coredns, dnsmasq, unbound, named, …
	FactDNSVersion          = "dns.version"           // From build info or version.bind
	FactDNSUDPSockets       = "dns.udp_sockets"       // UDP sockets bound to the address (more than one: SO_REUSEPORT)
	FactDNSCorefile         = "dns.corefile"          // Corefile of a CoreDNS, secrets removed
	FactDNSCorefileParsed   = "dns.corefile_parsed"   // The same as CoreDNS's own parser reads it, imports and snippets put in: JSON list of {zones, plugins: [{name, args, options}]}, options a list of lists of words; {$NAME} stays as written; absent where it cannot be parsed
	FactDNSPathSplit        = "dns.path_split"        // available, or why it is not
	FactDNSArguments        = "dns.arguments"         // Command line of a dnsmasq, secrets removed; arguments separated by spaces
	FactDNSUpstreams        = "dns.upstreams"         // JSON list of {zone, address, port, force_tcp, prefer_udp, max_concurrent, expire_s, policy}: where the server forwards, from the Corefile or the arguments; absent keys: not set
	FactDNSChildLimit       = "dns.child_limit"       // Most TCP connections that a dnsmasq serves at once: 20, or --max-tcp-connections
	FactDNSNegativeCache    = "dns.negative_cache"    // yes, no, or absent where it cannot be told
	FactDNSResolvConf       = "dns.resolv_conf"       // JSON {nameservers, search, ndots, options} of the container's resolv.conf
	FactNetAddresses        = "net.addresses"         // JSON list of IP addresses of the container's network namespace, loopback left out; absent in the node's own namespace
	FactKubeDNSAutoscaler   = "kube.dns_autoscaler"   // JSON of the kube-dns-autoscaler ConfigMap: linear or ladder parameters
	FactKubeClusterSize     = "kube.cluster_size"     // JSON {nodes, cores, kube_dns_replicas} of the cluster, where the API server may be asked
	FactKubeServerVersion   = "kube.server_version"   // gitVersion of the API server, v1.30.5-gke.1014001
	FactKubeStubDomains     = "kube.stub_domains"     // JSON of stubDomains and upstreamNameservers of the kube-dns ConfigMap
)

// Names of events.
const (
	EventGoGCCycle        = "go.gc_cycle"        // One GC cycle, start to end of mark termination. attributes: source (uprobe|metrics|threads), pause_us
	EventGCCycle          = "gc.cycle"           // One collection of a runtime other than Go, start to end. attributes: source (hsperfdata|uprobe|usdt), collector, cause, pause_us (the part in which the program stood still); marking_us where the program ran for so long first while its heap was marked
	EventProcessStart     = "process.start"      // A watched process appeared
	EventProcessExit      = "process.exit"       // A watched process ended
	EventMemoryOOMKill    = "memory.oom_kill"    // The OOM killer ended a process. attributes: count; where the kernel tells: pid, command, constraint (memcg|none|cpuset|mempolicy), limit_cgroup (whose limit), anon_bytes, file_bytes, shmem_bytes, trigger_command (who asked for memory). uncounted_by (kernel_log|kubelet): the cgroup was removed before its counter was read, so memory_oom_kills lacks this kill; the kubelet tells reason, exit_code, restarts. Of the node: kills in cgroups that are not watched, with cgroup
	EventCollectorStart   = "collector.start"    // The collector started. attributes: version
	EventCollectorShed    = "collector.shed"     // The collector lowered its resolution to stay in budget. attributes: from, to, why
	EventDNSError         = "dns.error"          // Error lines of one kind within a second. attributes: kind (io_timeout|connection_refused|unreachable|too_many_connections|panic|other), count, upstream, name, line (the first)
	EventDNSNames         = "dns.names"          // Names asked most in the span of the event. attributes: rows, a JSON list of [client, name, type, queries, nxdomain, servfail, latency_sum_us]; queries, nxdomain, servfail, latency_sum_us, names: totals of the span, names not listed included (names: an estimate where not all fit). A query counts when it is answered or given up
	EventRequestsKinds    = "requests.kinds"     // Answered requests of the span of the event by kind, as far as it is known: method and route of HTTP/1 (ids replaced), command of Redis, statement of PostgreSQL and MySQL, all in clear. attributes: rows, a JSON list of [kind, requests, slow (over 20 ms), http_client_errors, http_server_errors, latency_sum_us, latency_max_us]; an empty kind: further ones; errors null: not measured, as no answer had a status that was read; latency, a JSON list of [bucket, requests, bucket, requests, ...] for each of the first rows, as many as fit: bucket b holds latencies over 1.04^(3b-3) up to 1.04^(3b) us
	EventFsLookupFailures = "fs.lookup_failures" // Who looked for names that do not exist in the span of the event. attributes: rows, a JSON list of [command, pid, pattern, count], pattern with digits as # and hex as % (pid 0: further processes); total; nss, where such a program has NSS loaded: JSON {command, version, env, file_system} as in process.nss
	EventFsTracing        = "fs.tracing"         // Failing lookups were traced in this span. attributes: why
	EventFsUnmount        = "fs.unmount"         // A file system was unmounted; the event lasts while dentries are thrown away behind it, 0: too short to see. attributes: target, type, last (yes: it was the last mount of its file system), dentries (thrown away), command and pid (of the process that used most system time meanwhile, where it took long)
	EventFsDropCaches     = "fs.drop_caches"     // Caches were dropped by hand; the event is when that was over. attributes: command, pid, what (1: pages, 2: dentries and inodes, 3: both)
	EventProcessMassExit  = "process.mass_exit"  // Many threads ended within a second. attributes: command, pid, threads
	EventBpfLoad          = "bpf.load"           // An eBPF program was loaded; the event lasts from the begin of its verification to its end. attributes: command, pid, name, type, instructions (after verification), verified_instructions; where it was unloaded at once, only command and pid, and no duration. Loads that the verifier refuses are not seen
	EventPodStart         = "pod.start"          // A pod started; the event lasts from its creation to running. attributes: namespace, pod, and *_us of the phases known
)

// All has every metric, by id.
var All = map[uint32]Metric{
	CPUUsageUS:                  {CPUUsageUS, "cpu_usage_us", "us", Delta, I32, "cgroup_cpu", "CPU time used in the tick, all CPUs together"},
	CPUUserUS:                   {CPUUserUS, "cpu_user_us", "us", Delta, I32, "cgroup_cpu", "CPU time used in user mode"},
	CPUSystemUS:                 {CPUSystemUS, "cpu_system_us", "us", Delta, I32, "cgroup_cpu", "CPU time used in kernel mode"},
	CPUPeriods:                  {CPUPeriods, "cpu_periods", "1", Delta, I16, "cgroup_cpu", "CFS bandwidth periods that ended in the tick (nr_periods)"},
	CPUThrottledPeriods:         {CPUThrottledPeriods, "cpu_throttled_periods", "1", Delta, I16, "cgroup_cpu", "Periods that ended throttled in the tick (nr_throttled)"},
	CPUThrottledUS:              {CPUThrottledUS, "cpu_throttled_us", "us", Delta, I32, "cgroup_cpu", "Throttled time credited in the tick, summed over run queues, credited when a queue is unthrottled"},
	CPUBursts:                   {CPUBursts, "cpu_bursts", "1", Delta, I16, "cgroup_cpu", "Periods that used burst (nr_bursts)"},
	CPUBurstUS:                  {CPUBurstUS, "cpu_burst_us", "us", Delta, I32, "cgroup_cpu", "CPU time above the quota taken from burst"},
	CPUThrottledLocalUS:         {CPUThrottledLocalUS, "cpu_throttled_local_us", "us", Delta, I32, "cgroup_cpu", "cpu.stat.local: throttled time including ancestors' limits"},
	MemoryUsageBytes:            {MemoryUsageBytes, "memory_usage_bytes", "bytes", Gauge, F64, "cgroup_memory", "Memory charged to the cgroup"},
	MemoryAnonBytes:             {MemoryAnonBytes, "memory_anon_bytes", "bytes", Gauge, F64, "cgroup_memory", "Anonymous memory (v1: rss)"},
	MemoryFileBytes:             {MemoryFileBytes, "memory_file_bytes", "bytes", Gauge, F64, "cgroup_memory", "Page cache (v1: cache)"},
	MemoryLimitHits:             {MemoryLimitHits, "memory_limit_hits", "1", Delta, I32, "cgroup_memory", "Allocations that hit the limit (v1: failcnt, v2: memory.events max)"},
	MemoryOOMKills:              {MemoryOOMKills, "memory_oom_kills", "1", Delta, I16, "cgroup_memory", "Processes killed by the OOM killer"},
	MemoryMajorFaults:           {MemoryMajorFaults, "memory_major_faults", "1", Delta, I32, "cgroup_memory", "Major page faults"},
	MemoryRefaults:              {MemoryRefaults, "memory_refaults", "1", Delta, I32, "cgroup_memory", "Pages of files that were read again soon after they had been dropped (memory.stat workingset_refault_file)"},
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
	CollectorLatenessUS:         {CollectorLatenessUS, "collector_lateness_us", "us", Gauge, I32, "self", "How long after its deadline the CPU time of the tick was read, without the time that reading takes"},
	CollectorCPUUS:              {CollectorCPUUS, "collector_cpu_us", "us", Delta, I32, "self", "CPU time of the collector"},
	CollectorRSSBytes:           {CollectorRSSBytes, "collector_rss_bytes", "bytes", Gauge, F64, "self", "Resident memory of the collector"},
	CollectorTick:               {CollectorTick, "collector_tick", "1", Gauge, I32, "self", "Low 31 bits of start_us / 100000 of the tick: proves that each tick is stored once"},
	ProcessCPUUS:                {ProcessCPUUS, "process_cpu_us", "us", Delta, I32, "process", "CPU time of the process (user + system)"},
	ProcessThreads:              {ProcessThreads, "process_threads", "1", Gauge, I32, "process", "Threads"},
	GCCycles:                    {GCCycles, "gc_cycles", "1", Delta, I16, "go_runtime", "GC cycles that ended in the tick"},
	GCActiveUS:                  {GCActiveUS, "gc_active_us", "us", Delta, I32, "go_runtime", "Wall time of the tick in which a GC cycle was running"},
	GCPauseUS:                   {GCPauseUS, "gc_pause_us", "us", Delta, I32, "go_runtime", "Stop-the-world time in the tick"},
	HeapLiveBytes:               {HeapLiveBytes, "heap_live_bytes", "bytes", Gauge, F64, "go_runtime", "Heap in use after the last GC, where the runtime tells"},
	HeapGoalBytes:               {HeapGoalBytes, "heap_goal_bytes", "bytes", Gauge, F64, "go_runtime", "Heap size that starts the next GC, where the runtime tells"},
	ProcessRunDelayUS:           {ProcessRunDelayUS, "process_run_delay_us", "us", Delta, I32, "run_delay", "Time that threads of the process were runnable and waited for a CPU, all threads together, counted in the tick in which the waiting ended; time throttled by a CPU limit is part of it"},
	ProcessBlockedUS:            {ProcessBlockedUS, "process_blocked_us", "us", Delta, I32, "blocked", "Time that threads of the process were blocked in the kernel (state D), all threads together, also of waits that go on"},
	ProcessIOWaitUS:             {ProcessIOWaitUS, "process_io_wait_us", "us", Delta, I32, "blocked", "The part of process_blocked_us in which threads waited for I/O itself; a wait for a lock or the journal of a file system is not part of it"},
	DiskReadBytes:               {DiskReadBytes, "disk_read_bytes", "bytes", Delta, F64, "disk_io", "Bytes that the cgroup read from that disk; v1: only where a limit for the disk is set, on recent kernels, and without what the kernel writes back later"},
	DiskWrittenBytes:            {DiskWrittenBytes, "disk_written_bytes", "bytes", Delta, F64, "disk_io", "Bytes that the cgroup wrote to that disk, as disk_read_bytes"},
	DiskReads:                   {DiskReads, "disk_reads", "1", Delta, I32, "disk_io", "Read requests of the cgroup to that disk"},
	DiskWrites:                  {DiskWrites, "disk_writes", "1", Delta, I32, "disk_io", "Write requests of the cgroup to that disk"},
	DiskBusyUS:                  {DiskBusyUS, "disk_busy_us", "us", Delta, I32, "disk_io", "Time in which that disk had requests in flight, of all cgroups; of the node: of the disk that was busiest in the tick"},
	DiskRequests:                {DiskRequests, "disk_requests", "1", Delta, I32, "disk_io", "Requests that the same disk finished"},
	DiskRequestUS:               {DiskRequestUS, "disk_request_us", "us", Delta, I32, "disk_io", "Time that these requests took, added up; a request held back by a limit of its cgroup has not begun"},
	DiskBytes:                   {DiskBytes, "disk_bytes", "bytes", Delta, F64, "disk_io", "Bytes that the same disk read and wrote"},
	DNSQueries:                  {DNSQueries, "dns_queries", "1", Delta, I32, "dns_capture", "Queries seen"},
	DNSAnswers:                  {DNSAnswers, "dns_answers", "1", Delta, I32, "dns_capture", "Answers seen"},
	DNSNxdomain:                 {DNSNxdomain, "dns_nxdomain", "1", Delta, I32, "dns_capture", "Answers NXDOMAIN"},
	DNSServfail:                 {DNSServfail, "dns_servfail", "1", Delta, I32, "dns_capture", "Answers SERVFAIL"},
	DNSRefused:                  {DNSRefused, "dns_refused", "1", Delta, I32, "dns_capture", "Answers REFUSED"},
	DNSTimeouts:                 {DNSTimeouts, "dns_timeouts", "1", Delta, I32, "dns_capture", "Queries given up after 5 s without an answer"},
	DNSLateServfail:             {DNSLateServfail, "dns_late_servfail", "1", Delta, I32, "dns_capture", "SERVFAIL answers to queries that were given up: counted in dns_timeouts 5 s after the query, and here when the answer came"},
	DNSSlow:                     {DNSSlow, "dns_slow", "1", Delta, I32, "dns_capture", "Answers later than 20 ms"},
	DNSLatencyUS:                {DNSLatencyUS, "dns_latency_us", "us", Distribution, Unspecified, "dns_capture", "Query seen to answer seen"},
	DNSLatencyMaxUS:             {DNSLatencyMaxUS, "dns_latency_max_us", "us", Gauge, I32, "dns_capture", "Slowest answer of the tick; missing where there was none"},
	DNSInflight:                 {DNSInflight, "dns_inflight", "1", Gauge, I32, "dns_capture", "Queries without an answer yet at the end of the tick"},
	DNSQueueWaitUS:              {DNSQueueWaitUS, "dns_queue_wait_us", "us", Distribution, Unspecified, "dns_path_split", "Packet in the socket's receive queue until the server read it"},
	DNSWorkUS:                   {DNSWorkUS, "dns_work_us", "us", Distribution, Unspecified, "dns_path_split", "Query read until its answer was sent"},
	DNSSocketDrops:              {DNSSocketDrops, "dns_socket_drops", "1", Delta, I32, "udp_socket", "Datagrams dropped because the receive buffer was full"},
	DNSReceiveQueueBytes:        {DNSReceiveQueueBytes, "dns_receive_queue_bytes", "bytes", Gauge, I32, "udp_socket", "Bytes waiting in the receive buffer"},
	ProbeLatencyUS:              {ProbeLatencyUS, "probe_latency_us", "us", Distribution, Unspecified, "dns_probe", "Time to answer, as a client sees it"},
	ProbeSent:                   {ProbeSent, "probe_sent", "1", Delta, I16, "dns_probe", "Probes sent"},
	ProbeFailures:               {ProbeFailures, "probe_failures", "1", Delta, I16, "dns_probe", "Probes without a usable answer in time"},
	DNSTcpConnections:           {DNSTcpConnections, "dns_tcp_connections", "1", Gauge, I32, "dns_tcp", "Established TCP connections from clients, accepted or not"},
	DNSTcpCloseWait:             {DNSTcpCloseWait, "dns_tcp_close_wait", "1", Gauge, I32, "dns_tcp", "Connections that the client closed and the server did not close yet"},
	DNSTcpIdle:                  {DNSTcpIdle, "dns_tcp_idle", "1", Gauge, I32, "dns_tcp", "Accepted TCP connections from clients without data for over 1 s and without a query that waits"},
	DNSAcceptBacklog:            {DNSAcceptBacklog, "dns_accept_backlog", "1", Gauge, I32, "dns_tcp", "Connections that are complete but not accepted by the server (sk_ack_backlog)"},
	DNSListenDrops:              {DNSListenDrops, "dns_listen_drops", "1", Delta, I32, "dns_tcp", "Connection attempts that the listening socket dropped (sk_drops)"},
	DNSListenOverflows:          {DNSListenOverflows, "dns_listen_overflows", "1", Delta, I32, "dns_tcp", "TcpExt ListenOverflows of the server's network namespace"},
	DNSUpstreamConnections:      {DNSUpstreamConnections, "dns_upstream_connections", "1", Gauge, I32, "dns_tcp", "Established TCP connections of the server's process to DNS servers that it asks"},
	DNSUpstreamIdle:             {DNSUpstreamIdle, "dns_upstream_idle", "1", Gauge, I32, "dns_tcp", "Of these, without data for over 1 s"},
	ProcessChildren:             {ProcessChildren, "process_children", "1", Gauge, I32, "process_children", "Child processes of a DNS server (dnsmasq: one for each TCP connection)"},
	CorednsCacheHits:            {CorednsCacheHits, "coredns_cache_hits", "1", Delta, I32, "coredns_metrics", "Answers from the cache. This and the other coredns_ metrics: growth since the last reading of the metrics page (1 to 15 s), in the tick that read it, at the address of the process that is asked most"},
	CorednsCacheMisses:          {CorednsCacheMisses, "coredns_cache_misses", "1", Delta, I32, "coredns_metrics", "Queries that the cache did not know"},
	CorednsForwardRequests:      {CorednsForwardRequests, "coredns_forward_requests", "1", Delta, I32, "coredns_metrics", "Queries sent to an upstream (coredns_proxy_request_duration_seconds_count, before 1.11 coredns_forward_requests_total)"},
	CorednsForwardTimeUS:        {CorednsForwardTimeUS, "coredns_forward_time_us", "us", Delta, F64, "coredns_metrics", "Time that these took, added up"},
	CorednsForwardErrors:        {CorednsForwardErrors, "coredns_forward_errors", "1", Delta, I32, "coredns_metrics", "SERVFAIL answers of upstreams, failed health checks and broken upstreams"},
	CorednsConnCacheHits:        {CorednsConnCacheHits, "coredns_conn_cache_hits", "1", Delta, I32, "coredns_metrics", "Forwarded queries that found a pooled connection"},
	CorednsConnCacheMisses:      {CorednsConnCacheMisses, "coredns_conn_cache_misses", "1", Delta, I32, "coredns_metrics", "Forwarded queries that opened a connection"},
	CorednsMaxConcurrentRejects: {CorednsMaxConcurrentRejects, "coredns_max_concurrent_rejects", "1", Delta, I32, "coredns_metrics", "Queries refused by forward's max_concurrent"},
	CorednsPanics:               {CorednsPanics, "coredns_panics", "1", Delta, I32, "coredns_metrics", "Panics"},
	DnsmasqCacheHits:            {DnsmasqCacheHits, "dnsmasq_cache_hits", "1", Delta, I32, "dnsmasq_counters", "Answers from dnsmasq's cache (CHAOS TXT hits.bind), every 10 s; of its main process, which serves UDP: TCP is served by children that count for themselves"},
	DnsmasqCacheMisses:          {DnsmasqCacheMisses, "dnsmasq_cache_misses", "1", Delta, I32, "dnsmasq_counters", "Queries that dnsmasq forwarded (CHAOS TXT misses.bind), as above"},
	Dentries:                    {Dentries, "dentries", "1", Gauge, F64, "dentry_state", "Dentries of the node (nr_dentry)"},
	DentriesUnused:              {DentriesUnused, "dentries_unused", "1", Gauge, F64, "dentry_state", "Of these, on an LRU list (nr_unused)"},
	DentriesNegative:            {DentriesNegative, "dentries_negative", "1", Gauge, F64, "dentry_state", "Of the unused ones, names that do not exist (nr_negative; 0 before Linux 5.0)"},
	SlabDentryBytes:             {SlabDentryBytes, "slab_dentry_bytes", "bytes", Gauge, F64, "slabinfo", "Memory of the dentry slab"},
	SlabInodeBytes:              {SlabInodeBytes, "slab_inode_bytes", "bytes", Gauge, F64, "slabinfo", "Memory of all inode slabs"},
	SlabReclaimableBytes:        {SlabReclaimableBytes, "slab_reclaimable_bytes", "bytes", Gauge, F64, "meminfo", "SReclaimable"},
	SlabUnreclaimableBytes:      {SlabUnreclaimableBytes, "slab_unreclaimable_bytes", "bytes", Gauge, F64, "meminfo", "SUnreclaim"},
	MemoryAvailableBytes:        {MemoryAvailableBytes, "memory_available_bytes", "bytes", Gauge, F64, "meminfo", "MemAvailable"},
	MemoryFreeBytes:             {MemoryFreeBytes, "memory_free_bytes", "bytes", Gauge, F64, "meminfo", "MemFree"},
	MemoryCachedBytes:           {MemoryCachedBytes, "memory_cached_bytes", "bytes", Gauge, F64, "meminfo", "Cached + Buffers"},
	VmScanDirectPages:           {VmScanDirectPages, "vm_scan_direct_pages", "1", Delta, I32, "vmstat", "Pages scanned by tasks that allocate (pgscan_direct)"},
	VmScanKswapdPages:           {VmScanKswapdPages, "vm_scan_kswapd_pages", "1", Delta, I32, "vmstat", "Pages scanned by kswapd (pgscan_kswapd)"},
	VmStealDirectPages:          {VmStealDirectPages, "vm_steal_direct_pages", "1", Delta, I32, "vmstat", "Pages reclaimed by tasks that allocate (pgsteal_direct)"},
	VmStealKswapdPages:          {VmStealKswapdPages, "vm_steal_kswapd_pages", "1", Delta, I32, "vmstat", "Pages reclaimed by kswapd (pgsteal_kswapd)"},
	VmAllocStalls:               {VmAllocStalls, "vm_alloc_stalls", "1", Delta, I32, "vmstat", "Direct reclaims begun, all zones (allocstall_*)"},
	VmSlabsScanned:              {VmSlabsScanned, "vm_slabs_scanned", "1", Delta, I32, "vmstat", "Slab objects scanned (slabs_scanned)"},
	VmDropSlab:                  {VmDropSlab, "vm_drop_slab", "1", Delta, I16, "vmstat", "Times that slab was dropped by hand (drop_slab)"},
	VmCompactStalls:             {VmCompactStalls, "vm_compact_stalls", "1", Delta, I32, "vmstat", "Direct compactions (compact_stall)"},
	VmLowMarginBytes:            {VmLowMarginBytes, "vm_low_margin_bytes", "bytes", Gauge, F64, "watermarks", "Free pages above the low watermark, added up over zones"},
	MemorySlabBytes:             {MemorySlabBytes, "memory_slab_bytes", "bytes", Gauge, F64, "cgroup_reclaim", "Slab charged to the cgroup (v2: memory.stat slab; v1: memory.kmem.usage_in_bytes)"},
	MemoryReclaimScannedPages:   {MemoryReclaimScannedPages, "memory_reclaim_scanned_pages", "1", Delta, I32, "cgroup_reclaim", "Pages scanned for the cgroup (v2: memory.stat pgscan)"},
	MemoryHighEvents:            {MemoryHighEvents, "memory_high_events", "1", Delta, I32, "cgroup_reclaim", "Times that memory.high was passed (v2)"},
	ProcessFds:                  {ProcessFds, "process_fds", "1", Gauge, I32, "process_memory", "Open descriptors of a DNS server"},
	ProcessRSSBytes:             {ProcessRSSBytes, "process_rss_bytes", "bytes", Gauge, F64, "process_memory", "Resident memory of a watched process"},
	GoGoroutines:                {GoGoroutines, "go_goroutines", "1", Gauge, I32, "go_runtime", "Goroutines"},
	LookupFailures:              {LookupFailures, "lookup_failures", "1", Delta, I32, "failed_lookups", "System calls on paths that failed with ENOENT; missing while nobody traces"},
	ThreadExits:                 {ThreadExits, "thread_exits", "1", Delta, I32, "process_exits", "Threads that ended"},
	Unmounts:                    {Unmounts, "unmounts", "1", Delta, I16, "unmounts", "File systems unmounted"},
	BpfLoads:                    {BpfLoads, "bpf_loads", "1", Delta, I16, "bpf_loads", "eBPF programs loaded (bpf(2) BPF_PROG_LOAD that returned)"},
	BpfLoadUS:                   {BpfLoadUS, "bpf_load_us", "us", Delta, I32, "bpf_loads", "Time these calls took, verification included"},
	RecorderCPUUS:               {RecorderCPUUS, "recorder_cpu_us", "us", Delta, I32, "flight_recorder", "CPU time of the flight recorder"},
	PodStartSliUS:               {PodStartSliUS, "pod_start_sli_us", "us", Distribution, Unspecified, "kubelet_metrics", "Pod start without image pull and init containers (kubelet_pod_start_sli_duration_seconds)"},
	PodStartTotalUS:             {PodStartTotalUS, "pod_start_total_us", "us", Distribution, Unspecified, "kubelet_metrics", "Pod start with all (kubelet_pod_start_total_duration_seconds; older: kubelet_pod_start_duration_seconds)"},
	PodSandboxUS:                {PodSandboxUS, "pod_sandbox_us", "us", Distribution, Unspecified, "kubelet_metrics", "run_podsandbox of the runtime (kubelet_runtime_operations_duration_seconds)"},
	PodImagePullUS:              {PodImagePullUS, "pod_image_pull_us", "us", Distribution, Unspecified, "kubelet_metrics", "Image pulls (kubelet_runtime_operations_duration_seconds pull_image)"},
	PodContainerStartUS:         {PodContainerStartUS, "pod_container_start_us", "us", Distribution, Unspecified, "kubelet_metrics", "create_container and start_container"},
	PodCgroupUS:                 {PodCgroupUS, "pod_cgroup_us", "us", Distribution, Unspecified, "kubelet_metrics", "Creating the cgroups of a pod (kubelet_cgroup_manager_duration_seconds create)"},
	PodCniUS:                    {PodCniUS, "pod_cni_us", "us", Distribution, Unspecified, "cni_metrics", "Endpoint regeneration of Cilium, total (cilium_endpoint_regeneration_time_stats_seconds)"},
	PodBpfLoadUS:                {PodBpfLoadUS, "pod_bpf_load_us", "us", Distribution, Unspecified, "cni_metrics", "Of it, loading programs into the kernel (scope bpfLoadProg)"},
	PodBpfCompileUS:             {PodBpfCompileUS, "pod_bpf_compile_us", "us", Distribution, Unspecified, "cni_metrics", "Of it, compiling them (scope bpfCompilation)"},
	Requests:                    {Requests, "requests", "1", Delta, I32, "tcp_requests", "Requests seen: data that came to the server while it owed no answer on the connection"},
	Responses:                   {Responses, "responses", "1", Delta, I32, "tcp_requests", "Answers begun"},
	ResponsesSlow:               {ResponsesSlow, "responses_slow", "1", Delta, I32, "tcp_requests", "Answers begun later than 20 ms"},
	RequestLatencyUS:            {RequestLatencyUS, "request_latency_us", "us", Distribution, Unspecified, "tcp_requests", "Last byte of a request came to first byte of its answer sent"},
	RequestLatencyMaxUS:         {RequestLatencyMaxUS, "request_latency_max_us", "us", Gauge, I32, "tcp_requests", "Slowest answer of the tick; missing where there was none"},
	RequestsInflight:            {RequestsInflight, "requests_inflight", "1", Gauge, I32, "tcp_requests", "Requests without an answer yet at the end of the tick"},
	RequestsUnanswered:          {RequestsUnanswered, "requests_unanswered", "1", Delta, I32, "tcp_requests", "Requests whose connection ended without an answer"},
	RequestWaitUS:               {RequestWaitUS, "request_wait_us", "us", Distribution, Unspecified, "tcp_requests", "Data in the socket until the program read it"},
	ConnectionsOpened:           {ConnectionsOpened, "connections_opened", "1", Delta, I32, "tcp_requests", "Connections that clients completed; those that the kernel dropped before are not among them"},
	HandshakeUS:                 {HandshakeUS, "handshake_us", "us", Distribution, Unspecified, "tcp_requests", "SYN answered to connection complete: one round trip and what came on top; where the SYN-ACK was sent again, 1 s, which is the least it can be; those of SYN cookies are not in it. What a client waited before its SYN came through is not in it"},
	AcceptQueue:                 {AcceptQueue, "accept_queue", "1", Gauge, I32, "tcp_requests", "Most connections at once that waited to be accepted, when one more began to (sk_ack_backlog); missing where none did"},
	ListenDrops:                 {ListenDrops, "listen_drops", "1", Delta, I32, "tcp_requests", "Packets of connection attempts that the listening sockets dropped (sk_drops, as ListenDrops by socket): SYNs, and of a handshake that cannot end its last packet, the request behind it, and both again; also a SYN that comes again as the SYN-ACK was lost; read every second"},
	SynackRetransmits:           {SynackRetransmits, "synack_retransmits", "1", Delta, I32, "tcp_requests", "SYN-ACKs sent again: it or the client's answer was lost, or was dropped because the accept queue was full"},
	Retransmits:                 {Retransmits, "retransmits", "1", Delta, I32, "tcp_requests", "Segments with data that were sent again (tcp:tcp_retransmit_skb)"},
	RetransmitDelayUS:           {RetransmitDelayUS, "retransmit_delay_us", "us", Distribution, Unspecified, "tcp_requests", "Data on their way until they were sent the last time, of data that the retransmission timer sent again: clients got them at least so much later. Counted when the client is heard of again; on top of request_latency_us, in which it is not"},
	Reconnections:               {Reconnections, "reconnections", "1", Delta, I32, "tcp_requests", "Connections of addresses that had opened another one to this server within 10 s"},
	UpstreamCalls:               {UpstreamCalls, "upstream_calls", "1", Delta, I32, "tcp_requests", "Calls that ended: answered, or given up"},
	UpstreamCallsSlow:           {UpstreamCallsSlow, "upstream_calls_slow", "1", Delta, I32, "tcp_requests", "Calls answered later than 20 ms"},
	UpstreamLatencyUS:           {UpstreamLatencyUS, "upstream_latency_us", "us", Distribution, Unspecified, "tcp_requests", "Last packet of a request sent to first data of its answer: the upstream and the network, without the caller"},
	UpstreamLatencyMaxUS:        {UpstreamLatencyMaxUS, "upstream_latency_max_us", "us", Gauge, I32, "tcp_requests", "Slowest answer of the tick; missing where there was none"},
	UpstreamUnanswered:          {UpstreamUnanswered, "upstream_unanswered", "1", Delta, I32, "tcp_requests", "Calls whose connection ended without an answer"},
	HttpResponses:               {HttpResponses, "http_responses", "1", Delta, I32, "tcp_requests", "Answers that began with a status of HTTP/1 in clear; missing until a server has given one"},
	HttpClientErrors:            {HttpClientErrors, "http_client_errors", "1", Delta, I32, "tcp_requests", "Of these, status 4xx"},
	HttpServerErrors:            {HttpServerErrors, "http_server_errors", "1", Delta, I32, "tcp_requests", "Of these, status 5xx"},
}
