package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestBlkio(t *testing.T) {
	// Linux 6.18, a cgroup with a limit on a loop device.
	const served = "7:0 Read 20480\n7:0 Write 4128768\n7:0 Sync 4149248\n7:0 Async 0\n7:0 Discard 0\n7:0 Total 4149248\nTotal 4149248\n"
	const requests = "7:0 Read 5\n7:0 Write 252\n7:0 Sync 257\n7:0 Async 0\n7:0 Discard 0\n7:0 Total 257\nTotal 257\n"
	var stat IOStat
	ParseBlkio([]byte(served), []byte(requests), &stat)
	want := DeviceIO{Device: Device{7, 0}, ReadBytes: 20480, WriteBytes: 4128768, Reads: 5, Writes: 252}
	if stat.Count != 1 || stat.Disks[0] != want {
		t.Errorf("%+v", stat.Disks[:stat.Count])
	}
	ParseBlkio([]byte("Total 0\n"), []byte("Total 0\n"), &stat)
	if stat.Count != 0 {
		t.Errorf("without any disk: %+v", stat.Disks[:stat.Count])
	}
}

func TestIOStatV2(t *testing.T) {
	// Documentation/admin-guide/cgroup-v2.rst; the third line is of a disk whose counters are off.
	const text = "8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0\n8:0 rbytes=90430464 wbytes=299008000 rios=8950 wios=1252 dbytes=50331648 dios=3021\n254:0 \n"
	var stat IOStat
	ParseIOStat([]byte(text), &stat)
	want := []DeviceIO{{Device{8, 16}, 1459200, 314773504, 192, 353}, {Device{8, 0}, 90430464, 299008000, 8950, 1252}}
	if !slices.Equal(stat.Disks[:stat.Count], want) {
		t.Errorf("%+v", stat.Disks[:stat.Count])
	}
}

func TestIOLimits(t *testing.T) {
	got := ParseIOMax([]byte("8:16 rbps=2097152 wbps=max riops=max wiops=120\n8:0 rbps=max wbps=1048576 riops=max wiops=max\n"))
	want := []IOLimit{{Device: Device{8, 0}, WriteBytes: 1048576}, {Device: Device{8, 16}, ReadBytes: 2097152, Writes: 120}}
	if !slices.Equal(got, want) {
		t.Errorf("io.max %+v", got)
	}
	folder := t.TempDir()
	for name, text := range map[string]string{"read_bps": "", "write_bps": "7:0 1048576\n", "read_iops": "7:0 50\n8:0 9\n", "write_iops": ""} {
		if err := os.WriteFile(filepath.Join(folder, "blkio.throttle."+name+"_device"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ReadIOLimits(Location{Version: 1, IO: folder})
	want = []IOLimit{{Device: Device{7, 0}, WriteBytes: 1048576, Reads: 50}, {Device: Device{8, 0}, Reads: 9}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("blkio %+v, %v", got, err)
	}
	if _, err := ReadIOLimits(Location{Version: 1}); err == nil {
		t.Error("a cgroup without the controller has limits")
	}
}

func FuzzIO(f *testing.F) {
	f.Add([]byte("8:0 rbytes=1 wbytes=2 rios=3 wios=4\n"), []byte("7:0 Read 1\n"))
	f.Fuzz(func(_ *testing.T, one, other []byte) {
		var stat IOStat
		ParseIOStat(one, &stat)
		ParseBlkio(one, other, &stat)
		ParseIOMax(one)
	})
}
