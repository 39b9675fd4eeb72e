package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// warmUp is longer than what the recorder keeps, so that all of its memory was used.
const warmUp = 75 * time.Second

const windowTime = 4 * time.Second

// measureCollector runs two collectors side by side, one with the recorder.
func measureCollector(ctx context.Context, r *result, collector string, duration time.Duration) error {
	directory, err := os.MkdirTemp("", "jitterscope-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(directory) }()
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body)
	}))
	defer backend.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	with, err := start(ctx, collector, backend.URL, filepath.Join(directory, "with"), "self,flight_recorder")
	if err != nil {
		return err
	}
	defer with.stop()
	without, err := start(ctx, collector, backend.URL, filepath.Join(directory, "without"), "self")
	if err != nil {
		return err
	}
	defer without.stop()
	stopLoad := startLoad(runtime.NumCPU())
	defer stopLoad()
	if err := sleep(ctx, warmUp); err != nil {
		return err
	}
	fromCaptures, err := with.counter("captures_total")
	if err != nil {
		return err
	}
	fromOwn, started := with.thread(), time.Now()
	// The median of many comparisons: what disturbs one of the two for a moment does not count.
	var differences []float64
	for time.Since(started) < duration {
		fromWith, fromWithout, begun := with.cpu(), without.cpu(), time.Now()
		if err := sleep(ctx, windowTime); err != nil {
			return err
		}
		differences = append(differences, float64(with.cpu()-fromWith-(without.cpu()-fromWithout))/float64(time.Since(begun)))
	}
	elapsed := time.Since(started)
	slices.Sort(differences)
	r.SecondsRecorded = elapsed.Seconds()
	r.ThreadCPU = differences[len(differences)/2]
	r.ThreadLowest, r.ThreadHighest = differences[0], differences[len(differences)-1]
	r.OwnCPU = float64(with.thread()-fromOwn) / float64(elapsed)
	captures, err := with.counter("captures_total")
	if err != nil {
		return err
	}
	r.Captures = captures - fromCaptures
	r.ResidentMiB = with.resident("VmHWM:") - without.resident("VmHWM:")
	rings, err := with.counter("ring_bytes")
	if err != nil {
		return err
	}
	r.RingsMiB = rings / (1 << 20)
	return nil
}

type process struct {
	command *exec.Cmd
	url     string
}

func start(ctx context.Context, collector, url, spool, sources string) (*process, error) {
	command := exec.CommandContext(ctx, collector, "run", "--server", url, "--spool-dir", spool, "--sources", sources, "--node-key", "bench",
		"--cpu-budget", "0", "--metrics-listen", "127.0.0.1:0")
	command.Env = append(os.Environ(), "JITTERSCOPE_TOKEN=jsi_bench")
	logs, err := command.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	p := &process{command: command}
	scanner := bufio.NewScanner(logs)
	for p.url == "" && scanner.Scan() {
		if _, rest, ok := strings.Cut(scanner.Text(), `"url":"`); ok {
			p.url, _, _ = strings.Cut(rest, `"`)
		}
	}
	if p.url == "" {
		return nil, fmt.Errorf("the collector with %s ended: run it by hand to see why", sources)
	}
	go func() { _, _ = io.Copy(io.Discard, logs) }()
	return p, nil
}

func (p *process) stop() {
	_ = p.command.Process.Kill()
	_ = p.command.Wait()
}

// cpu is the CPU time of all threads; the kernel counts it in nanoseconds.
func (p *process) cpu() (total time.Duration) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.command.Process.Pid))
	for _, task := range tasks {
		text, _ := os.ReadFile(task)
		if fields := bytes.Fields(text); len(fields) > 0 {
			ns, _ := strconv.ParseInt(string(fields[0]), 10, 64)
			total += time.Duration(ns)
		}
	}
	return total
}

// thread is what the recorder says about itself.
func (p *process) thread() time.Duration {
	seconds, _ := p.counter("cpu_seconds_total")
	return time.Duration(seconds * 1e9)
}

// counter reads a counter of the flight recorder from the collector's own metrics.
func (p *process) counter(name string) (float64, error) {
	response, err := http.Get(p.url)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	series := `jitterscope_collector_source_counter_total{source="flight_recorder",name="` + name + `"} `
	scanner := bufio.NewScanner(response.Body)
	for scanner.Scan() {
		if value, ok := strings.CutPrefix(scanner.Text(), series); ok {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("%s is not among the collector's metrics", series)
}

// resident reads a line of /proc/PID/status in MiB.
func (p *process) resident(line string) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	for each := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(each, line); ok {
			kib, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kib / 1024
		}
	}
	return 0
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
