package sampler

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestMembersComeAndGo(t *testing.T) {
	h := newHarness(t, t.TempDir(), &probe{name: "s"})
	var shut []string
	m := Members[string, string]{
		Registry: &Registry{engine: h.Engine, source: "s"}, Shut: func(member *string) { shut = append(shut, *member) },
		Open: func(key string) *string {
			if key == "refused" {
				return nil
			}
			member := "of " + key
			return &member
		},
	}
	m.Change([]string{"a", "refused", "b", "c"}, nil)
	m.Change([]string{"d"}, []string{"b", "refused", "unknown"})
	names := func() (list []string) {
		for _, member := range m.List() {
			list = append(list, *member)
		}
		return list
	}
	if got := names(); !slices.Equal(got, []string{"of a", "of c", "of d"}) || !slices.Equal(shut, []string{"of b"}) {
		t.Errorf("%v, shut %v", got, shut)
	}
	m.Close()
	if got := names(); len(got) != 0 || len(shut) != 4 {
		t.Errorf("%v, shut %v", got, shut)
	}
}

// slowly writes occasionally, which takes it a while.
type slowly struct {
	probe
	begun     chan struct{}
	writing   atomic.Bool
	calls     atomic.Int64
	cutOff    bool
	announced sync.Once
}

func (s *slowly) Start(ctx context.Context, registry *Registry) error {
	registry.Every(ctx, time.Millisecond, func() {
		s.writing.Store(true)
		s.announced.Do(func() { close(s.begun) })
		time.Sleep(200 * time.Millisecond)
		s.calls.Add(1)
		s.writing.Store(false)
	})
	return s.probe.Start(ctx, registry)
}

func (s *slowly) Close() error {
	s.cutOff = s.writing.Load()
	return s.probe.Close()
}

func TestNothingIsClosedWhileSomebodyWrites(t *testing.T) {
	source := &slowly{probe: probe{name: "s"}, begun: make(chan struct{})}
	h := newHarness(t, t.TempDir(), source)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-source.begun
		cancel()
	}()
	if err := h.Engine.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if calls := source.calls.Load(); source.cutOff || calls < 1 {
		t.Errorf("closed in the middle of a call: %t; %d calls", source.cutOff, calls)
	}
}
