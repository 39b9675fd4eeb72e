// Command recorder measures what the flight recorder costs while every CPU is busy, in the kernel and in programs with deep
// stacks, and while processes come and go: the time that the kernel's sampling takes from the program that it interrupts,
// the CPU time of the collector's part, a capture, and memory. It compares with a collector that does not record, in the
// same run.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/flightrecorder"
)

// The limits that the project promises.
const (
	maxCPU = 0.005 // of a core
	maxMiB = 15.0
)

// result is what is printed. Shares are of one CPU.
type result struct {
	CPUs            int     `json:"cpus"`
	SampleUS        float64 `json:"sample_us"` // taken from the interrupted program, mean
	SampleP50US     float64 `json:"sample_p50_us"`
	SampleP99US     float64 `json:"sample_p99_us"`
	TickUS          float64 `json:"interrupt_us"` // any interruption of the program, median: mostly the kernel's own timer tick
	Samples         int     `json:"samples"`
	SamplingCPU     float64 `json:"sampling_cpu_ratio"` // of each CPU that is always busy
	ThreadCPU       float64 `json:"thread_cpu_ratio"`   // collector with and without, median
	ThreadLowest    float64 `json:"thread_cpu_lowest_ratio"`
	ThreadHighest   float64 `json:"thread_cpu_highest_ratio"`
	OwnCPU          float64 `json:"recorder_cpu_us_ratio"`
	FirstCaptureMS  float64 `json:"first_capture_ms"`
	NextCaptureMS   float64 `json:"next_capture_ms"`
	CapturesCPU     float64 `json:"captures_cpu_ratio"` // one a minute
	CPU             float64 `json:"cpu_ratio"`          // what one busy CPU loses at most: its samples, and all of the collector's part
	AllCPUs         float64 `json:"all_cpus_ratio"`     // the same with the samples of all CPUs
	ResidentMiB     float64 `json:"resident_mib"`       // collector with and without, peak
	RingsMiB        float64 `json:"rings_mib"`
	MiB             float64 `json:"mib"`
	CaptureKiB      float64 `json:"capture_kib"`
	SecondsRecorded float64 `json:"seconds_recorded"`
	Captures        float64 `json:"captures"`
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "burn" {
		burn()
		return
	}
	collector := flag.String("collector", "../bin/jitterscope-collector", "the built collector")
	seconds := flag.Int("seconds", 60, "how long to measure")
	asJSON := flag.Bool("json", false, "print one JSON object instead of a table")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if _, err := os.Stat(*collector); err != nil {
		fail(fmt.Errorf("%w; make build builds it", err))
	}
	r := result{CPUs: runtime.NumCPU()}
	fail(measureSampling(&r, max(time.Duration(*seconds)*time.Second/4, 5*time.Second)))
	fail(measureCollector(ctx, &r, *collector, time.Duration(*seconds)*time.Second))
	r.SamplingCPU = r.SampleUS / 1e6 * flightrecorder.RateHz
	r.CapturesCPU = r.NextCaptureMS / 1e3 / 60
	r.CPU = r.SamplingCPU + r.ThreadCPU + r.CapturesCPU
	r.AllCPUs = r.CPU + r.SamplingCPU*float64(r.CPUs-1)
	r.MiB = r.ResidentMiB + r.RingsMiB
	if *asJSON {
		fail(json.NewEncoder(os.Stdout).Encode(r))
	} else {
		table(r)
	}
	if r.CPU > maxCPU || r.MiB > maxMiB {
		fail(fmt.Errorf("over the limits: %.1f %% of a core, %.0f MiB", 100*maxCPU, maxMiB))
	}
}

func table(r result) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	line := func(format string, values ...any) { _, _ = fmt.Fprintf(w, format+"\n", values...) }
	line("part\tCPU, of a core\tmemory\thow")
	line("sampling in the kernel\t%.3f %%\t%.1f MiB\tof each of %d busy CPUs, at %d Hz: %.1f us a sample (p50 %.1f, p99 %.1f us, %d samples); any interrupt takes %.1f us here",
		100*r.SamplingCPU, r.RingsMiB, r.CPUs, flightrecorder.RateHz, r.SampleUS, r.SampleP50US, r.SampleP99US, r.Samples, r.TickUS)
	line("the collector's part\t%.3f %%\t%.1f MiB\twith and without, median of 4 s windows (%.3f to %.3f %%), %.0f s, %.0f captures in it; its own clock says %.3f %%",
		100*r.ThreadCPU, r.ResidentMiB, 100*r.ThreadLowest, 100*r.ThreadHighest, r.SecondsRecorded, r.Captures, 100*r.OwnCPU)
	line("a capture a minute\t%.3f %%\t\t%.1f ms each (the first %.1f ms), %.0f KiB", 100*r.CapturesCPU, r.NextCaptureMS, r.FirstCaptureMS, r.CaptureKiB)
	line("together\t%.3f %%\t%.1f MiB\tat most %.1f %% and %.0f MiB; with the samples of all %d CPUs %.3f %% of one", 100*r.CPU, r.MiB,
		100*maxCPU, maxMiB, r.CPUs, 100*r.AllCPUs)
	_ = w.Flush()
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
