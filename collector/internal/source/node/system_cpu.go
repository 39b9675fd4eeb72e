package node

// systemCPU detects when the kernel of the node becomes much busier than before: the first sign of reclaim, of a
// contended lock, or of a storm of system calls.
type systemCPU struct {
	readings [systemTicks + 1]systemReading // a ring, the last systemTicks ticks
	count    int
	usual    float64 // CPUs in the kernel: follows a rise within about a minute, a fall within seconds
	known    bool
	raised   bool  // it has not been quiet since the last trigger
	firedUS  int64 // time of the last trigger
}

type systemReading struct {
	atUS          int64
	kernel, total uint64 // microseconds of all CPUs
}

const (
	systemTicks   = 10 // 1 s: /proc/stat counts in 10 ms
	systemAverage = 60 * 10
	systemFall    = 2 * 10
	systemAgainUS = 60_000_000
	// The rise above usual, in CPUs, for the first CPU and for each further one: 0.6 on 1 CPU, 0.7 on 2, 7 on 64.
	systemRise     = 0.6
	systemRiseEach = 0.1
)

// update takes the counters of a tick and reports whether they are worth a trigger: once at the beginning, and again
// each minute while the rise lasts.
func (s *systemCPU) update(atUS int64, kernel, total uint64) bool {
	oldest := s.readings[(s.count+1)%len(s.readings)]
	s.readings[s.count%len(s.readings)] = systemReading{atUS, kernel, total}
	s.count++
	elapsed := float64(atUS - oldest.atUS)
	if s.count <= systemTicks || elapsed <= 0 || kernel < oldest.kernel || total <= oldest.total {
		return false
	}
	rate := float64(kernel-oldest.kernel) / elapsed
	cpus := max(1, float64(total-oldest.total)/elapsed)
	if !s.known {
		s.usual, s.known = rate, true
	}
	rise := systemRise + systemRiseEach*(cpus-1)
	above := rate - s.usual
	if above < 0 {
		s.usual += above / systemFall
	} else {
		s.usual += above / systemAverage
	}
	switch {
	case above < rise/2:
		s.raised = false
	case above >= rise && (!s.raised || atUS-s.firedUS >= systemAgainUS):
		s.raised, s.firedUS = true, atUS
		return true
	}
	return false
}
