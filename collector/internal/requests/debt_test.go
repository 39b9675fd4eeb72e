package requests

import (
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/bpf"
)

const ms = int64(1_000_000)

func newDebt() *Debt { return &Debt{counts: &bpf.RequestsCounts{}} }

func (d *Debt) expect(t *testing.T, atMS, sinceMS int64) {
	t.Helper()
	if since := d.SilentSinceNS(atMS * ms); since != sinceMS*ms {
		t.Errorf("at %d ms: silent since %d ms instead of %d", atMS, since/ms, sinceMS)
	}
}

func TestDebtIsSilentWhileNothingEnds(t *testing.T) {
	d := newDebt()
	d.expect(t, 1000, 0)
	d.counts.Came[3] = 2
	d.expect(t, 1025, 1025)
	d.expect(t, 1050, 1025)
	d.counts.Came[4] = 5 // more requests do not make it less silent
	d.expect(t, 1075, 1025)
	d.counts.Ended = 1
	d.expect(t, 1100, 1100)
	if d.BrokenNS() != 1075*ms {
		t.Errorf("broken at %d ms", d.BrokenNS()/ms)
	}
	d.counts.Ended = 7
	d.expect(t, 1125, 0)
	d.expect(t, 1150, 0)
}

func TestDebtForgetsWhatIsNeverAnswered(t *testing.T) {
	d := newDebt()
	d.counts.Came[0] = 1 // a long poll
	d.expect(t, 1000, 1000)
	d.expect(t, 11_001, 0)
	d.expect(t, 11_025, 0)
	d.counts.Came[1] = 1
	d.expect(t, 11_050, 11_050)
	d.counts.Ended = 1
	d.expect(t, 11_075, 0)
	d.counts.Ended = 2 // the long poll ends after all
	d.expect(t, 11_100, 0)
	d.counts.Came[2] = 1
	d.expect(t, 11_125, 11_125)
}

func BenchmarkDebt(b *testing.B) {
	d := newDebt()
	for b.Loop() {
		_ = d.SilentSinceNS(ms)
	}
}
