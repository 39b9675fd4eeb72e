// Package offheap keeps large tables without pointers outside the Go heap. There the garbage collector does not count
// them, so it lets less garbage accumulate, and does not touch their pages, so only what was written is resident.
package offheap

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Make returns n zeroed elements that live as long as owner. T must not contain pointers. If the kernel provides no
// memory they come from the heap.
func Make[T, Owner any](owner *Owner, n int) []T {
	var element T
	data, err := unix.Mmap(-1, 0, n*int(unsafe.Sizeof(element)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return make([]T, n)
	}
	runtime.AddCleanup(owner, func(data []byte) { _ = unix.Munmap(data) }, data)
	return unsafe.Slice((*T)(unsafe.Pointer(&data[0])), n)
}
