package procfs

import (
	"os"
	"testing"
)

func TestNextDisk(t *testing.T) {
	text, err := os.ReadFile("testdata/linux-6.18/diskstats")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for len(text) > 0 {
		disk, rest, ok := NextDisk(text)
		if !ok {
			t.Fatalf("cannot read %q", text)
		}
		names = append(names, string(disk.Name))
		if string(disk.Name) == "vda" && (disk.Major != 254 || disk.Minor != 0 || disk.Requests != 276969 || disk.Bytes != 11_204_834_304 ||
			disk.RequestMS != 215392 || disk.BusyMS != 50208) {
			t.Errorf("%+v", disk)
		}
		text = rest
	}
	if len(names) < 9 || names[0] != "loop0" {
		t.Errorf("disks %v", names)
	}
}

// TestOldDisks: before Linux 4.18 lines end after the time in flight.
func TestOldDisks(t *testing.T) {
	disk, rest, ok := NextDisk([]byte("   8       0 sda 10 1 80 30 20 2 160 70 0 90 100\nx\n"))
	if !ok || string(rest) != "x\n" || disk.Requests != 30 || disk.Bytes != 240*512 || disk.RequestMS != 100 || disk.BusyMS != 90 {
		t.Errorf("%+v, %q, %v", disk, rest, ok)
	}
	if _, rest, ok := NextDisk([]byte("8 0 sda 1 2\nnext")); ok || string(rest) != "next" {
		t.Errorf("a short line: %v, %q", ok, rest)
	}
}

func FuzzNextDisk(f *testing.F) {
	f.Add([]byte("   8       0 sda 10 1 80 30 20 2 160 70 0 90 100\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for len(text) > 0 {
			before := len(text)
			if _, text, _ = NextDisk(text); len(text) >= before {
				t.Fatal("no progress")
			}
		}
	})
}
