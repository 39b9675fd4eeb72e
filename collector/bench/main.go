// Command bench measures the collector beside a bare loop that makes the same reads, in the same run.
//
// It makes cgroups of its own, runs the built collector against a local server that takes every batch, and the bare loop
// at the same time, and prints CPU time, peak memory and late ticks of both. A janitor process removes the cgroups also
// when the bench is killed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// result is one line of the table.
type result struct {
	Groups          int     `json:"cgroups"`
	CollectorCPU    float64 `json:"collector_cpu_ratio"` // of one CPU
	BareCPU         float64 `json:"bare_loop_cpu_ratio"`
	Ratio           float64 `json:"ratio"`
	PeakRSSMiB      float64 `json:"peak_rss_mib"`
	AllocationsTick float64 `json:"allocations_per_tick"`
	Ticks           int     `json:"ticks"`
	LateTicks       int     `json:"late_ticks"`
	MissedTicks     int     `json:"missed_ticks"`
	BareLate        int     `json:"bare_loop_late_ticks"`
	BytesPerSecond  float64 `json:"sent_bytes_per_second"`
	ReadsPerTick    float64 `json:"reads_per_tick"`
}

// The limits that the project promises.
const (
	maxRatio  = 2.0
	maxRSSMiB = 25.0
)

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "bare-loop":
			fail(bareLoop(os.Args[2:]))
			return
		case "janitor":
			janitor(os.Args[2:])
			return
		}
	}
	collector := flag.String("collector", "../bin/jitterscope-collector", "the built collector")
	seconds := flag.Int("seconds", 30, "how long to measure each number of cgroups")
	groups := flag.String("groups", "100,500", "numbers of cgroups")
	root := flag.String("cgroup-root", "/sys/fs/cgroup", "where the cgroup file systems are mounted")
	asJSON := flag.Bool("json", false, "print one JSON object a line instead of a table")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if _, err := os.Stat(*collector); err != nil {
		fail(fmt.Errorf("%w; make build builds it", err))
	}

	var results []result
	for _, text := range strings.Split(*groups, ",") {
		count, err := strconv.Atoi(text)
		fail(err)
		r, err := measure(ctx, *collector, *root, count, time.Duration(*seconds)*time.Second)
		if errors.Is(err, os.ErrPermission) {
			fail(fmt.Errorf("%w: making cgroups needs root", err))
		}
		fail(err)
		results = append(results, r)
	}
	if *asJSON {
		for _, r := range results {
			fail(json.NewEncoder(os.Stdout).Encode(r))
		}
	} else {
		table(results)
	}
	for _, r := range results {
		if r.Ratio > maxRatio || r.PeakRSSMiB > maxRSSMiB || r.AllocationsTick > 0 {
			fail(fmt.Errorf("over the limits: CPU ratio %.1f, %.0f MiB, 0 allocations a tick", maxRatio, maxRSSMiB))
		}
	}
}

func table(results []result) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "cgroups\tcollector CPU\tbare loop CPU\tratio\tpeak RSS\tallocs/tick\tlate/missed of ticks\tbare loop late\tsent\treads/tick\t")
	for _, r := range results {
		_, _ = fmt.Fprintf(w, "%d\t%.2f %%\t%.2f %%\t%.2f\t%.1f MiB\t%.2f\t%d/%d of %d\t%d\t%.1f kB/s\t%.0f\t\n", r.Groups, 100*r.CollectorCPU,
			100*r.BareCPU, r.Ratio, r.PeakRSSMiB, r.AllocationsTick, r.LateTicks, r.MissedTicks, r.Ticks, r.BareLate, r.BytesPerSecond/1000, r.ReadsPerTick)
	}
	_ = w.Flush()
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
