package mounts

import (
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/procfs"
)

// fall follows the number of dentries after unmounts. The mount table changes first; then the unmounting process frees
// the dentries of the file system before it continues.
type fall struct {
	unmounts []Unmount
	began    time.Time
	first    int64
	last     int64
	fell     time.Time // when it was last seen to fall
	calm     int
	busy     map[int]busy // system time of processes when the fall had lasted culpritFrom
	busyAt   time.Time
	culprit  int
	command  string
}

func (w *Watcher) newFall(now time.Time) *fall {
	dentries := w.dentries()
	return &fall{began: now, fell: now, first: dentries, last: dentries}
}

func (w *Watcher) dentries() int64 {
	var buffer [128]byte
	if text, ok := w.state.Read(buffer[:]); ok {
		if state, ok := procfs.ParseDentryState(text); ok {
			return int64(state.Dentries)
		}
	}
	return 0
}

// look reports whether the fall is over.
func (f *fall) look(w *Watcher, now time.Time) bool {
	dentries := w.dentries()
	if f.last-dentries >= fallPerLook {
		f.fell, f.calm = now, 0
	} else {
		f.calm++
	}
	f.last = dentries
	begun := f.fell.After(f.began)
	if begun && f.calm >= calmLooks || !begun && now.Sub(f.began) > patience || now.Sub(f.began) > fallAtMost {
		return true
	}
	switch {
	case f.calm > 0:
	case f.busy == nil && now.Sub(f.began) >= culpritFrom:
		f.busy, f.busyAt = systemTimes(w.proc), now
	case f.busy != nil && f.culprit == 0 && now.Sub(f.busyAt) >= culpritFrom:
		f.culprit, f.command = busiest(f.busy, systemTimes(w.proc))
	}
	return false
}

// tell ends the fall and reports it.
func (f *fall) tell(take func(Unmount)) {
	for _, unmount := range f.unmounts {
		if fallen := f.first - f.last; f.fell.After(f.began) && fallen > 0 {
			unmount.DurationUS = f.fell.UnixMicro() - unmount.StartUS
			unmount.Dentries = fallen
			unmount.PID, unmount.Command = f.culprit, f.command
		}
		unmount.DurationUS = max(unmount.DurationUS, 0)
		take(unmount)
	}
}

// busy is a process and its system time so far.
type busy struct {
	command  string
	systemUS uint64
}

// systemTimes reads /proc/PID/stat of all processes.
func systemTimes(proc string) map[int]busy {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil
	}
	found := make(map[int]busy, len(entries))
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join(proc, entry.Name(), "stat"))
		if err != nil {
			continue
		}
		if stat, ok := procfs.ParseProcessStat(text); ok {
			found[pid] = busy{string(stat.Command), stat.SystemUS}
		}
	}
	return found
}

// busiest returns the process that used the most system time between two reads, 0 if none used much.
func busiest(before, after map[int]busy) (pid int, command string) {
	most := uint64(culpritFrom.Microseconds()) / 3
	for candidate, now := range after {
		if used := now.systemUS - min(before[candidate].systemUS, now.systemUS); used > most {
			most, pid, command = used, candidate, now.command
		}
	}
	return pid, command
}
