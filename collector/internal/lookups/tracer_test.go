package lookups

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// TestTracerCountsEveryFailure makes failing lookups and others, and compares them with what the kernel program
// reports.
func TestTracerCountsEveryFailure(t *testing.T) {
	tracer, err := Open(false)
	if errors.Is(err, os.ErrPermission) || errors.Is(err, ebpf.ErrNotSupported) {
		testenv.Skip(t, "%v; needs %s", err, Needs)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := tracer.Close(); err != nil {
			t.Error(err)
		}
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	folder := t.TempDir()
	present := folder + "/present"
	if err := os.WriteFile(present, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before, _ := tracer.Tick()
	ask := func(count int) {
		for i := range count {
			if unix.Access(fmt.Sprintf("%s/%d_missing", folder, i), unix.F_OK) != unix.ENOENT || unix.Access(present, unix.F_OK) != nil {
				t.Fatal("the file system is not as made")
			}
		}
	}
	ask(1000) // not traced
	if after, _ := tracer.Tick(); after != before {
		t.Fatalf("%d failures were counted while nobody traced", after-before)
	}
	if err := tracer.Attach(); err != nil {
		t.Fatal(err)
	}
	const asked = 20_000
	table, other := NewTable(), NewTable()
	var lookup Lookup
	told := 0
	for range 20 { // ticks
		ask(asked / 20)
		for tracer.Next(&lookup) {
			if lookup.PID == uint32(os.Getpid()) {
				told++
				table.Add(&lookup)
			}
		}
		after, _ := tracer.Tick()
		table.EndTick(after-before, nowhere)
		before = after
	}
	path := append([]byte(folder), "/0_missing\x00"...)
	if n := testing.AllocsPerRun(20, func() {
		for range 200 {
			_, _, _ = unix.RawSyscall(unix.SYS_FACCESSAT, ^uintptr(99), uintptr(unsafe.Pointer(&path[0])), 0)
		}
		for tracer.Next(&lookup) {
			other.Add(&lookup)
		}
		after, _ := tracer.Tick()
		other.EndTick(after-before, nowhere)
		before = after
	}); n != 0 {
		t.Errorf("%v allocations a tick", n)
	}
	if err := tracer.Detach(); err != nil {
		t.Fatal(err)
	}
	rows := table.Rows()
	if len(rows) == 0 {
		t.Fatal("nothing was told")
	}
	pattern := string(AppendPattern(nil, []byte(folder+"/1_missing"), false))
	if top := rows[0]; top.Pattern != pattern || top.PID != uint32(os.Getpid()) || top.Count < asked || top.Count > asked*11/10 {
		t.Errorf("%+v of %d rows, want %d of %s", top, len(rows), asked, pattern)
	}
	if told >= asked/2 || told < 20*50 {
		t.Errorf("%d of %d were told in full", told, asked)
	}
	ask(1000)
	if after, _ := tracer.Tick(); after > before+1000 {
		t.Errorf("%d failures were counted after tracing ended", after-before)
	}
}
