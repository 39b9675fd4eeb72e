package offheap

import (
	"runtime"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

type row struct {
	at    int64
	which uint16
}

type table struct{ rows []row }

func TestMakeIsZeroedAndOffTheHeap(t *testing.T) {
	const rows = 1 << 20
	owner := &table{}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	owner.rows = Make[row](owner, rows)
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
		t.Errorf("%d bytes were allocated on the heap", grown)
	}
	if len(owner.rows) != rows || owner.rows[0] != (row{}) || owner.rows[rows-1] != (row{}) {
		t.Fatal("not zeroed")
	}
	owner.rows[rows-1] = row{at: 7, which: 3}
	if owner.rows[rows-1].at != 7 {
		t.Error("a written element reads otherwise")
	}
}

func TestMemoryGoesWithItsOwner(t *testing.T) {
	owner := &table{}
	owner.rows = Make[row](owner, 4096)
	page := &owner.rows[0]
	runtime.GC()
	if !mapped(page) {
		t.Fatal("unmapped while its owner is alive")
	}
	runtime.KeepAlive(owner)
	owner = nil
	for deadline := time.Now().Add(2 * time.Minute); mapped(page); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("still mapped after its owner was collected")
		}
		runtime.GC()
	}
}

// mapped asks the kernel, which returns ENOMEM if there is no mapping.
func mapped(r *row) bool {
	return unix.Madvise(bytesAt(r), unix.MADV_NORMAL) == nil
}

func bytesAt(r *row) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(r)), unix.Getpagesize()) }
