package requests

import (
	"fmt"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// RunTimes lets the kernel measure for a while how long a run of each program takes, and returns nanoseconds by
// program. While it measures, all programs on the machine are slower.
func (p *Programs) RunTimes(during time.Duration) (map[string]float64, error) {
	counting, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
	if err != nil {
		return nil, fmt.Errorf("count run times: %w", err)
	}
	defer func() { _ = counting.Close() }()
	time.Sleep(during)
	times := make(map[string]float64)
	for name, program := range map[string]*ebpf.Program{
		"segment_came": p.objects.SegmentCame, "data_read": p.objects.DataRead, "packet_left": p.objects.PacketLeft, "state_set": p.objects.StateSet,
		"segment_resent": p.objects.SegmentResent, "synack_resent": p.objects.SynackResent,
	} {
		stats, err := program.Stats()
		if err != nil {
			return nil, err
		}
		if stats.RunCount > 0 {
			times[name] = float64(stats.Runtime.Nanoseconds()) / float64(stats.RunCount)
		}
	}
	return times, nil
}
