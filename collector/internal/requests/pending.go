package requests

import "github.com/jitterscope/jitterscope/collector/internal/bpf"

// pending takes records from a ring tick by tick: a record that ended in a later tick is held back.
type pending[T any] struct {
	take  func() *T // the next record, nil if there is none
	ended func(*T) uint64
	held  T
	holds bool
}

// next returns the next record that ended before a time.
func (p *pending[T]) next(clock *bpf.Clock, beforeNS int64) *T {
	if !p.holds {
		record := p.take()
		if record == nil {
			return nil
		}
		p.held, p.holds = *record, true
	}
	if clock.NS(p.ended(&p.held)) >= beforeNS {
		return nil
	}
	p.holds = false
	return &p.held
}
