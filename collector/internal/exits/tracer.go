// Package exits reports threads that exit, and processes many of whose threads exit at once.
package exits

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/jitterscope/jitterscope/collector/internal/bpf"
)

// Needs lists the requirements, for SourceStatus.
const Needs = "CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN); Linux 5.11 with BTF"

// Many is the number of threads of one process that exit within about a second from which it is a mass exit.
const Many = 64

// Mass is a mass exit that is over.
type Mass struct {
	Cgroup         uint64 // inode of the directory of its cgroup
	PID            uint32
	Command        string
	Threads        int
	StartUS, EndUS int64
}

// Tracer is the attached program. Count belongs to one goroutine, Take to another.
type Tracer struct {
	objects bpf.ExitsObjects
	link    link.Link
	state   *ebpf.Memory
	slots   [slots * slotBytes]byte
	open    map[uint32]*Mass // seen at the last Take, possibly not over
}

const slots, slotBytes = 64, 64 // see exits.bpf.c

// Open loads and attaches the program. unified: cgroup v2.
func Open(unified bool) (*Tracer, error) {
	t := &Tracer{open: make(map[uint32]*Mass)}
	err := bpf.Load(bpf.LoadExits, bpf.Unified(unified), &t.objects)
	if err != nil {
		return nil, err
	}
	if t.state, err = t.objects.Exits.Memory(); err != nil {
		return nil, errors.Join(err, t.objects.Close())
	}
	if t.link, err = link.AttachTracing(link.TracingOptions{Program: t.objects.ThreadEnded}); err != nil {
		return nil, errors.Join(err, t.objects.Close())
	}
	return t, nil
}

// Count returns how many threads have exited so far. It neither allocates nor blocks.
func (t *Tracer) Count() (count uint64, ok bool) {
	if n, _ := t.state.ReadAt(t.slots[:], 0); n < len(t.slots) {
		return 0, false
	}
	for at := 0; at < len(t.slots); at += slotBytes {
		count += binary.NativeEndian.Uint64(t.slots[at:])
	}
	return count, true
}

// Take returns the mass exits that ended since the last call; call it every second. An exit that continues from one
// call to the next counts as one.
func (t *Tracer) Take() []Mass {
	var clock bpf.Clock
	clock.Set()
	var pid uint32
	var ended bpf.ExitsEnded
	var pids []uint32
	entries := t.objects.Processes.Iterate()
	for entries.Next(&pid, &ended) {
		pids = append(pids, pid)
	}
	seen := make(map[uint32]bool, len(pids))
	for _, pid := range pids {
		if t.objects.Processes.LookupAndDelete(pid, &ended) != nil {
			continue
		}
		seen[pid] = true
		mass := t.open[pid]
		if mass == nil {
			mass = &Mass{PID: pid, StartUS: clock.NS(ended.FirstNs) / 1000}
			t.open[pid] = mass
		}
		mass.Cgroup, mass.EndUS = ended.Cgroup, clock.NS(ended.LastNs)/1000
		mass.Command = text(ended.Command[:])
		mass.Threads += int(ended.Threads)
	}
	var over []Mass
	for pid, mass := range t.open {
		if seen[pid] && mass.EndUS-mass.StartUS < longestUS {
			continue
		}
		if mass.Threads >= Many && float64(mass.Threads) >= Many*float64(mass.EndUS-mass.StartUS)/1e6 {
			over = append(over, *mass)
		}
		delete(t.open, pid)
	}
	return over
}

// longestUS is the time after which threads that keep exiting are reported: a pool that keeps changing has no end.
const longestUS = 5_000_000

func text[T int8 | uint8](characters []T) string {
	raw := make([]byte, len(characters))
	for i, c := range characters {
		raw[i] = byte(c)
	}
	before, _, _ := bytes.Cut(raw, []byte{0})
	return string(before)
}

// Close detaches and unloads.
func (t *Tracer) Close() error { return errors.Join(t.link.Close(), t.objects.Close()) }
