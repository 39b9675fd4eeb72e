package dnscapture

import (
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
)

// Around a trigger every query is kept; windows that touch become one.
const (
	windowBefore = int64(2 * time.Second)
	windowAfter  = int64(2 * time.Second)
	maxWindows   = 8
	triggerEvery = int64(time.Second)
)

// window is a span of time, [from, to), of which every query is wanted.
type window struct{ fromNS, toNS int64 }

// watchFor opens a window where the tick that ends at endUS gives a reason: a slow query or throttling.
func (t *Tracker) watchFor(server *Server, endUS int64, recorder Recorder, throttled func(*Server) bool) {
	nowNS := endUS * 1000
	if server.slowAtNS != 0 {
		server.want(server.slowAtNS-windowBefore, nowNS+windowAfter)
		if server.triggered == 0 || nowNS-server.triggered >= triggerEvery {
			server.triggered = nowNS
			server.WantNames()
			recorder.Trigger(server.Subject, "slow_query", server.slowAtNS/1000)
		}
		server.slowAtNS = 0
	}
	if throttled(server) {
		server.WantNames()
		server.want(nowNS-batch.StepUS*1000-windowBefore, nowNS+windowAfter)
	}
}

func (s *Server) want(fromNS, toNS int64) {
	if n := len(s.windows); n > 0 && (fromNS <= s.windows[n-1].toNS || n == maxWindows) {
		s.windows[n-1].toNS = max(s.windows[n-1].toNS, toNS)
		return
	}
	s.windows = append(s.windows, window{fromNS, toNS})
}

// tokens bound how many queries are sent as complete windows: bursts of 120,000, in the long run 1,200 a second, all
// servers together. What does not fit is sent as slow queries only.
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
