package sampler

import (
	"sync"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

// facts sends a fact when it is first seen and when it changes.
type facts struct {
	store *batch.Store

	mu    sync.Mutex
	known map[batch.ResourceID]map[string]fact
}

type fact struct {
	value string
	at    time.Time
}

func newFacts(store *batch.Store) *facts {
	return &facts{store: store, known: make(map[batch.ResourceID]map[string]fact)}
}

func (f *facts) set(resource batch.ResourceID, name, value string, at time.Time) {
	if resource == batch.NoResource {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	byName := f.known[resource]
	if byName == nil {
		byName = make(map[string]fact)
		f.known[resource] = byName
	}
	if old, ok := byName[name]; ok && old.value == value {
		return
	}
	if f.send(resource, name, fact{value, at}) {
		byName[name] = fact{value, at}
	}
}

func (f *facts) send(resource batch.ResourceID, name string, known fact) bool {
	return f.store.AppendFact(resource, &ingestpb.Fact{Name: name, Value: known.value, ObservedAtUs: known.at.UnixMicro()})
}

func (f *facts) forget(resource batch.ResourceID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.known, resource)
}

// resend sends all known facts again: the spool lost batches, and perhaps facts with them.
func (f *facts) resend() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for resource, byName := range f.known {
		for name, known := range byName {
			f.send(resource, name, known)
		}
	}
}
