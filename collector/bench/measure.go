package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
	_ "github.com/jitterscope/jitterscope/collector/internal/source/all"
)

// warmUp lets both find all cgroups and grow their buffers before CPU time is counted. Peak memory counts from the start.
const warmUp = 5 * time.Second

func measure(ctx context.Context, collector, root string, count int, duration time.Duration) (r result, err error) {
	r.Groups = count
	groups, err := makeGroups(root, count)
	if err != nil {
		return r, err
	}
	defer func() {
		if removeError := groups.remove(); err == nil {
			err = removeError
		}
	}()
	directory, err := os.MkdirTemp("", "jitterscope-bench-")
	if err != nil {
		return r, err
	}
	defer func() { _ = os.RemoveAll(directory) }()
	if r.AllocationsTick, err = allocations(root, filepath.Join(directory)); err != nil {
		return r, err
	}
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body)
	}))
	defer backend.Close()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	// In a PID namespace of its own the collector meets no foreign Go programs and DNS servers, whose number is not what is
	// measured here. All sources run.
	observed := exec.CommandContext(ctx, "/bin/sh", "-c", `mount -t proc proc /proc && exec "$@"`, "sh", collector, "run", "--server", backend.URL, "--spool-dir", filepath.Join(directory, "spool"),
		"--cgroup-root", root, "--metrics-listen", "127.0.0.1:0", "--cpu-budget", "0", "--log-level", "info")
	observed.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Unshareflags: syscall.CLONE_NEWNS}
	observed.Env = append(os.Environ(), "JITTERSCOPE_TOKEN=jsi_bench")
	logs, err := observed.StderrPipe()
	if err != nil {
		return r, err
	}
	bare := exec.CommandContext(ctx, self, "bare-loop", root)
	said, err := bare.StdoutPipe()
	if err != nil {
		return r, err
	}
	if err := observed.Start(); err != nil {
		return r, fmt.Errorf("the collector does not start: %w", err)
	}
	defer func() { cancel(); _ = observed.Wait() }()
	if err := bare.Start(); err != nil {
		return r, err
	}
	defer func() { cancel(); _ = bare.Wait() }()
	metrics := metricsAddress(logs)
	last := lastLine(said)

	if err := sleep(ctx, warmUp); err != nil {
		return r, err
	}
	url, ok := <-metrics
	if !ok {
		return r, fmt.Errorf("the collector ended: run it by hand to see why")
	}
	from, bareFrom := cpuSeconds(observed.Process.Pid), cpuSeconds(bare.Process.Pid)
	before, err := scrape(url)
	if err != nil {
		return r, err
	}
	started := time.Now()
	if err := sleep(ctx, duration); err != nil {
		return r, err
	}
	elapsed := time.Since(started).Seconds()
	r.CollectorCPU = (cpuSeconds(observed.Process.Pid) - from) / elapsed
	r.BareCPU = (cpuSeconds(bare.Process.Pid) - bareFrom) / elapsed
	r.Ratio = r.CollectorCPU / r.BareCPU
	r.PeakRSSMiB = peakRSS(observed.Process.Pid)
	after, err := scrape(url)
	if err != nil {
		return r, err
	}
	delta := func(name string) float64 { return after[name] - before[name] }
	r.Ticks, r.LateTicks = int(delta("jitterscope_collector_ticks_total")), int(delta("jitterscope_collector_ticks_late_total"))
	r.MissedTicks = int(delta("jitterscope_collector_ticks_missed_total"))
	r.BytesPerSecond = delta("jitterscope_collector_sent_bytes_total") / elapsed
	_, _ = fmt.Sscanf(last(), "%d %g", &r.BareLate, &r.ReadsPerTick)
	return r, nil
}

// allocations samples ticks of these cgroups in this process and counts every allocation.
func allocations(root, directory string) (perTick float64, err error) {
	own := map[string]bool{"cgroup_cpu": true, "cgroup_memory": true, "cgroup_pids": true, "psi": true, "host_cpu": true, "self": true}
	sources, err := source.New(func(name string) bool { return own[name] })
	if err != nil {
		return 0, err
	}
	store, _, err := batch.Open(directory, [16]byte{1}, 1, "bench")
	if err != nil {
		return 0, err
	}
	store.Start(time.Now().UnixMicro() / batch.StepUS)
	engine := sampler.New(sampler.Config{
		Roots: sampler.Roots{Cgroup: root, Proc: "/proc", Sys: "/sys"}, Store: store, Log: slog.New(slog.DiscardHandler),
		Sources: sources, Sealed: func(s *batch.Sealed) { s.Release() },
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := engine.Prepare(ctx); err != nil {
		return 0, err
	}
	tick := engine.Ticker()
	const ticks = 100
	for range ticks {
		tick()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range ticks {
		tick()
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / ticks, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// metricsAddress finds the address in the collector's log; the channel is closed where the log ends without.
func metricsAddress(logs io.Reader) <-chan string {
	found := make(chan string, 1)
	go func() {
		defer close(found)
		scanner := bufio.NewScanner(logs)
		for scanner.Scan() {
			line := scanner.Text()
			if _, rest, ok := strings.Cut(line, `"url":"`); ok {
				found <- strings.SplitN(rest, `"`, 2)[0]
				break
			}
			if strings.Contains(line, `"level":"ERROR"`) {
				fmt.Fprintln(os.Stderr, line)
			}
		}
		_, _ = io.Copy(io.Discard, logs)
	}()
	return found
}

func lastLine(r io.Reader) func() string {
	var mu sync.Mutex
	last := ""
	go func() {
		scanner := bufio.NewScanner(r)
		for scanner.Scan() {
			mu.Lock()
			last = scanner.Text()
			mu.Unlock()
		}
	}()
	return func() string { mu.Lock(); defer mu.Unlock(); return last }
}

func scrape(url string) (map[string]float64, error) {
	response, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	values := make(map[string]float64)
	scanner := bufio.NewScanner(response.Body)
	for scanner.Scan() {
		if name, value, ok := strings.Cut(scanner.Text(), " "); ok && !strings.HasPrefix(name, "#") {
			values[name], _ = strconv.ParseFloat(value, 64)
		}
	}
	return values, scanner.Err()
}

// cpuSeconds is user and system time of a process.
func cpuSeconds(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	user, _ := strconv.ParseFloat(string(fields[11]), 64)
	system, _ := strconv.ParseFloat(string(fields[12]), 64)
	return (user + system) / 100
}

// peakRSS is VmHWM in MiB.
func peakRSS(pid int) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kib / 1024
		}
	}
	return 0
}
