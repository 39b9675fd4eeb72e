package all

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
	"github.com/jitterscope/jitterscope/collector/internal/source"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

// TestTickDoesNotAllocate samples hundreds of cgroups through batch rotations and throttled ticks, and counts every
// allocation of the process.
func TestTickDoesNotAllocate(t *testing.T) {
	for version := 1; version <= 2; version++ {
		t.Run(fmt.Sprintf("cgroup v%d", version), func(t *testing.T) {
			root := sourcetest.CgroupTree(t, version, 300)
			store, _, err := batch.Open(t.TempDir(), [16]byte{1}, 1, "node")
			if err != nil {
				t.Fatal(err)
			}
			store.Start(0)
			wanted := map[string]bool{
				"cgroup_cpu": true, "cgroup_memory": true, "cgroup_pids": true, "cgroup_reclaim": true, "disk_io": true, "psi": true, "host_cpu": true, "self": true,
				"dentry_state": true, "slabinfo": true, "meminfo": true, "vmstat": true, "watermarks": true, "oom_record": true,
			}
			batches := 0
			sources, err := source.New(func(name string) bool { return wanted[name] })
			if err != nil {
				t.Fatal(err)
			}
			engine := sampler.New(sampler.Config{
				Roots: sampler.Roots{Cgroup: root, Proc: "/proc", Sys: "/sys"}, Store: store,
				Sources: sources, Log: slog.New(slog.DiscardHandler),
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
				text := sourcetest.GroupFiles[version][map[int]string{1: "cpu", 2: ""}[version]]["cpu.stat"]
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
			// The runtime itself allocates occasionally; allocations of a tick occur every time.
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
