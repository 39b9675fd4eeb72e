package exchanges

import (
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
)

// Every exchange around a trigger is kept; adjacent windows are merged.
const (
	windowBefore = int64(2 * time.Second)
	windowAfter  = int64(2 * time.Second)
	maxWindows   = 8
	triggerEvery = int64(time.Second)
)

// window is a span of time, [from, to), in which every exchange is wanted.
type window struct{ fromNS, toNS int64 }

// Server is the state kept for a server besides the records: the spans in which every exchange is wanted.
type Server struct {
	Resource batch.ResourceID

	windows     []window
	emittedNS   int64  // what was seen before was emitted, or need not be
	scanned     uint64 // number in the history up to which late exchanges were looked for
	slowAtNS    int64  // last slow exchange, 0: none since the last check
	triggeredNS int64  // when it last asked for a diagnosis
	usual       usual
}

// Asked says what a server asks a diagnosis for.
type Asked uint8

// Slow answers, and slower or more of them than this server usually gives.
const (
	Nothing Asked = iota
	Slow
	Slower
)

// NewServer creates a server whose exchanges seen from nowNS on can be wanted.
func NewServer(resource batch.ResourceID, nowNS int64) Server {
	return Server{Resource: resource, emittedNS: nowNS, windows: make([]window, 0, maxWindows)}
}

// Ended records how long an exchange took that was seen at atNS; one that was lost took the time until it was given up.
func (s *Server) Ended(atNS int64, latencyUS uint32) {
	s.usual.count(latencyUS)
	if latencyUS > catalogue.SlowUS {
		s.slowAtNS = atNS
	}
}

// TakeSlow opens a window if there was a slow exchange since the last call, seen at atNS. It is called with each tick.
func (s *Server) TakeSlow(nowNS int64) (atNS int64, asked Asked) {
	defer s.usual.fold(nowNS)
	atNS = s.slowAtNS
	if atNS == 0 {
		return 0, Nothing
	}
	s.slowAtNS = 0
	s.want(atNS-windowBefore, nowNS+windowAfter)
	if nowNS-s.usual.toldNS >= triggerEvery && s.usual.news() {
		s.usual.toldNS, s.triggeredNS = nowNS, nowNS
		return atNS, Slower
	}
	if s.triggeredNS == 0 || nowNS-s.triggeredNS >= triggerEvery {
		s.triggeredNS = nowNS
		return atNS, Slow
	}
	return atNS, Nothing
}

// WantTick opens a window around the tick that ends at endNS.
func (s *Server) WantTick(endNS int64) {
	s.want(endNS-batch.StepUS*1000-windowBefore, endNS+windowAfter)
}

func (s *Server) want(fromNS, toNS int64) {
	if n := len(s.windows); n > 0 && (fromNS <= s.windows[n-1].toNS || n == maxWindows) {
		s.windows[n-1].toNS = max(s.windows[n-1].toNS, toNS)
		return
	}
	s.windows = append(s.windows, window{fromNS, toNS})
}

// tokens bound how many exchanges are sent as complete windows: bursts of 120,000, in the long run 1,200/s, for all
// servers together. If the budget is used up, only slow ones are sent.
type tokens struct {
	left     float64
	filledNS int64
}

const (
	tokensMost      = 120_000
	tokensPerSecond = 1_200
)

func newTokens() tokens { return tokens{left: tokensMost} }

func (b *tokens) take(rows int, nowNS int64) bool {
	if b.filledNS != 0 {
		b.left = min(tokensMost, b.left+float64(max(nowNS-b.filledNS, 0))/1e9*tokensPerSecond)
	}
	b.filledNS = nowNS
	if float64(rows) > b.left {
		return false
	}
	b.left -= float64(rows)
	return true
}
