package procfs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/decimal"
)

func TestDentryState(t *testing.T) {
	for text, want := range map[string]DentryState{
		string(capture(t, "dentry-state")):  {Dentries: 33223, Unused: 28631, Negative: 6715},
		"1049243\t1034284\t45\t0\t0\t0\n":   {Dentries: 1049243, Unused: 1034284}, // Linux 3.10: the field is unused
		"52\t-3\t45\t0\t-1\t0\n":            {Dentries: 52},                       // sums of counters that CPUs change concurrently
		"4000000 3990000 45 0 3800000 0\n ": {Dentries: 4_000_000, Unused: 3_990_000, Negative: 3_800_000},
	} {
		if got, ok := ParseDentryState([]byte(text)); got != want || !ok {
			t.Errorf("%q: %+v %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "1\t2\t3\t4", "1\t2\tx\t4\t5\t6"} {
		if _, ok := ParseDentryState([]byte(text)); ok {
			t.Errorf("%q was accepted", text)
		}
	}
}

func TestMemInfo(t *testing.T) {
	want := MemInfo{
		FreeBytes: 16027160 << 10, AvailableBytes: 22098008 << 10, HasAvailable: true, CachedBytes: (162708 + 6008636) << 10,
		SlabReclaimableBytes: 414296 << 10, SlabUnreclaimableBytes: 89672 << 10,
	}
	if got, ok := ParseMemInfo(capture(t, "meminfo")); got != want || !ok {
		t.Errorf("%+v %v", got, ok)
	}
	old := "MemTotal:        8009912 kB\nMemFree:          538760 kB\nBuffers:          157048 kB\nCached:          4893932 kB\nSwapCached:          120 kB\n" +
		"Slab:            1982652 kB\nSReclaimable:    1945228 kB\nSUnreclaim:        37424 kB\n"
	if got, ok := ParseMemInfo([]byte(old)); !ok || got.HasAvailable || got.CachedBytes != (157048+4893932)<<10 || got.SlabReclaimableBytes != 1945228<<10 {
		t.Errorf("before Linux 3.14: %+v %v", got, ok)
	}
	if _, ok := ParseMemInfo([]byte("MemFree: kB\n")); ok {
		t.Error("no number was accepted")
	}
}

// vmstat310 is what Linux 3.10 writes for the counters that the collector uses: by zone.
const vmstat310 = `pgsteal_kswapd_dma 2865
pgsteal_kswapd_dma32 209744
pgsteal_kswapd_normal 0
pgsteal_kswapd_movable 0
pgsteal_direct_dma 568
pgsteal_direct_dma32 31692
pgsteal_direct_normal 0
pgsteal_direct_movable 0
pgscan_kswapd_dma 2865
pgscan_kswapd_dma32 210678
pgscan_kswapd_normal 0
pgscan_kswapd_movable 0
pgscan_direct_dma 568
pgscan_direct_dma32 31760
pgscan_direct_normal 0
pgscan_direct_movable 0
pgscan_direct_throttle 7
slabs_scanned 257024
kswapd_inodesteal 0
allocstall 566
drop_pagecache 1
drop_slab 2
compact_stall 451
compact_fail 279
`

func TestVMStat(t *testing.T) {
	const all = VMCompactStall<<1 - 1
	for name, sample := range map[string]struct {
		text string
		want VMStat
	}{
		"Linux 6.18": {string(capture(t, "vmstat")), VMStat{SlabsScanned: 23087426, DropSlab: 10, Seen: all}},
		"Linux 3.10": {vmstat310, VMStat{
			ScanDirect: 32328, ScanKswapd: 213543, StealDirect: 32260, StealKswapd: 212609, AllocStalls: 566, SlabsScanned: 257024,
			DropSlab: 2, CompactStall: 451, Seen: all,
		}},
		"stalls by zone, since 4.10": {"allocstall_dma 1\nallocstall_dma32 2\nallocstall_normal 40\nallocstall_movable 300\nallocstall_device 0\n",
			VMStat{AllocStalls: 343, Seen: VMAllocStalls}},
		"others": {"pgscan_khugepaged 5\npgscan_anon 6\npgsteal_proactive 7\npgscan_direct_throttle 8\nallocstalls 9\n", VMStat{}},
	} {
		var got VMStat
		for text := sample.text; text != ""; { // in pieces, as the kernel returns them
			end := strings.IndexByte(text[min(len(text)-1, 900):], '\n') + min(len(text)-1, 900) + 1
			got.Add([]byte(text[:end]))
			text = text[end:]
		}
		if got != sample.want {
			t.Errorf("%s: %+v\nwant %+v", name, got, sample.want)
		}
	}
}

func TestZones(t *testing.T) {
	zones := ParseZones(capture(t, "zoneinfo"), make([]Zone, 8))
	var names []string
	for i := range zones {
		names = append(names, zones[i].ZoneName())
	}
	if got := strings.Join(names, " "); got != "DMA DMA32 Normal" {
		t.Fatalf("zones %q", got) // those without memory are left out
	}
	normal, dma32 := zones[2], zones[1]
	if normal.Free != 1931778 || normal.Min != 14202 || normal.Low != 18298 || normal.High != 22394 || normal.Managed != 4096000 || normal.Protection != 0 {
		t.Errorf("Normal: %+v", normal)
	}
	if dma32.Protection != 16000 || dma32.Low != 3452 {
		t.Errorf("DMA32: %+v", dma32)
	}
	if pages, ok := LowMargin(zones); pages != 1931778-18298+772919-3452-16000 || !ok {
		t.Errorf("%d pages above the low watermark, %v", pages, ok)
	}
	if got := ParseZones(capture(t, "zoneinfo"), make([]Zone, 2)); len(got) != 2 || got[1].ZoneName() != "DMA32" {
		t.Errorf("with room for two: %+v", got)
	}
	short := []Zone{{Free: 10, Low: 16, Protection: 19019, Managed: 1}, {Free: 900, Low: 1000, Managed: 1}}
	if pages, _ := LowMargin(short); pages != -100 {
		t.Errorf("short of memory: %d", pages)
	}
	if _, ok := LowMargin(nil); ok {
		t.Error("no zones have no margin")
	}
}

func TestSlabinfo(t *testing.T) {
	slabs, ok := ParseSlabinfo(capture(t, "slabinfo"), 4096)
	inodes := (1+14791+2+18+207+17)*4 + (17+44+113)*2 // pages of the slabs of all caches with a matching name
	if want := (SlabBytes{Dentry: 1584 * 4096, Inode: uint64(inodes) * 4096}); slabs != want || !ok {
		t.Errorf("%+v %v, want %+v", slabs, ok, want)
	}
	for _, text := range []string{"", "dentry 1 2 3", "dentry 1 2 3 4 x : tunables 0 0 0 : slabdata 1 1 0\n"} {
		if slabs, ok := ParseSlabinfo([]byte(text), 4096); ok {
			t.Errorf("%q: %+v", text, slabs)
		}
	}
	if IsInodeCache([]byte("inotify_inode_mark")) || IsInodeCache([]byte("btrfs_inode_defrag")) || !IsInodeCache([]byte("ceph_inode_info")) {
		t.Error("what is a cache of inodes")
	}
}

// TestThisKernel reads the files of the kernel that runs the test.
func TestThisKernel(t *testing.T) {
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join("/proc", name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if state, ok := ParseDentryState(read("sys/fs/dentry-state")); !ok || state.Dentries == 0 {
		t.Errorf("dentry-state: %+v %v", state, ok)
	}
	info, ok := ParseMemInfo(read("meminfo"))
	if !ok || info.FreeBytes == 0 {
		t.Errorf("meminfo: %+v %v", info, ok)
	}
	var stat VMStat
	vmstat := read("vmstat")
	if stat.Add(vmstat); stat.Seen&(VMScanDirect|VMAllocStalls|VMSlabsScanned) != VMScanDirect|VMAllocStalls|VMSlabsScanned {
		t.Errorf("vmstat: %+v", stat)
	}
	zones := ParseZones(read("zoneinfo"), make([]Zone, 64))
	free := uint64(0)
	for i := range zones {
		free += zones[i].Free * uint64(os.Getpagesize())
	}
	// Not meminfo's: a virtual machine's balloon can be free there but in no zone.
	_, rest, _ := bytes.Cut(vmstat, []byte("nr_free_pages "))
	all, _, _ := decimal.Parse(rest)
	if all *= uint64(os.Getpagesize()); len(zones) == 0 || free < all/2 || free > all*2+1<<28 {
		t.Errorf("zones have %d bytes free, vmstat %d", free, all)
	}
}

func TestDescriptors(t *testing.T) {
	command := exec.Command("sleep", "30")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = command.Process.Kill(); _ = command.Wait() }()
	descriptors, err := HoldDescriptors("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	defer descriptors.Close()
	listed := Descriptors{directory: descriptors.directory} // as before Linux 6.2
	buffer := make([]byte, 1024)
	before, ok := descriptors.Count(buffer)
	if byList, okList := listed.Count(buffer); !ok || !okList || before != byList || before < 3 {
		t.Fatalf("%d %v, listed %d %v", before, ok, byList, okList)
	}
	for range 200 {
		file, err := os.Open("/dev/null")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
	}
	after, _ := descriptors.Count(buffer)
	if byList, _ := listed.Count(buffer); after != before+200 || byList != after {
		t.Errorf("200 more than %d are %d, listed %d", before, after, byList)
	}
	if n := testing.AllocsPerRun(100, func() { descriptors.Count(buffer); listed.Count(buffer) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	var closed Descriptors
	if _, ok := closed.Count(buffer); ok {
		t.Error("closed descriptors were counted")
	}
}
