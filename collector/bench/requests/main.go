// Command requests measures what timing the requests of TCP servers costs: the CPU time that it adds to a server under a steady
// load, the source being switched on and off in turn, and the CPU time of the collector where as many requests come as the
// server can answer.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"
)

const (
	maxAddedRatio = 0.02
	maxCollector  = 0.03 // of one CPU, at 100,000 packets/s
	packets       = 100_000
)

func main() {
	valkey := flag.String("valkey", "valkey-server", "valkey-server executable")
	rate := flag.Float64("rate", 5000, "requests per second of the steady load")
	pairs := flag.Int("pairs", 2000, "pairs of a window observed and one not")
	window := flag.Duration("window", 25*time.Millisecond, "length of a window")
	asJSON := flag.Bool("json", false, "print one JSON object")
	trips := flag.Bool("round-trips", false, "only what timing adds to a request and its answer over loopback, both ends")
	flag.Parse()
	if *trips {
		if err := printRoundTrips(); err != nil {
			fmt.Fprintln(os.Stderr, "requests:", err)
			os.Exit(1)
		}
		return
	}
	kept := true
	for _, kind := range []string{"http", "valkey"} {
		r, err := run(kind, *valkey, *rate, *pairs, *window)
		if err != nil {
			fmt.Fprintln(os.Stderr, "requests:", err)
			os.Exit(1)
		}
		if *asJSON {
			err = json.NewEncoder(os.Stdout).Encode(r)
		} else {
			err = r.print()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "requests:", err)
			os.Exit(1)
		}
		// A server that does next to nothing for a request shows what the programs cost; the promise is about one that works.
		kept = kept && (kind != "http" || r.AddedLow <= maxAddedRatio) && r.CollectorAt <= maxCollector
	}
	if !kept {
		os.Exit(1)
	}
}

// result is what is printed.
type result struct {
	Server            string             `json:"server"`
	RequestsPerSecond float64            `json:"requests_per_second"`
	Windows           int                `json:"windows"`
	OffUS             float64            `json:"server_cpu_us_per_request_unobserved"`
	OnUS              float64            `json:"server_cpu_us_per_request_observed"`
	AddedRatio        float64            `json:"added_cpu_ratio"`
	AddedLow          float64            `json:"added_cpu_ratio_low"` // 95 % interval of the median
	AddedHigh         float64            `json:"added_cpu_ratio_high"`
	Collector         float64            `json:"collector_cpu_ratio"`                   // of one CPU, under the steady load
	MostRequests      float64            `json:"most_requests_per_second"`              // as fast as the server answers
	MostPackets       float64            `json:"most_packets_per_second"`               // on loopback, both ways
	MostCollector     float64            `json:"most_collector_cpu_ratio"`              // of one CPU
	CollectorAt       float64            `json:"collector_cpu_ratio_at_100000_packets"` // in proportion
	Seen              float64            `json:"seen_ratio"`                            // requests timed of those answered
	ProgramNS         map[string]float64 `json:"program_ns"`                            // of one run, counted by the kernel
}

func (r *result) print() error {
	_, err := fmt.Printf("%s at %.0f requests/s, %d windows\n"+
		"CPU time per request: %.2f us, timed %.2f us: %+.2f %% (95 %% interval %+.2f to %+.2f %%; promised: at most %.0f %%)\n"+
		"CPU of the collector: %.2f %% of one CPU; at %.0f requests/s and %.0f packets/s %.2f %%, which is %.2f %% at 100,000 "+
		"packets/s (promised: at most %.0f %%)\n"+
		"timed: %.3f %% of the requests; programs: %v ns\n",
		r.Server, r.RequestsPerSecond, r.Windows, r.OffUS, r.OnUS, 100*r.AddedRatio, 100*r.AddedLow, 100*r.AddedHigh, 100*maxAddedRatio,
		100*r.Collector, r.MostRequests, r.MostPackets, 100*r.MostCollector, 100*r.CollectorAt, 100*maxCollector, 100*r.Seen, r.ProgramNS)
	return err
}
