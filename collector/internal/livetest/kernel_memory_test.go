package livetest

import (
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/deathsig"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// memoryCgroup creates a cgroup of the memory controller with a limit.
func memoryCgroup(t *testing.T, limitBytes int64) (directory, path string) {
	t.Helper()
	root, file := "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
	if _, err := os.Stat(filepath.Join(root, "cgroup.procs")); err != nil {
		root, file = "/sys/fs/cgroup", "memory.max"
	}
	path = newCgroupPath("/jitterscope-livetest-memory")
	directory = root + path
	makeCgroup(t, directory)
	if err := os.WriteFile(filepath.Join(directory, file), []byte(strconv.FormatInt(limitBytes, 10)), 0o644); err != nil {
		testenv.Skip(t, "the memory controller is not available: %v", err)
	}
	return directory, path
}

// TestOOMKillIsAnnouncedAndExplained: growing memory requests a diagnosis well before the kernel kills, and the event
// of the kill says which process it hit and why.
func TestOOMKillIsAnnouncedAndExplained(t *testing.T) {
	t.Parallel()
	t.Run("by the device", func(t *testing.T) { oomKill(t) })
	config := filepath.Join(t.TempDir(), "collector.toml")
	if err := os.WriteFile(config, []byte("[sources.oom_record]\ndevice = \"syslog\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("by the system call", func(t *testing.T) { oomKill(t, "-config", config) })
}

func oomKill(t *testing.T, arguments ...string) {
	const limit, rate = 96 << 20, 24 // MiB/s: four seconds
	program := buildTestProgram(t, "grow")
	directory, path := memoryCgroup(t, limit)
	o := observe(t, "cgroup_memory,cgroup_reclaim,oom_record", arguments...)
	o.needs("cgroup_memory")
	o.needs("oom_record")
	waitFor(t, "the limit is known", func() bool { return o.fact(path, catalogue.FactMemoryLimitBytes) == strconv.Itoa(limit) })

	wrap := inCgroup(directory)
	command := exec.Command(wrap[0], append(wrap[1:], program, strconv.Itoa(rate))...)
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := deathsig.Start(command); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = input.Close() })
	time.Sleep(500 * time.Millisecond)
	began := time.Now()
	if _, err := input.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err == nil || command.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("it ended otherwise: %v", err)
	}
	killed := time.Now()
	waitFor(t, "the event of the kill", func() bool { return len(o.events(path, catalogue.EventMemoryOOMKill)) > 0 })

	growth := o.triggers(path, "memory_growth")
	if len(growth) == 0 {
		t.Fatal("nobody asked for a diagnosis before the kill")
	}
	noticed, lasted := time.UnixMicro(growth[0]).Sub(began), killed.Sub(began)
	t.Logf("growth noticed %v after it began, killed after %v, %d triggers", noticed, lasted, len(growth))
	if noticed > lasted/2 || noticed < 0 {
		t.Errorf("noticed %v after the growth began; the kill came after %v", noticed, lasted)
	}
	if got := o.triggers(path, "oom_kill"); len(got) == 0 {
		t.Error("the kill asked for no diagnosis")
	}
	event := o.events(path, catalogue.EventMemoryOOMKill)[0]
	anon, _ := strconv.ParseFloat(event.Attributes["anon_bytes"], 64)
	if event.Attributes["pid"] != strconv.Itoa(command.Process.Pid) || event.Attributes["command"] != "grow" || event.Attributes["count"] != "1" ||
		event.Attributes["constraint"] != "memcg" || event.Attributes["limit_cgroup"] != path || event.Attributes["trigger_command"] == "" ||
		anon < limit/2 || anon > limit {
		t.Errorf("%v", event.Attributes)
	}
	if off := math.Abs(float64(event.StartUs - killed.UnixMicro())); off > 300_000 {
		t.Errorf("the event is %.0f ms off", off/1000)
	}
	// While memory grows, memory.stat is read at each tick: anonymous memory is known every 100 ms.
	fine := 0
	for _, p := range o.series(path, catalogue.MemoryAnonBytes) {
		if p.startUS > growth[0] && p.startUS < killed.UnixMicro() {
			fine++
		}
	}
	if ticks := int(killed.Sub(time.UnixMicro(growth[0])) / (100 * time.Millisecond)); fine < ticks/2 {
		t.Errorf("anonymous memory is known in %d of %d ticks", fine, ticks)
	}
}

// TestKernelMemoryOfTheNode compares what is recorded with the kernel's own files.
func TestKernelMemoryOfTheNode(t *testing.T) {
	t.Parallel()
	o := observe(t, "dentry_state,meminfo,slabinfo,vmstat,watermarks")
	for _, source := range []string{"dentry_state", "meminfo", "slabinfo", "vmstat", "watermarks"} {
		o.needs(source)
	}
	time.Sleep(3500 * time.Millisecond)
	o.stop()
	node := o.node()
	for name, metric := range map[string]uint32{
		"dentries": catalogue.Dentries, "unused": catalogue.DentriesUnused, "available": catalogue.MemoryAvailableBytes,
		"free": catalogue.MemoryFreeBytes, "cached": catalogue.MemoryCachedBytes, "reclaimable": catalogue.SlabReclaimableBytes,
		"unreclaimable": catalogue.SlabUnreclaimableBytes, "margin": catalogue.VmLowMarginBytes, "slab of dentries": catalogue.SlabDentryBytes,
		"slab of inodes": catalogue.SlabInodeBytes,
	} {
		if points := o.series(node, metric); len(points) < 2 || points[0].value <= 0 {
			t.Errorf("%s: %v", name, points)
		}
	}
	slab := o.last(node, catalogue.SlabDentryBytes) + o.last(node, catalogue.SlabInodeBytes)
	if all := o.last(node, catalogue.SlabReclaimableBytes) + o.last(node, catalogue.SlabUnreclaimableBytes); slab > 1.05*all {
		t.Errorf("dentries and inodes have %.0f bytes, all slabs %.0f", slab, all)
	}
	if margin, free := o.last(node, catalogue.VmLowMarginBytes), o.last(node, catalogue.MemoryFreeBytes); margin > 1.1*free {
		t.Errorf("%.0f bytes above the watermarks, %.0f free", margin, free)
	}
	if points := o.series(node, catalogue.VmSlabsScanned); len(points) == 0 {
		t.Error("vmstat: nothing")
	}
	if fact := o.fact(node, catalogue.FactNodeWatermarks); len(fact) < 50 || fact[:19] != `{"min_free_kbytes":` {
		t.Errorf("watermarks: %s", fact)
	}
	if fact := o.fact(node, catalogue.FactNodeDentryLimit); fact == "" {
		t.Error("limits of dentries: nothing")
	}
}

// TestServerUnderABurst: descriptors, memory and goroutines of a CoreDNS are known at each tick.
func TestServerUnderABurst(t *testing.T) {
	t.Parallel()
	address := freeAddress(t, "127.0.0.1")
	host, port := split(t, address)
	silent, err := net.ListenPacket("udp", "127.0.0.1:0") // an upstream that does not answer: each query waits
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	runCoreDNS(t, fmt.Sprintf(".:%s {\n bind %s\n forward . %s {\n  health_check 60s\n }\n}\n", port, host, silent.LocalAddr()))
	o := observe(t, "go_runtime,process,process_memory")
	o.needs("process_memory")
	var process string
	waitFor(t, "CoreDNS is watched", func() bool {
		process = ""
		for key := range o.processes() {
			if o.fact(key, "process.executable") == filepath.Base(coredns(t)) && len(o.series(key, catalogue.GoGoroutines)) > 0 {
				process = key
			}
		}
		return process != ""
	})
	calm := o.last(process, catalogue.GoGoroutines)
	const queries = 400
	client, err := net.Dial("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	message := new(dns.Msg)
	from := time.Now()
	for i := range queries {
		message.SetQuestion(fmt.Sprintf("burst-%d.example.", i), dns.TypeA)
		packed, err := message.Pack()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Write(packed); err != nil {
			t.Fatal(err)
		}
		if i%50 == 0 {
			time.Sleep(2 * time.Millisecond) // the server's socket holds 256 of them
		}
	}
	time.Sleep(1500 * time.Millisecond)
	o.stop()
	ticks := 0
	for _, p := range o.series(process, catalogue.GoGoroutines) {
		if p.startUS > from.UnixMicro()+500_000 {
			ticks++
			if p.value < calm+queries || p.value > calm+4*queries {
				t.Errorf("%.0f goroutines, %.0f before %d queries that wait", p.value, calm, queries)
				break
			}
		}
	}
	if ticks < 7 {
		t.Errorf("goroutines are known in %d ticks of a second", ticks)
	}
	if fds := o.last(process, catalogue.ProcessFds); fds < 8 || fds > 4*queries {
		t.Errorf("%.0f descriptors", fds)
	}
	if rss := o.last(process, catalogue.ProcessRSSBytes); rss < 10<<20 || rss > 1<<30 {
		t.Errorf("%.0f bytes", rss)
	}
}
