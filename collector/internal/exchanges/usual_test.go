package exchanges

import (
	"testing"
	"time"
)

const tickNS = int64(100 * time.Millisecond)

// asks counts what a server asked for in ticks of the given answer times (ms).
func asks(t *testing.T, server *Server, nowNS *int64, ticks int, answersMS func(tick int) []float64) (slow, slower int) {
	t.Helper()
	for tick := range ticks {
		*nowNS += tickNS
		for _, ms := range answersMS(tick) {
			server.Ended(*nowNS-1, uint32(ms*1000))
		}
		switch _, asked := server.TakeSlow(*nowNS); asked {
		case Slow:
			slow++
		case Slower:
			slower++
		case Nothing:
		}
	}
	return slow, slower
}

func always(ms ...float64) func(int) []float64 { return func(int) []float64 { return ms } }

func TestAnswersThatAreAlwaysSlowAreNoNews(t *testing.T) {
	now := int64(time.Hour)
	server := NewServer(1, now)
	slow, slower := asks(t, &server, &now, 600, always(25, 26, 27, 28, 110))
	if slow < 55 || slower != 0 {
		t.Errorf("asked %d times for slow answers and %d for slower ones", slow, slower)
	}
	// Of a hundred answers, a few take much longer, evenly.
	slow, slower = asks(t, &server, &now, 600, func(tick int) []float64 {
		if tick%4 == 0 {
			return []float64{25, 30, 120, 26}
		}
		return []float64{25, 30, 28, 26}
	})
	if slow < 50 || slower != 0 {
		t.Errorf("asked %d times for slow answers and %d for slower ones", slow, slower)
	}
}

func TestMoreOrSlowerAnswersAreNewsAtOnce(t *testing.T) {
	quick, slow := always(1, 2, 1, 2), always(25, 26, 27, 28)
	for name, test := range map[string]struct {
		before, then func(int) []float64
		ticks, want  int
	}{
		"slower":                        {slow, always(200, 200, 210, 230, 250, 240, 220), 1, 1},
		"lost":                          {slow, always(5000, 5000, 5000, 5000), 1, 1},
		"more, within a second":         {quick, always(30, 2, 30, 30), 10, 1},
		"a minute of what it always is": {slow, slow, 600, 0},
	} {
		now := int64(time.Hour)
		server := NewServer(1, now)
		if _, slower := asks(t, &server, &now, 600, test.before); slower != 0 {
			t.Fatalf("%s: slower before", name)
		}
		if _, slower := asks(t, &server, &now, test.ticks, test.then); slower != test.want {
			t.Errorf("%s: asked %d times for slower answers", name, slower)
		}
	}
}

func TestWhatIsUsualFollows(t *testing.T) {
	now := int64(time.Hour)
	server := NewServer(1, now)
	asks(t, &server, &now, 600, always(1, 2, 1, 2))
	// The service has become slow for good: after two minutes that is no news.
	asks(t, &server, &now, 1200, always(30, 31, 32, 33))
	if _, slower := asks(t, &server, &now, 600, always(30, 31, 32, 33)); slower != 0 {
		t.Errorf("asked %d times a minute for what is usual now", slower)
	}
}

func TestFewAnswersSayNothing(t *testing.T) {
	now := int64(time.Hour)
	server := NewServer(1, now)
	if slow, slower := asks(t, &server, &now, 20, always(25, 300)); slow != 2 || slower != 0 {
		t.Errorf("asked %d times for slow answers and %d for slower ones", slow, slower)
	}
}
