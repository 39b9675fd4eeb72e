// Package threads follows the threads of processes through the scheduler's account of each,
// /proc/PID/task/TID/schedstat.
package threads

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jitterscope/jitterscope/collector/internal/procfs"
)

// Thread is a thread whose account is held open. When a thread ends, what it did since the last read is lost.
type Thread struct {
	ID    int
	file  procfs.Held
	last  procfs.Schedstat
	known bool
}

// Read returns what the thread did since the last read; ok is false at the first one, and if the thread has ended. It
// does not allocate.
func (t *Thread) Read(buffer []byte) (since procfs.Schedstat, ok bool) {
	text, ok := t.file.Read(buffer)
	if !ok {
		return since, false
	}
	now, ok := procfs.ParseSchedstat(text)
	if !ok || now.CPUNS < t.last.CPUNS || now.WaitNS < t.last.WaitNS {
		return since, false
	}
	since, ok = now.Minus(t.last), t.known
	t.last, t.known = now, true
	return since, ok
}

// Set is the threads of one process that are read.
type Set struct {
	All []*Thread // read on the sampling thread; changed only between ticks
}

// List returns the ids of the threads of a process, nil if it has ended.
func List(proc string, pid int) (ids []int) {
	entries, err := os.ReadDir(taskDirectory(proc, pid))
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		if id, err := strconv.Atoi(entry.Name()); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// Account reads the account of one thread that is not held open.
func Account(proc string, pid, id int) (account procfs.Schedstat, ok bool) {
	text, err := os.ReadFile(accountFile(proc, pid, id))
	if err != nil {
		return account, false
	}
	return procfs.ParseSchedstat(text)
}

// Name returns the name of a thread, as far as the kernel keeps it (15 bytes); "" if it has ended.
func Name(proc string, pid, id int) string {
	text, err := os.ReadFile(filepath.Join(taskDirectory(proc, pid), strconv.Itoa(id), "comm"))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(text), "\n")
}

// Follow makes wanted the threads that are read: it opens new ones and closes the others. For a thread that born
// accepts everything it did counts, for others what they do from the first read on. between runs a change between
// ticks.
func (s *Set) Follow(between func(func()), proc string, pid int, wanted []int, born func(id int) bool) {
	left := make(map[int]bool, len(wanted))
	for _, id := range wanted {
		left[id] = true
	}
	var kept, gone []*Thread
	for _, thread := range s.All {
		if left[thread.ID] {
			kept = append(kept, thread)
			delete(left, thread.ID)
		} else {
			gone = append(gone, thread)
		}
	}
	if len(gone)+len(left) == 0 {
		return
	}
	for id := range left {
		if file, err := procfs.Hold(accountFile(proc, pid, id)); err == nil {
			kept = append(kept, &Thread{ID: id, file: file, known: born(id)})
		}
	}
	between(func() { s.All = kept })
	for _, thread := range gone {
		thread.file.Close()
	}
}

// Close closes the files after the last reading.
func (s *Set) Close() {
	for _, thread := range s.All {
		thread.file.Close()
	}
	s.All = nil
}

func taskDirectory(proc string, pid int) string {
	return filepath.Join(proc, strconv.Itoa(pid), "task")
}

func accountFile(proc string, pid, id int) string {
	return filepath.Join(taskDirectory(proc, pid), strconv.Itoa(id), "schedstat")
}
