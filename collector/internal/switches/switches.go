// Package switches keeps what the organization does not want read. The backend lists it in each answer; it takes effect
// when the collector restarts itself, so that no source has to be removed while it samples.
package switches

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	fileName = "sources-off"
	most     = 64
	// every is the minimum time between restarts, however often the answer changes.
	every = time.Minute
)

// A source, or SOURCE:OPTION of its table in the configuration.
var name = regexp.MustCompile(`^[a-z][a-z0-9_]{0,49}(:[a-z][a-z0-9_]{0,49})?$`)

// Switches are the names that are off in this run, and what the backend wants to be off.
type Switches struct {
	path   string
	off    []string
	anew   func()
	log    *slog.Logger
	failed bool // failed to write the file; logged once
}

// Open reads which names are off from the spool directory. Heard calls anew if the backend wants others.
func Open(directory string, anew func(), log *slog.Logger) *Switches {
	s := &Switches{path: filepath.Join(directory, fileName), anew: anew, log: log}
	text, err := os.ReadFile(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("unknown what the organization switched off until the next answer", "error", err)
	}
	s.off = parse(string(text))
	return s
}

// Off are the names that are off in this run, sorted. Some can be of sources that this version does not have.
func (s *Switches) Off() []string { return s.off }

// Heard takes the list in an answer that accepted a batch. One goroutine calls it.
func (s *Switches) Heard(list string) {
	wanted := parse(list)
	if slices.Equal(wanted, s.off) || !s.due() {
		return
	}
	if err := os.WriteFile(s.path, []byte(strings.Join(wanted, ",")+"\n"), 0o600); err != nil {
		// Without the file the next run would read what this one does: the backend drops it meanwhile.
		if !s.failed {
			s.log.Error("cannot save what the organization switched off", "error", err)
		}
		s.failed = true
		return
	}
	s.log.Info("the organization changed what is read: starting anew", "off", wanted)
	s.off = wanted
	s.anew()
}

// due reports whether the last restart, when the file was written, is long ago, or in the future because the clock was
// set.
func (s *Switches) due() bool {
	info, err := os.Stat(s.path)
	if err != nil {
		return true
	}
	age := time.Since(info.ModTime())
	return age < 0 || age >= every
}

func parse(list string) []string {
	var names []string
	for one := range strings.SplitSeq(list, ",") {
		if one = strings.TrimSpace(one); name.MatchString(one) && len(names) < most {
			names = append(names, one)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
