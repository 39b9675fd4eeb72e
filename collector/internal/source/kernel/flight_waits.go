package kernel

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/flightrecorder"
	"github.com/jitterscope/jitterscope/collector/internal/owing"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

const (
	waitsPoll  = 25 * time.Millisecond
	waitsEvery = 50 * time.Millisecond
	// A longer silence is told in parts, and looked at for this long at most.
	waitsPart, waitsMost = 5 * time.Second, 20 * time.Second
	// How threads wait at other times: of one server per second, of each at most this often.
	calmEvery, calmOfEach = time.Second, 15 * time.Second
	// Bounds: looks at one server, and threads looked at in all. Servers that are slow by nature use them up.
	looksMost, looksPerSecond     = 60, 1
	threadsMost, threadsPerSecond = 6400, 160
	waitsTold                     = 24 // ways of waiting in one event
	framesTold                    = 6
)

// flightWaits notices servers that owe answers and give none, and reads what their threads wait in: into captures, and
// as an event for each silence.
type flightWaits struct {
	board  *owing.Board
	waits  *flightrecorder.Waits
	shed   func() int
	event  func(resource batch.ResourceID, kind string, startUS, durationUS int64, attributes map[string]string)
	hidden atomic.Bool
	looks  atomic.Int64

	list    *[]*owing.Server
	servers []*silentServer
	budget  allowance // of threads
	calmAt  time.Time
}

// silentServer is a server and its current silence.
type silentServer struct {
	*owing.Server
	budget  allowance // of looks
	sinceNS int64     // 0: it is not silent
	lookNS  int64
	rounds  []waitsRound
	threads int // most that its processes had
	calmAt  time.Time
	calm    []flightrecorder.WaitCount // one look while it owed nothing
}

// waitsRound is one look at the threads of a silent server.
type waitsRound struct {
	atNS  int64
	from  uint64
	count int
}

func newFlightWaits(registry *sampler.Registry, waits *flightrecorder.Waits) *flightWaits {
	return &flightWaits{
		board: owing.Shared(registry), waits: waits, shed: registry.Shed, event: registry.Event, list: &[]*owing.Server{},
		budget: allowance{left: threadsMost, most: threadsMost, perSecond: threadsPerSecond},
	}
}

// poll looks at every server once. One goroutine calls it.
func (f *flightWaits) poll(now time.Time) {
	f.follow()
	if f.shed() >= sampler.ShedZoom {
		return
	}
	nowNS := now.UnixNano()
	for _, s := range f.servers {
		since := s.Debt.SilentSinceNS(nowNS)
		if s.sinceNS != 0 && since != s.sinceNS {
			f.tell(s, s.Debt.BrokenNS())
		}
		s.sinceNS = since
		silent := nowNS - since
		if since != 0 && silent >= int64(owing.Least) && silent <= int64(waitsMost) && nowNS-s.lookNS >= int64(waitsEvery-waitsPoll/2) {
			f.look(s, nowNS)
		}
		if len(s.rounds) > 0 && nowNS-s.rounds[0].atNS >= int64(waitsPart) {
			f.tell(s, math.MaxInt64)
		}
	}
	if now.Sub(f.calmAt) >= calmEvery {
		f.calmAt = now
		f.lookAtCalm(now)
	}
}

// follow applies changes of the list of servers.
func (f *flightWaits) follow() {
	list := f.board.List()
	if list == f.list {
		return
	}
	f.list = list
	known := make(map[*owing.Server]*silentServer, len(f.servers))
	for _, s := range f.servers {
		known[s.Server] = s
	}
	f.servers = f.servers[:0:0]
	for _, server := range *list {
		s := known[server]
		if s == nil {
			s = &silentServer{Server: server, budget: allowance{left: looksMost, most: looksMost, perSecond: looksPerSecond}}
		}
		f.servers = append(f.servers, s)
	}
}

// look reads the threads of a silent server. What was read is dropped if the server answered meanwhile.
func (f *flightWaits) look(s *silentServer, nowNS int64) {
	if !f.budget.has(1, nowNS) || !s.budget.has(1, nowNS) {
		return
	}
	s.budget.spend(1)
	s.lookNS = nowNS
	found, threads := f.read(s, nowNS)
	if len(found) == 0 || s.Debt.SilentSinceNS(time.Now().UnixNano()) != s.sinceNS {
		return
	}
	s.threads = max(s.threads, threads)
	s.rounds = append(s.rounds, waitsRound{nowNS, f.waits.Keep(found), len(found)})
}

func (f *flightWaits) read(s *silentServer, nowNS int64) (found []flightrecorder.Wait, threads int) {
	found, threads = f.waits.Look(s.PID, nowNS/1000)
	f.budget.spend(len(found))
	f.looks.Add(1)
	f.hidden.Store(f.waits.Hidden())
	return found, threads
}

// lookAtCalm reads the threads of a server that owes nothing: many wait in the same way at all times. A new server comes
// first, then the one that was read longest ago.
func (f *flightWaits) lookAtCalm(now time.Time) {
	var next *silentServer
	for _, s := range f.servers {
		if s.sinceNS == 0 && now.Sub(s.calmAt) >= calmOfEach && (next == nil || s.calmAt.Before(next.calmAt)) {
			next = s
		}
	}
	if nowNS := now.UnixNano(); next != nil && f.budget.has(threadsMost/2, nowNS) { // the rest is for silent ones
		found, _ := f.read(next, nowNS)
		next.calmAt, next.calm = now, f.waits.Count(next.calm[:0], found)
	}
}

// tell records the looks of a silence that ended at untilNS.
func (f *flightWaits) tell(s *silentServer, untilNS int64) {
	var counts []flightrecorder.WaitCount
	read, rounds, lastNS := 0, 0, int64(0)
	for _, round := range s.rounds {
		if round.atNS >= untilNS {
			f.waits.Drop(round.from, round.count)
			continue
		}
		counts = f.waits.Add(counts, round.from, round.count)
		read, rounds, lastNS = read+round.count, rounds+1, round.atNS
	}
	if rounds > 0 {
		attributes := map[string]string{
			"looks": strconv.Itoa(rounds), "read": strconv.Itoa(read), "threads": strconv.Itoa(s.threads), "waits": waitsText(counts),
		}
		if len(s.calm) > 0 {
			attributes["usual"] = waitsText(s.calm)
		}
		firstUS := s.rounds[0].atNS / 1000
		f.event(s.Resource, catalogue.EventServerWaiting, firstUS, lastNS/1000-firstUS, attributes)
	}
	s.rounds, s.threads = s.rounds[:0], 0
}

// waitsText is a JSON list of [state, system call, kernel function, threads, kernel frames], the most frequent first.
func waitsText(counts []flightrecorder.WaitCount) string {
	sorted := slices.Clone(counts)
	slices.SortStableFunc(sorted, func(a, b flightrecorder.WaitCount) int { return cmp.Compare(b.Count, a.Count) })
	for rows := min(len(sorted), waitsTold); ; rows-- {
		list := make([][5]any, 0, rows)
		for _, one := range sorted[:rows] {
			frames := one.Stack[:min(len(one.Stack), framesTold)]
			if frames == nil {
				frames = []string{}
			}
			list = append(list, [5]any{string(rune(one.State)), one.Call, one.Place, one.Count, frames})
		}
		if text, err := json.Marshal(list); err == nil && (len(text) <= batch.MaxAttributeBytes || rows == 0) {
			return string(text)
		}
	}
}

// allowance bounds work: it refills with time.
type allowance struct {
	left, most, perSecond float64
	atNS                  int64
}

// has reports whether so much is left now.
func (a *allowance) has(cost float64, nowNS int64) bool {
	if a.atNS != 0 {
		a.left = min(a.most, a.left+float64(max(nowNS-a.atNS, 0))/1e9*a.perSecond)
	}
	a.atNS = nowNS
	return a.left >= cost
}

// spend takes a cost that was known only afterwards, or what is left.
func (a *allowance) spend(cost int) { a.left = max(0, a.left-float64(cost)) }
