// Command overhead measures the CPU time that being observed costs a CoreDNS: it serves a steady load while the probes on
// its runtime, the packet sockets and the socket programs are switched on and off in turn, in windows of a second, so that
// whatever else the machine does meets both alike.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"
)

// result is what is printed.
type result struct {
	QueriesPerSecond float64 `json:"queries_per_second"`
	Windows          int     `json:"windows"`
	OffUS            float64 `json:"coredns_cpu_us_per_query_unobserved"`
	OnUS             float64 `json:"coredns_cpu_us_per_query_observed"`
	AddedRatio       float64 `json:"added_cpu_ratio"`
	AddedLow         float64 `json:"added_cpu_ratio_low"` // 95 % interval of the median
	AddedHigh        float64 `json:"added_cpu_ratio_high"`
	CollectorCPU     float64 `json:"observing_cpu_ratio"` // of one CPU, spent by the observer
	Cycles           int     `json:"gc_cycles"`
	Parts            string  `json:"parts"`
}

const maxAddedRatio = 0.02

func main() {
	coredns := flag.String("coredns", os.Getenv("JITTERSCOPE_COREDNS"), "CoreDNS executable; default: built into the user's cache")
	qps := flag.Float64("qps", 5000, "queries per second")
	pairs := flag.Int("pairs", 60, "pairs of a window observed and one not")
	window := flag.Duration("window", time.Second, "length of a window")
	parts := flag.String("parts", "probes,packets,split", "what is switched on")
	asJSON := flag.Bool("json", false, "print one JSON object")
	flag.Parse()
	r, err := run(*coredns, *qps, *pairs, *window, *parts)
	if err != nil {
		fmt.Fprintln(os.Stderr, "overhead:", err)
		os.Exit(1)
	}
	if *asJSON {
		err = json.NewEncoder(os.Stdout).Encode(r)
	} else {
		_, err = fmt.Printf("CoreDNS at %.0f queries/s, %d windows, observed by %s (%d collections seen)\n"+
			"CPU time per query: %.2f us, observed %.2f us: %+.2f %% (95 %% interval %+.2f to %+.2f %%; promised: at most %.0f %%)\n"+
			"CPU of the observer: %.2f %% of one CPU\n",
			r.QueriesPerSecond, r.Windows, r.Parts, r.Cycles, r.OffUS, r.OnUS, 100*r.AddedRatio, 100*r.AddedLow, 100*r.AddedHigh,
			100*maxAddedRatio, 100*r.CollectorCPU)
	}
	if err != nil || r.AddedLow > maxAddedRatio {
		os.Exit(1)
	}
}
