// Command lookups measures what tracing failing lookups costs whoever makes them: a process of its own asks for names that do
// not exist at a steady rate, alone on the last CPU, while tracing is switched on and off in turn, so that whatever else the
// machine does meets both alike.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/jitterscope/jitterscope/collector/bench/alternating"
	"github.com/jitterscope/jitterscope/collector/internal/lookups"
)

// row is one kind of system call.
type row struct {
	Calls        string  `json:"calls"`
	PerSecond    float64 `json:"per_second"`
	OffNS        float64 `json:"cpu_ns_per_call_untraced"`
	OnNS         float64 `json:"cpu_ns_per_call_traced"`
	AddedRatio   float64 `json:"added_cpu_ratio"`
	AddedLow     float64 `json:"added_cpu_ratio_low"` // 95 % interval of the median
	AddedHigh    float64 `json:"added_cpu_ratio_high"`
	ObserverCPU  float64 `json:"observing_cpu_ratio"`         // of one CPU, spent by the observer
	CostOfOneCPU float64 `json:"cost_of_one_cpu"`             // both, of one CPU, at this rate
	MinuteRatio  float64 `json:"added_cpu_ratio_of_a_minute"` // observer included, over the first minute of a storm
}

// maxAdded is what tracing may add to a storm's CPU time in its first minute, the observer's included.
const maxAdded = 0.05

func main() {
	if len(os.Args) > 1 && os.Args[1] == stormArgument {
		storm()
		return
	}
	rate := flag.Float64("rate", 100_000, "failing lookups a second")
	pairs := flag.Int("pairs", 20, "pairs of a window traced and one not, of each kind")
	window := flag.Duration("window", time.Second, "length of a window")
	asJSON := flag.Bool("json", false, "print one JSON object a line")
	flag.Parse()
	kept := true
	if !*asJSON {
		fmt.Printf("%-34s %9s %9s %9s %8s  %-18s %8s %8s %9s\n", "calls", "a second", "ns", "ns traced", "added", "95 %", "observer", "of a CPU",
			"a minute")
	}
	for _, kind := range []string{freshNames, sameNames, otherCalls} {
		r, err := run(kind, *rate, *pairs, *window)
		if err != nil {
			fmt.Fprintln(os.Stderr, "lookups:", err)
			os.Exit(1)
		}
		if *asJSON {
			err = json.NewEncoder(os.Stdout).Encode(r)
		} else {
			_, err = fmt.Printf("%-34s %9.0f %9.0f %9.0f %+7.2f%%  %-18s %7.2f%% %7.2f%% %+8.2f%%\n", r.Calls, r.PerSecond, r.OffNS, r.OnNS,
				100*r.AddedRatio, fmt.Sprintf("%+.2f to %+.2f%%", 100*r.AddedLow, 100*r.AddedHigh), 100*r.ObserverCPU, 100*r.CostOfOneCPU, 100*r.MinuteRatio)
		}
		kept = kept && err == nil && (kind != freshNames || r.MinuteRatio <= maxAdded)
	}
	if !*asJSON {
		fmt.Printf("A storm is traced in its first seconds and then now and then: %.0f %% of the first minute.\n", 100*lookups.TracedShare(time.Minute))
	}
	if !kept {
		fmt.Fprintf(os.Stderr, "lookups: tracing adds more than the %.0f %% promised\n", 100*maxAdded)
		os.Exit(1)
	}
}

func run(kind string, rate float64, pairs int, window time.Duration) (row, error) {
	s, err := startStorm(kind, rate)
	if err != nil {
		return row{}, err
	}
	defer s.stop()
	o, err := newObserver()
	if err != nil {
		return row{}, err
	}
	defer o.close()
	if _, err := s.measure(window); err != nil { // warm
		return row{}, err
	}
	var off, on, rates []float64
	for pair := range pairs {
		// Off-on, then on-off: a drift does not favour either.
		for _, traced := range []bool{pair%2 == 1, pair%2 == 0} {
			if traced {
				if err := o.switchOn(); err != nil {
					return row{}, err
				}
			}
			m, err := s.measure(window)
			if err == nil && traced {
				err = o.switchOff(s.command.Process.Pid, m.Calls, kind != otherCalls)
			}
			if err != nil {
				return row{}, err
			}
			cost := float64(m.CPU) / float64(m.Calls)
			rates = append(rates, float64(m.Calls)/m.Took.Seconds())
			if traced {
				on = append(on, cost)
			} else {
				off = append(off, cost)
			}
		}
	}
	return o.result(kind, off, on, rates), nil
}

// result compares the windows in pairs.
func (o *observer) result(kind string, off, on, rates []float64) row {
	compared := alternating.Compare(off, on)
	r := row{
		Calls: kind, PerSecond: alternating.Median(rates), OffNS: compared.Off, OnNS: compared.On, AddedRatio: compared.Added,
		AddedLow: compared.Low, AddedHigh: compared.High,
		ObserverCPU: o.spent.Seconds() / o.watched.Seconds(),
	}
	alone := r.PerSecond * r.OffNS / 1e9 // of one CPU
	r.MinuteRatio = (r.AddedRatio + r.ObserverCPU/alone) * lookups.TracedShare(time.Minute)
	r.CostOfOneCPU = r.AddedRatio*alone + r.ObserverCPU
	return r
}
