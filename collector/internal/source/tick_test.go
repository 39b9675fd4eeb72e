package source

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// groupFiles are the files of one cgroup as a kernel writes them.
var groupFiles = map[int]map[string]map[string]string{
	1: {
		"cpu": {
			"cpu.stat": "nr_periods 12\nnr_throttled 3\nthrottled_time 123456789\nnr_bursts 0\nburst_time 0\n", "cpu.stat.local": "throttled_time 1000000\n",
			"cpu.cfs_quota_us": "50000\n", "cpu.cfs_period_us": "100000\n", "cpu.cfs_burst_us": "0\n", "cgroup.procs": "",
		},
		"cpuacct": {"cpuacct.usage": "123456789\n", "cpuacct.stat": "user 12\nsystem 3\n", "cgroup.procs": ""},
		"memory": {
			"memory.usage_in_bytes": "9076736\n", "memory.failcnt": "0\n", "memory.limit_in_bytes": "9223372036854771712\n", "cgroup.procs": "",
			"memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n", "memory.kmem.usage_in_bytes": "4096\n", "memory.stat": "cache 1\nrss 2\ntotal_cache 3\ntotal_rss 4\ntotal_pgmajfault 5\n",
		},
		"pids": {"pids.current": "7\n", "cgroup.procs": ""},
	},
	2: {"": {
		"cpu.stat":       "usage_usec 100\nuser_usec 60\nsystem_usec 40\nnr_periods 12\nnr_throttled 3\nthrottled_usec 123456\nnr_bursts 0\nburst_usec 0\n",
		"cpu.stat.local": "throttled_usec 1000\n", "cpu.max": "50000 100000\n", "cpu.max.burst": "0\n",
		"memory.current": "9076736\n", "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n", "memory.max": "max\n",
		"memory.stat": "anon 4\nfile 3\npgmajfault 5\n", "pids.current": "7\n", "cgroup.procs": "",
		"cpu.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n",
		"io.pressure":  "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n",
	}},
}

// makeTree writes a cgroup file system with count cgroups.
func makeTree(t *testing.T, version, count int) string {
	t.Helper()
	root := t.TempDir()
	for controller, files := range groupFiles[version] {
		for i := -1; i < count; i++ {
			directory := filepath.Join(root, controller)
			if i >= 0 {
				directory = filepath.Join(directory, fmt.Sprintf("group%03d", i))
			}
			if err := os.MkdirAll(directory, 0o755); err != nil {
				t.Fatal(err)
			}
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if version == 2 {
		if err := os.WriteFile(filepath.Join(root, "cgroup.controllers"), []byte("cpu memory pids\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestTickDoesNotAllocate samples hundreds of cgroups through batch rotations and throttled ticks, and counts every
// allocation of the process.
func TestTickDoesNotAllocate(t *testing.T) {
	for version := 1; version <= 2; version++ {
		t.Run(fmt.Sprintf("cgroup v%d", version), func(t *testing.T) {
			root := makeTree(t, version, 300)
			store, _, err := batch.Open(t.TempDir(), [16]byte{1}, 1, "node")
			if err != nil {
				t.Fatal(err)
			}
			store.Start(0)
			wanted := map[string]bool{
				"cgroup_cpu": true, "cgroup_memory": true, "cgroup_pids": true, "cgroup_reclaim": true, "psi": true, "host_cpu": true, "self": true,
				"dentry_state": true, "slabinfo": true, "meminfo": true, "vmstat": true, "watermarks": true, "oom_record": true,
			}
			batches := 0
			engine := sampler.New(sampler.Config{
				Roots: sampler.Roots{Cgroup: root, Proc: "/proc", Sys: "/sys"}, Store: store,
				Sources: New(func(name string) bool { return wanted[name] }), Log: slog.New(slog.DiscardHandler),
				Sealed: func(sealed *batch.Sealed) { batches++; sealed.Release() },
			})
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if err := engine.Prepare(ctx); err != nil {
				t.Fatal(err)
			}
			if got := engine.Stats().Cgroups.Load(); got != 300 {
				t.Fatalf("%d cgroups found", got)
			}
			stat, err := os.OpenFile(filepath.Join(root, map[int]string{1: "cpu", 2: ""}[version], "group000", "cpu.stat"), os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = stat.Close() }()
			throttles := [][]byte{}
			for i := range 10 {
				text := groupFiles[version][map[int]string{1: "cpu", 2: ""}[version]]["cpu.stat"]
				throttles = append(throttles, []byte(fmt.Sprintf("nr_periods 12\nnr_throttled %d%s", 3+i, text[len("nr_periods 12\nnr_throttled 3"):])))
			}
			if version == 2 {
				throttles = [][]byte{[]byte("usage_usec 100\nuser_usec 60\nsystem_usec 40\nnr_periods 13\nnr_throttled 4"),
					[]byte("usage_usec 100\nuser_usec 60\nsystem_usec 40\nnr_periods 14\nnr_throttled 5")}
			}
			tick := engine.Ticker()
			for range 50 {
				tick()
			}
			const ticks = 200
			var before, after runtime.MemStats
			allocations := uint64(1 << 63)
			// The runtime itself allocates now and then; what a tick allocates is there each time.
			for attempt := 0; attempt < 5 && allocations > 0; attempt++ {
				batches = 0
				runtime.ReadMemStats(&before)
				for i := range ticks {
					_, _ = stat.WriteAt(throttles[i%len(throttles)], 0)
					tick()
				}
				runtime.ReadMemStats(&after)
				allocations = min(allocations, after.Mallocs-before.Mallocs)
			}
			if allocations != 0 {
				t.Errorf("at least %d allocations in %d ticks", allocations, ticks)
			}
			if batches < ticks/25 {
				t.Errorf("%d batches in %d ticks", batches, ticks)
			}
		})
	}
}
