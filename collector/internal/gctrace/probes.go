package gctrace

import (
	"strconv"

	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/goruntime"
	"github.com/jitterscope/jitterscope/collector/internal/probes"
)

// Attach attaches probes to the phases in a process. offsets are their offsets in its executable; number identifies the
// process in Next.
func Attach(p *probes.Probes, proc string, pid int, number uint32, offsets map[string]uint64) (*probes.Attachment, error) {
	var places []probes.Place
	for _, name := range goruntime.Phases {
		places = append(places, probes.Place{Name: name, Offset: offsets[name], Argument: probes.FirstOfGo})
	}
	return p.Attach(proc+"/"+strconv.Itoa(pid)+"/exe", pid, number, places)
}

// Next returns the next moment and the number of the process it belongs to. It does not allocate or block.
func Next(p *probes.Probes, clock *bpf.Clock) (number uint32, moment Moment, ok bool) {
	number, passed, ok := p.Next(clock)
	return number, Moment{
		TimeUS: passed.TimeUS, Phase: Phase(passed.Place), Reason: passed.Argument & 0xff, // stwReason is one byte
	}, ok
}
