package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// result holds parallel arrays, one entry per query or request in the order sent. A lost one has result timeout and the
// timeout as its latency.
type result struct {
	plan      plan
	sentUs    []int64
	latencyUs []int32
	code      []uint8
	delayUs   []int32
	samples   []row
	refused   int
	stray     int64
	wireNs    int64
}

func (l *ledger) result(p plan, timeout time.Duration) *result {
	r := &result{
		plan: p, refused: l.refused, stray: l.stray.Load(), wireNs: l.wireNs, code: l.code[:l.count],
		sentUs: make([]int64, l.count), latencyUs: make([]int32, l.count), delayUs: make([]int32, l.count),
	}
	for i := range l.count {
		r.sentUs[i] = l.sentNs[i] / 1000
		r.delayUs[i] = int32(min(l.delayNs[i]/1000, math.MaxInt32))
		latency := l.answerNs[i] - l.sentNs[i]
		if l.answerNs[i] == 0 || latency > int64(timeout) {
			latency = int64(timeout)
			r.code[i] = resultTimeout
		}
		r.latencyUs[i] = int32(max(latency, 0) / 1000)
	}
	return r
}

// fileHeader is the first line of the file, in JSON; the arrays follow it, little-endian, in this order.
type fileHeader struct {
	Format  string `json:"format"`
	Queries int    `json:"queries"` // sent_us i64, latency_us i32, result u8: three arrays of this length
	Samples int    `json:"samples"` // rows of six i64: at_us, periods, throttled, throttled_us, usage_us, bursts
}

func (r *result) write(path string) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
	}()
	out := bufio.NewWriterSize(file, 1<<20)
	if err := r.encode(out); err != nil {
		return err
	}
	return out.Flush()
}

func (r *result) encode(out io.Writer) error {
	header := fileHeader{Format: "jitterscope-load/1", Queries: len(r.sentUs), Samples: len(r.samples)}
	if err := json.NewEncoder(out).Encode(header); err != nil {
		return err
	}
	for _, part := range []any{r.sentUs, r.latencyUs, r.code, r.samples} {
		if err := binary.Write(out, binary.LittleEndian, part); err != nil {
			return err
		}
	}
	return nil
}

// summary is what the driver prints: enough to judge whether the driver itself kept pace.
type summary struct {
	StartUs     int64   `json:"start_us"`
	Sent        int     `json:"sent"`
	Answered    int     `json:"answered"`
	Lost        int     `json:"lost"`
	NotSent     int     `json:"not_sent"`
	Stray       int64   `json:"stray"`
	P50Us       int32   `json:"p50_us"`
	P99Us       int32   `json:"p99_us"`
	MaxUs       int32   `json:"max_us"`
	DelayP99Us  int32   `json:"send_delay_p99_us"` // how late queries were sent
	DelayMaxUs  int32   `json:"send_delay_max_us"`
	DriverCPUUs int64   `json:"driver_cpu_us"`
	WireDelayUs float64 `json:"wire_delay_us"` // send call to loopback device, already subtracted from the latencies
	Seconds     float64 `json:"seconds"`
}

func (r *result) summary() summary {
	s := summary{
		StartUs: r.plan.startNs / 1000, Sent: len(r.sentUs), NotSent: r.refused, Stray: r.stray,
		Seconds: float64(r.plan.durationNs) / 1e9, WireDelayUs: float64(r.wireNs) / 1e3,
	}
	answered := make([]int32, 0, len(r.latencyUs))
	for i, latency := range r.latencyUs {
		if r.code[i] != resultTimeout {
			answered = append(answered, latency)
		}
	}
	s.Answered, s.Lost = len(answered), len(r.latencyUs)-len(answered)
	slices.Sort(answered)
	s.P50Us, s.P99Us, s.MaxUs = quantile(answered, 0.5), quantile(answered, 0.99), quantile(answered, 1)
	delays := slices.Clone(r.delayUs)
	slices.Sort(delays)
	s.DelayP99Us, s.DelayMaxUs = quantile(delays, 0.99), quantile(delays, 1)
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) == nil {
		s.DriverCPUUs = (usage.Utime.Nano() + usage.Stime.Nano()) / 1000
	}
	return s
}

func quantile(sorted []int32, q float64) int32 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))]
}
