package kernel

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/flightrecorder"
	"github.com/jitterscope/jitterscope/collector/internal/owing"
)

// debt is an owing.Debt that the test sets.
type debt struct{ sinceNS, brokenNS int64 }

func (d *debt) SilentSinceNS(int64) int64 { return d.sinceNS }
func (d *debt) BrokenNS() int64           { return d.brokenNS }

type toldEvent struct {
	resource            batch.ResourceID
	startUS, durationUS int64
	attributes          map[string]string
}

// silences is a server, this process itself, whose debt the test sets, and the events about it.
type silences struct {
	*flightWaits
	debt   debt
	events []toldEvent
	atMS   int64
}

func newSilences() *silences {
	s := &silences{}
	board := owing.Shared(sharing{})
	board.Set("test", []*owing.Server{{Resource: 7, PID: os.Getpid(), Debt: &s.debt}})
	s.flightWaits = &flightWaits{
		board: board, waits: flightrecorder.NewWaits("/proc"), shed: func() int { return 0 }, list: &[]*owing.Server{},
		budget: allowance{left: threadsMost, most: threadsMost, perSecond: threadsPerSecond},
		event: func(resource batch.ResourceID, _ string, startUS, durationUS int64, attributes map[string]string) {
			s.events = append(s.events, toldEvent{resource, startUS, durationUS, attributes})
		},
	}
	return s
}

type sharing struct{}

func (sharing) Shared(_ string, construct func() any) any { return construct() }

const flightMS = int64(time.Millisecond)

// until polls every 25 ms.
func (s *silences) until(ms int64) {
	for ; s.atMS < ms; s.atMS += 25 {
		s.poll(time.Unix(0, flightStart*1000+s.atMS*flightMS))
	}
}

func (s *silences) silentSince(ms int64) { s.debt.sinceNS = flightStart*1000 + ms*flightMS }
func (s *silences) answered(ms int64) {
	s.debt.sinceNS, s.debt.brokenNS = 0, flightStart*1000+ms*flightMS
}

func TestSilenceIsToldOnce(t *testing.T) {
	s := newSilences()
	s.until(1000)
	if len(s.events) != 0 || s.looks.Load() != 1 { // one look while it owes nothing
		t.Fatalf("%d looks: %+v", s.looks.Load(), s.events)
	}
	s.silentSince(1000)
	s.until(1300)
	s.answered(1210) // known only now
	s.until(3000)
	if len(s.events) != 1 {
		t.Fatalf("%+v", s.events)
	}
	told := s.events[0]
	// Looked at after 50, 100, 150, 200, and 250 ms, the last one after the answer.
	if told.resource != 7 || told.startUS != flightStart+1_050_000 || told.durationUS != 150_000 || told.attributes["looks"] != "4" {
		t.Errorf("%+v", told)
	}
	var rows, usual [][5]any
	if json.Unmarshal([]byte(told.attributes["waits"]), &rows) != nil || json.Unmarshal([]byte(told.attributes["usual"]), &usual) != nil ||
		len(rows) == 0 || len(usual) == 0 {
		t.Errorf("%+v", told.attributes)
	}
}

func TestLongSilenceIsToldInPartsAndNotWatchedForever(t *testing.T) {
	s := newSilences()
	s.silentSince(0)
	s.until(60_000)
	// 60 looks at once, one per second then, for 20 s at most.
	if looks := s.looks.Load(); looks < 60 || looks > 60+21 || len(s.events) < 3 || len(s.events) > 5 {
		t.Errorf("%d looks, %d events", looks, len(s.events))
	}
}

func TestServersThatAreSlowByNatureUseUpTheirLooks(t *testing.T) {
	s := newSilences()
	for ms := int64(0); ms < 120_000; ms += 200 {
		s.silentSince(ms)
		s.until(ms + 150)
		s.answered(ms + 150)
		s.until(ms + 200)
	}
	if looks := s.looks.Load(); looks > looksMost+120*looksPerSecond+120 {
		t.Errorf("%d looks in 120 s", looks)
	}
}

// TestANewServerIsReadNext: by turn, it would wait for the 15 behind the one that was read last.
func TestANewServerIsReadNext(t *testing.T) {
	s := newSilences()
	var servers []*owing.Server
	for range 20 {
		servers = append(servers, &owing.Server{Resource: 7, PID: os.Getpid(), Debt: &s.debt})
	}
	s.board.Set("test", servers)
	s.until(25_000)
	s.board.Set("test", append(slices.Clone(servers), &owing.Server{Resource: 8, PID: os.Getpid(), Debt: &s.debt}))
	s.until(26_500)
	for _, one := range s.servers {
		if len(one.calm) == 0 {
			t.Errorf("a server of resource %d was not read", one.Resource)
		}
	}
}

func TestPollingDoesNotAllocate(t *testing.T) {
	s := newSilences()
	s.until(1000)
	if allocations := testing.AllocsPerRun(200, func() { s.until(s.atMS + 25) }); allocations > 0 {
		t.Errorf("%v allocations", allocations)
	}
}
