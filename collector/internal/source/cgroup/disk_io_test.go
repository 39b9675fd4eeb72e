package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

// diskstats are loop0 and sda: requests (as many reads as writes), sectors of each, ms of each and busy ms.
func diskstats(loop, disk [4]int) string {
	line := func(numbers, name string, n [4]int) string {
		return fmt.Sprintf("%s %s %d 0 %d %d %d 0 %d %d 0 %d 0\n", numbers, name, n[0], n[1], n[2], n[0], n[1], n[2], n[3])
	}
	return line("   7       0", "loop0", loop) + line("   8       0", "sda", disk) + line("   8       1", "sda1", disk)
}

// wantSum: the tick does not matter.
func wantSum(t *testing.T, r *sourcetest.Run, resource string, metric uint32, want float64) {
	t.Helper()
	values, sum := r.Values(resource, metric), 0.0
	for _, value := range values {
		sum += value
	}
	if len(values) == 0 || sum != want {
		t.Errorf("metric %d of %s is %v, want %v in all", metric, resource, values, want)
	}
}

func wantFact(t *testing.T, r *sourcetest.Run, resource, name, want string) {
	t.Helper()
	if got := r.Fact(resource, name); got != want {
		t.Errorf("%s of %s is %q, want %q", name, resource, got, want)
	}
}

func diskSys(t *testing.T) string {
	t.Helper()
	sys := sourcetest.Tree(t, map[string]string{
		"block/loop0/dev": "7:0\n", "block/loop0/queue/rotational": "0\n", "block/sda/dev": "8:0\n", "block/sda/device/model": "x\n",
	})
	if err := os.MkdirAll(filepath.Join(sys, "dev/block"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../block/loop0", filepath.Join(sys, "dev/block/7:0")); err != nil {
		t.Fatal(err)
	}
	return sys
}

func TestDiskIO(t *testing.T) {
	const served, requests = "7:0 Read %d\n7:0 Write %d\n7:0 Total 9\nTotal 9\n", "7:0 Read %d\n7:0 Write %d\n7:0 Total 9\nTotal 9\n"
	root := sourcetest.CgroupTree(t, 1, 1)
	const folder = "blkio/group000/"
	did := func(numbers ...int) {
		sourcetest.Write(t, root, folder+"blkio.throttle.io_service_bytes", fmt.Sprintf(served, numbers[0], numbers[1]))
		sourcetest.Write(t, root, folder+"blkio.throttle.io_serviced", fmt.Sprintf(requests, numbers[2], numbers[3]))
	}
	sourcetest.Write(t, root, "blkio/cgroup.procs", "")
	for _, name := range []string{"read_bps", "read_iops", "write_iops"} {
		sourcetest.Write(t, root, folder+"blkio.throttle."+name+"_device", "")
	}
	sourcetest.Write(t, root, folder+"blkio.throttle.write_bps_device", "7:0 1048576\n")
	did(4096, 8192, 1, 2)
	proc := t.TempDir()
	sourcetest.Write(t, proc, "diskstats", diskstats([4]int{10, 80, 5, 40}, [4]int{100, 800, 50, 400}))
	source := &diskIO{}
	r := sourcetest.Start(t, sourcetest.Setup{Cgroup: root, Proc: proc, Sys: diskSys(t), Sources: []sampler.Source{source}})
	r.Ticks(10)
	did(4096, 24576, 1, 4)
	r.Ticks(10) // it is read at each tick from now on
	did(4096, 40960, 1, 6)
	sourcetest.Write(t, proc, "diskstats", diskstats([4]int{12, 96, 9, 80}, [4]int{101, 808, 51, 500}))
	r.Ticks(10)
	source.Discover(t.Context())
	r.Ticks(1)
	wantSum(t, r, "/group000", catalogue.DiskReadBytes, 0)
	wantSum(t, r, "/group000", catalogue.DiskWrittenBytes, 32768)
	wantSum(t, r, "/group000", catalogue.DiskWrites, 4)
	wantSum(t, r, "/group000", catalogue.DiskBusyUS, 40_000)
	wantSum(t, r, "/group000", catalogue.DiskRequests, 4)
	wantSum(t, r, "/group000", catalogue.DiskRequestUS, 8_000)
	wantSum(t, r, "/group000", catalogue.DiskBytes, 32*512)
	wantSum(t, r, sourcetest.Node, catalogue.DiskBusyUS, 100_000) // sda: loop0 lies on another disk, sda1 is a part of it
	wantSum(t, r, sourcetest.Node, catalogue.DiskRequests, 2)
	wantFact(t, r, "/group000", catalogue.FactDiskDevice, "loop0")
	wantFact(t, r, "/group000", catalogue.FactDiskLimits, `[{"device":"loop0","number":"7:0","write_bytes_per_s":1048576}]`)
}

func TestDiskIOOnVersion2(t *testing.T) {
	root := sourcetest.CgroupTree(t, 2, 1)
	sourcetest.Write(t, root, "group000/io.stat", "8:0 rbytes=100 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n")
	sourcetest.Write(t, root, "group000/io.max", "8:0 rbps=max wbps=max riops=20 wiops=max\n")
	proc := t.TempDir()
	sourcetest.Write(t, proc, "diskstats", diskstats([4]int{}, [4]int{}))
	r := sourcetest.Start(t, sourcetest.Setup{Cgroup: root, Proc: proc, Sys: t.TempDir(), Sources: []sampler.Source{&diskIO{}}})
	r.Ticks(10)
	sourcetest.Write(t, root, "group000/io.stat", "8:0 rbytes=4196 wbytes=0 rios=2 wios=0 dbytes=0 dios=0\n")
	r.Ticks(10)
	wantSum(t, r, "/group000", catalogue.DiskReadBytes, 4096)
	wantSum(t, r, "/group000", catalogue.DiskReads, 1)
	wantFact(t, r, "/group000", catalogue.FactDiskLimits, `[{"device":"","number":"8:0","reads_per_s":20}]`)
}

func TestDiskIOWithoutDisks(t *testing.T) {
	r := sourcetest.Start(t, sourcetest.Setup{Cgroup: sourcetest.CgroupTree(t, 2, 1), Proc: t.TempDir(), Sources: []sampler.Source{&diskIO{}}})
	if got := r.Status("disk_io"); !strings.HasPrefix(got, "UNAVAILABLE: ") {
		t.Errorf("it is %q", got)
	}
}
