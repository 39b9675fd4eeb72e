package sampler

import (
	"context"
	"slices"
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

func TestEveryEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	calls, done := 0, make(chan struct{})
	go func() {
		defer close(done)
		Every(ctx, time.Millisecond, func() {
			if calls++; calls == 3 {
				cancel()
			}
		})
	}()
	<-done
	if calls < 3 || calls > 4 {
		t.Errorf("%d calls", calls)
	}
}
