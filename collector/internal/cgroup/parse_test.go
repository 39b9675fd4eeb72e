package cgroup

import (
	"os"
	"path/filepath"
	"testing"
)

// capture reads a file copied from a real system; see testdata/README.md.
func capture(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestCPUStatV1(t *testing.T) {
	var stat CPUStat
	ParseCPUStat(capture(t, "v1-linux-6.18/cpu.stat"), &stat)
	want := CPUStat{Periods: 27, ThrottledPeriods: 22, ThrottledUS: 662079, HasBandwidth: true, Bursts: 4, BurstUS: 13750, HasBurst: true}
	if stat != want {
		t.Errorf("got %+v\nwant %+v", stat, want)
	}
}

func TestThrottledLocal(t *testing.T) {
	if us, ok := ParseThrottledLocal(capture(t, "v1-linux-6.18/cpu.stat.local")); us != 662079 || !ok {
		t.Errorf("v1: %d %v", us, ok)
	}
	if us, ok := ParseThrottledLocal([]byte("throttled_usec 77\n")); us != 77 || !ok {
		t.Errorf("v2: %d %v", us, ok)
	}
	if _, ok := ParseThrottledLocal(nil); ok {
		t.Error("an empty file has no value")
	}
}

func TestCPUAcct(t *testing.T) {
	if ns, ok := ParseUint(capture(t, "v1-linux-6.18/cpuacct.usage")); ns != 760742506 || !ok {
		t.Errorf("usage %d %v", ns, ok)
	}
	user, system, ok := ParseCPUAcctStat(capture(t, "v1-linux-6.18/cpuacct.stat"))
	if user != 580_000 || system != 170_000 || !ok {
		t.Errorf("stat %d %d %v", user, system, ok)
	}
}

func TestMemoryV1(t *testing.T) {
	stat, ok := ParseMemoryStat(capture(t, "v1-linux-6.18/memory.stat"))
	if want := (MemoryStat{AnonBytes: 118784, FileBytes: 4096, MajorFaults: 1, CacheBytes: 4096, Refaults: 6, HasRefaults: true}); stat != want || !ok {
		t.Errorf("memory.stat %+v %v", stat, ok)
	}
	if kills, ok := ParseField(capture(t, "v1-linux-6.18/memory.oom_control"), "oom_kill"); kills != 1 || !ok {
		t.Errorf("oom_kill %d %v", kills, ok)
	}
	if hits, ok := ParseUint(capture(t, "v1-linux-6.18/memory.failcnt")); hits != 101 || !ok {
		t.Errorf("failcnt %d %v", hits, ok)
	}
}

func TestLimits(t *testing.T) {
	directory := filepath.Join("testdata", "v1-linux-6.18")
	l := Location{Path: "/x", Version: 1, CPU: directory, Memory: directory}
	if limits, err := ReadCPULimits(l); err != nil || limits != (CPULimits{QuotaUS: 30000, PeriodUS: 100000, BurstUS: 10000}) {
		t.Errorf("v1: %+v %v", limits, err)
	}
	if bytes, err := ReadMemoryLimit(l); err != nil || bytes != 20<<20 {
		t.Errorf("v1: %d %v", bytes, err)
	}
	for text, want := range map[string]CPULimits{
		"max 100000\n":   {QuotaUS: -1, PeriodUS: 100000, BurstUS: -1},
		"20000 100000\n": {QuotaUS: 20000, PeriodUS: 100000, BurstUS: -1},
	} {
		if limits, err := ParseCPUMax([]byte(text)); err != nil || limits != want {
			t.Errorf("%q: %+v %v", text, limits, err)
		}
	}
	for _, text := range []string{"", "max", "x 100000", "1 2 3"} {
		if _, err := ParseCPUMax([]byte(text)); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func TestNumbersThatAreNone(t *testing.T) {
	for _, text := range []string{"", "max\n", "-1\n", "12x\n", "18446744073709551616\n", "99999999999999999999\n"} {
		if value, ok := ParseUint([]byte(text)); ok {
			t.Errorf("%q gave %d", text, value)
		}
	}
	if value, ok := ParseUint([]byte("18446744073709551615\n")); !ok || value != 1<<64-1 {
		t.Errorf("the largest number gave %d %v", value, ok)
	}
}

func FuzzParsers(f *testing.F) {
	files, _ := filepath.Glob("testdata/*/*")
	for _, name := range files {
		if text, err := os.ReadFile(name); err == nil {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var stat CPUStat
		ParseCPUStat(text, &stat)
		if stat.HasUsage && len(text) < len("usage_usec 0") {
			t.Error("usage out of nothing")
		}
		ParseThrottledLocal(text)
		ParseCPUAcctStat(text)
		ParseMemoryStat(text)
		ParseField(text, "oom_kill")
		ParseUint(text)
		_, _ = ParseCPUMax(text)
	})
}

func TestParsersDoNotAllocate(t *testing.T) {
	text := capture(t, "v1-linux-6.18/memory.stat")
	if n := testing.AllocsPerRun(100, func() { ParseMemoryStat(text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestV2(t *testing.T) {
	var stat CPUStat
	ParseCPUStat(capture(t, "v2-linux-6.1/cpu.stat"), &stat)
	want := CPUStat{
		UsageUS: 3219703, UserUS: 2322849, SystemUS: 896853, HasUsage: true, Periods: 165, ThrottledPeriods: 160,
		ThrottledUS: 15301288, HasBandwidth: true, HasBurst: true,
	}
	if stat != want {
		t.Errorf("got %+v\nwant %+v", stat, want)
	}
	events := capture(t, "v2-linux-6.1/memory.events")
	if hits, ok := ParseField(events, "max"); hits != 123 || !ok {
		t.Errorf("max %d %v", hits, ok)
	}
	if kills, ok := ParseField(events, "oom_kill"); kills != 2 || !ok {
		t.Errorf("oom_kill %d %v", kills, ok)
	}
	if memory, ok := ParseMemoryStat(capture(t, "v2-linux-6.1/memory.stat")); memory != (MemoryStat{FileBytes: 30208000, SlabBytes: 76304, HasSlab: true, HasScanned: true, HasRefaults: true}) || // all file pages are shared memory
		!ok {
		t.Errorf("memory.stat %+v %v", memory, ok)
	}
	directory := filepath.Join("testdata", "v2-linux-6.1")
	l := Location{Path: "/x", Version: 2, CPU: directory, Memory: directory}
	if limits, err := ReadCPULimits(l); err != nil || limits != (CPULimits{QuotaUS: 20000, PeriodUS: 100000, BurstUS: 0}) {
		t.Errorf("limits %+v %v", limits, err)
	}
	if bytes, err := ReadMemoryLimit(l); err != nil || bytes != 30<<20 {
		t.Errorf("memory limit %d %v", bytes, err)
	}
}

func TestReadCPUWeight(t *testing.T) {
	for _, one := range []struct {
		version          int
		file, text, want string
	}{
		{1, "cpu.shares", "1024\n", "100"}, {1, "cpu.shares", "2\n", "0.195"}, {1, "cpu.shares", "20000\n", "1953.125"}, {1, "cpu.idle", "1\n", Idle},
		{2, "cpu.weight", "100\n", "100"}, {2, "cpu.idle", "1\n", Idle}, {2, "cpu.weight", "x", ""}, {2, "cpu.max", "max 100000\n", ""},
	} {
		l := Location{Version: one.version, CPU: t.TempDir()}
		if err := os.WriteFile(filepath.Join(l.CPU, one.file), []byte(one.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadCPUWeight(l); got != one.want || (err == nil) != (one.want != "") {
			t.Errorf("v%d %s %q: %q %v", one.version, one.file, one.text, got, err)
		}
	}
}
