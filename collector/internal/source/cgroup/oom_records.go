package cgroup

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/oomlog"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

const (
	oomRecordsKept = 64
	oomRecordUS    = 5_000_000 // an older record does not belong to a new kill
	oomWaitUS      = 1_000_000 // for the record of a kill: the log can be slower than the counter
	oomUnclaimedUS = 3_000_000
	oomWatchedUS   = 30_000_000
)

// oomRecords are the latest kills in the kernel's log.
type oomRecords struct {
	wanted chan struct{} // a kill was counted and has not been reported

	mu     sync.Mutex
	active bool
	ring   [oomRecordsKept]oomKillRecord
	count  uint64
}

type oomKillRecord struct {
	kill    oomlog.Kill
	atUS    int64
	number  uint64 // from 1
	again   bool   // with memory.oom.group the kernel kills, counts, and logs the chosen process twice
	claimed bool
}

func sharedOOMRecords(registry *sampler.Registry) *oomRecords {
	return registry.Shared("oom_records", func() any { return &oomRecords{wanted: make(chan struct{}, 1)} }).(*oomRecords)
}

func (r *oomRecords) setActive() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active = true
}

func (r *oomRecords) isActive() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.active
}

// want triggers a read of the log now if it is read as a whole.
func (r *oomRecords) want() {
	select {
	case r.wanted <- struct{}{}:
	default:
	}
}

func (r *oomRecords) add(kill oomlog.Kill, atUS int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	again := false
	for i := range r.ring {
		before := &r.ring[i]
		again = again || before.number > 0 && before.kill.PID == kill.PID && before.kill.Cgroup == kill.Cgroup && before.atUS > atUS-oomRecordUS
	}
	r.count++
	r.ring[r.count%oomRecordsKept] = oomKillRecord{kill: kill, atUS: atUS, number: r.count, again: again}
}

// find returns the first record of a kill in a cgroup, or also below it, after number after.
func (r *oomRecords) find(path string, below bool, after uint64, sinceUS int64) (oomKillRecord, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for number := max(after, r.count-min(r.count, oomRecordsKept)) + 1; number <= r.count; number++ {
		record := &r.ring[number%oomRecordsKept]
		if record.atUS >= sinceUS && belongs(record.kill.Cgroup, path, below) {
			return *record, true
		}
	}
	return oomKillRecord{}, false
}

// claim marks a record as reported.
func (r *oomRecords) claim(number uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if record := &r.ring[number%oomRecordsKept]; record.number == number {
		record.claimed = true
	}
}

// claimGone returns the records of kills in exactly this cgroup that nothing claimed, one of each process.
func (r *oomRecords) claimGone(path string) (found []oomKillRecord) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for number := r.count - min(r.count, oomRecordsKept) + 1; number <= r.count; number++ {
		record := &r.ring[number%oomRecordsKept]
		if record.claimed || record.kill.Cgroup != path {
			continue
		}
		if record.claimed = true; !record.again {
			found = append(found, *record)
		}
	}
	return found
}

// unclaimed returns the records before untilUS that no cgroup claimed, each once. Those of watched cgroups have longer:
// one that was removed with its kill is watched until that is noticed.
func (r *oomRecords) unclaimed(untilUS int64, watched func(path string) bool) (found []oomKillRecord) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for number := r.count - min(r.count, oomRecordsKept) + 1; number <= r.count; number++ {
		record := &r.ring[number%oomRecordsKept]
		if record.claimed || record.atUS >= untilUS || record.atUS >= untilUS-oomWatchedUS && watched(record.kill.Cgroup) {
			continue
		}
		if record.claimed = true; !record.again {
			found = append(found, *record)
		}
	}
	return found
}

// belongs reports whether the cgroup of a kill is the one at path, or below it. "" matches any: the kernel left the
// line out.
func belongs(cgroup, path string, below bool) bool {
	return cgroup == path || cgroup == "" || below && strings.HasPrefix(cgroup, path) && cgroup[len(path)] == '/'
}

// oomPending are the kills of a cgroup that are counted and not reported yet.
type oomPending struct {
	count   int64
	tickUS  int64  // when they were counted; kept after they were reported
	claimed uint64 // number of the last record that was reported
}

func (p *oomPending) add(count int64, tick sampler.Tick) {
	p.count += count
	p.tickUS = tick.StartUS
}

// tellKills makes an event of each kill, with the kernel's record of it. Kills are rare, so this can allocate.
func (m *cgroupMemory) tellKills(g *memoryGroup, tick sampler.Tick) {
	p := &g.kill
	if p.count == 0 {
		return
	}
	for p.count > 0 {
		record, ok := m.records.find(g.Path, g.below, p.claimed, p.tickUS-oomRecordUS)
		if !ok {
			break
		}
		p.count--
		p.claimed = record.number
		// The event is that of the cgroup further down, also if that was removed with the kill.
		if record.kill.Cgroup != "" && record.kill.Cgroup != g.Path {
			continue
		}
		if m.records.claim(record.number); record.again {
			continue
		}
		attributes := killAttributes(&record.kill)
		attributes["count"] = "1"
		m.registry.Event(g.Resource, catalogue.EventMemoryOOMKill, min(record.atUS, tick.EndUS()), 0, attributes)
	}
	if p.count > 0 {
		m.records.want()
	}
	if p.count > 0 && (!m.records.isActive() || tick.EndUS()-p.tickUS > oomWaitUS) {
		m.registry.Event(g.Resource, catalogue.EventMemoryOOMKill, p.tickUS, 0, map[string]string{"count": strconv.FormatInt(p.count, 10)})
		p.count = 0
	}
}

// killAttributes is what the kernel reported about a kill.
func killAttributes(kill *oomlog.Kill) map[string]string {
	attributes := map[string]string{"pid": strconv.Itoa(kill.PID), "command": kill.Command}
	for name, value := range map[string]string{
		"constraint": kill.Constraint, "trigger_command": kill.TriggerCommand, "limit_cgroup": kill.LimitCgroup,
	} {
		if value != "" {
			attributes[name] = value
		}
	}
	for name, value := range map[string]int64{
		"anon_bytes": kill.AnonBytes, "file_bytes": kill.FileBytes, "shmem_bytes": kill.ShmemBytes,
	} {
		if value >= 0 {
			attributes[name] = strconv.FormatInt(value, 10)
		}
	}
	return attributes
}

func nowUS() int64 { return time.Now().UnixMicro() }
