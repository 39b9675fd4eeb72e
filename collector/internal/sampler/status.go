package sampler

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

// status keeps the state of every source; it is sent when it changes and resent by the engine.
type status struct {
	store *batch.Store

	mu     sync.Mutex
	states map[string]*ingestpb.SourceStatus
	off    map[string]string // why; never sent
}

func newStatus(store *batch.Store) *status {
	return &status{store: store, states: make(map[string]*ingestpb.SourceStatus), off: make(map[string]string)}
}

func (s *status) set(name string, state ingestpb.SourceState, detail, needs string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.states[name]; old != nil && old.State == state && old.Detail == detail && old.Needs == needs {
		return
	}
	s.states[name] = &ingestpb.SourceStatus{Name: name, State: state, Detail: detail, Needs: needs}
	s.store.AppendSource(s.states[name])
}

func (s *status) turnOff(name, detail string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off[name] = detail
}

func (s *status) listOff() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.off)
}

func (s *status) restate() {
	for _, state := range s.list() {
		s.store.AppendSource(state)
	}
}

// list returns the states sorted by name.
func (s *status) list() []*ingestpb.SourceStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*ingestpb.SourceStatus, 0, len(s.states))
	for _, state := range s.states {
		all = append(all, state)
	}
	slices.SortFunc(all, func(a, b *ingestpb.SourceStatus) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// recovered marks a source as active that was in trouble before; others are not reported.
func (s *status) recovered(name string) {
	s.mu.Lock()
	_, known := s.states[name]
	s.mu.Unlock()
	if known {
		s.set(name, ingestpb.SourceState_SOURCE_STATE_ACTIVE, "", "")
	}
}

// activate marks a source as active, unless it has already reported that it is degraded.
func (s *status) activate(name string) {
	s.mu.Lock()
	_, known := s.states[name]
	s.mu.Unlock()
	if !known {
		s.set(name, ingestpb.SourceState_SOURCE_STATE_ACTIVE, "", "")
	}
}
