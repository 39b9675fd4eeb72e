package owing

import "testing"

const ms = int64(1_000_000)

func TestSilenceIsSinceTheLastAnswer(t *testing.T) {
	var s Silence
	s.Asked(100 * ms)
	s.Publish(true)
	if since := s.SilentSinceNS(0); since != 100*ms {
		t.Errorf("silent since %d ms", since/ms)
	}
	s.Answered(110 * ms) // others are still unanswered
	s.Publish(true)
	if since := s.SilentSinceNS(0); since != 110*ms || s.BrokenNS() != 0 {
		t.Errorf("silent since %d ms, broken at %d ms", since/ms, s.BrokenNS()/ms)
	}
	s.Answered(190 * ms)
	s.Answered(191 * ms)
	s.Publish(false)
	if since := s.SilentSinceNS(0); since != 0 || s.BrokenNS() != 190*ms {
		t.Errorf("silent since %d ms, broken at %d ms", since/ms, s.BrokenNS()/ms)
	}
	s.Asked(500 * ms) // idle until then: no silence
	s.Answered(505 * ms)
	s.Publish(false)
	if s.BrokenNS() != 190*ms {
		t.Errorf("broken at %d ms", s.BrokenNS()/ms)
	}
}
