package dns

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/dnslog"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("dns_errors", func() sampler.Source { return &dnsErrors{} }) }

const (
	readLogsEvery = 250 * time.Millisecond
	findLogsEvery = 5 * time.Second // a restarted container begins a new file
)

// dnsErrors makes events of the error lines of DNS servers. It reads what the servers write anyway: log files, the
// files of container runtimes, the journal. It samples nothing on the grid.
type dnsErrors struct {
	registry *sampler.Registry
	shared   *dnsShared
	roots    []string
	journal  dnslog.Journal
	done     sync.WaitGroup
	buffer   []byte

	mu      sync.Mutex
	logs    map[*procwatch.Process]*serverLog
	skipped uint64 // bytes of logs that are no longer followed
}

// errorOptions are the table [sources.dns_errors].
type errorOptions struct {
	// Where the node's file system might be visible, for the logs of containers.
	Roots []string `toml:"roots"`
	// Of the journal, "" for the system's own.
	JournalDirectory string `toml:"journal_directory"`
}

func (d *dnsErrors) Name() string { return "dns_errors" }

func (d *dnsErrors) Start(ctx context.Context, registry *sampler.Registry) error {
	options := errorOptions{Roots: []string{"/", registry.Roots.Proc + "/1/root"}}
	if err := registry.Options(&options); err != nil {
		return err
	}
	d.registry, d.shared, d.roots = registry, sharedDNS(registry), options.Roots
	d.logs = make(map[*procwatch.Process]*serverLog)
	d.buffer = make([]byte, 32<<10)
	d.journal.Directory, d.journal.Visit = options.JournalDirectory, d.journalLine
	d.done.Go(func() { d.loop(ctx) })
	return nil
}

func (d *dnsErrors) loop(ctx context.Context) {
	ticker := time.NewTicker(readLogsEvery)
	defer ticker.Stop()
	var found time.Time
	for {
		if now := time.Now(); now.Sub(found) >= findLogsEvery || d.changed() {
			found = now
			d.find(ctx)
		}
		d.read()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// changed reports whether the set of processes that serve DNS differs from those whose logs are followed.
func (d *dnsErrors) changed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	present := make(map[*procwatch.Process]bool, len(d.logs))
	for _, server := range *d.shared.servers.Load() {
		if d.logs[server.process] == nil {
			return true
		}
		present[server.process] = true
	}
	return len(present) != len(d.logs)
}

// find looks for the logs of all servers.
func (d *dnsErrors) find(ctx context.Context) {
	places := make(map[*procwatch.Process]dnslog.Places)
	for _, server := range *d.shared.servers.Load() {
		p := server.process
		if _, done := places[p]; !done {
			places[p] = dnslog.Find(d.registry.Roots.Proc, p.PID, p.DNS, p.Cgroup, d.roots)
		}
	}
	var units, missing []string
	var pids []int
	d.mu.Lock()
	for process, log := range d.logs {
		if _, ok := places[process]; !ok {
			d.skipped += log.close()
			delete(d.logs, process)
		}
	}
	for process, found := range places {
		log := d.logs[process]
		if log == nil {
			log = &serverLog{process: process}
			d.logs[process] = log
		}
		log.unit = found.Unit
		if err := log.follow(found.Files); err != nil {
			found.Missing = err.Error()
		}
		if found.Missing != "" {
			missing = append(missing, fmt.Sprintf("%s (process %d): %s", process.DNS, process.PID, found.Missing))
		}
		if found.Unit != "" {
			units, pids = append(units, found.Unit), append(pids, process.PID)
		}
	}
	d.mu.Unlock()
	d.state(d.journal.Follow(ctx, units, pids), missing)
}

func (d *dnsErrors) state(journal error, missing []string) {
	switch {
	case journal != nil:
		d.registry.Degraded(journal.Error(), dnslog.Needs)
	case len(missing) > 0:
		slices.Sort(missing)
		d.registry.Degraded("error lines of some servers cannot be read: "+strings.Join(missing, "; "),
			"a server that logs to a file, to the journal, or in a container whose log can be read (/var/log/pods)")
	default:
		d.registry.Degraded("", "")
	}
}

// read reads what was written since the last time.
func (d *dnsErrors) read() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	for process, log := range d.logs {
		log.read(d.buffer)
		if server := d.shared.mainServer(process); server != nil {
			d.report(log, server, now)
		}
	}
}

// journalLine handles a line of the journal.
func (d *dnsErrors) journalLine(line []byte, at time.Time, pid int, unit string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var ofUnit *serverLog // children of a server write too
	for process, log := range d.logs {
		if log.unit == "" {
			continue
		}
		if process.PID == pid {
			log.take(line, at)
			return
		}
		if log.unit == unit {
			ofUnit = log
		}
	}
	if ofUnit != nil {
		ofUnit.take(line, at)
	}
}

// report makes events of the errors that were found. The first of a kind is reported at once; those within a second are
// combined into one event.
func (d *dnsErrors) report(log *serverLog, server *dnsServer, now time.Time) {
	for kind := range log.groups {
		group := &log.groups[kind]
		if group.count == 0 || now.Sub(group.told) < time.Second {
			continue
		}
		d.registry.Event(server.Resource(), "dns.error", group.first.UnixMicro(), group.last.Sub(group.first).Microseconds(),
			group.attributes(kind))
		if now.Sub(log.triggered) >= dnsErrorTriggerEvery {
			log.triggered = now
			d.registry.Trigger(server.Subject, "dns_error", group.first.UnixMicro())
			server.WantNames()
		}
		*group = errorGroup{told: now}
	}
}

func (d *dnsErrors) Sample(sampler.Tick, *sampler.Recorder) {}

// Finish reports the last errors found.
func (d *dnsErrors) Finish() { d.read() }

// EachCounter implements sampler.Counters.
func (d *dnsErrors) EachCounter(yield func(name string, value float64)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	skipped := d.skipped
	for _, log := range d.logs {
		skipped += log.skipped()
	}
	yield("log_bytes_skipped_total", float64(skipped))
}

func (d *dnsErrors) Close() error {
	d.done.Wait()
	d.journal.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, log := range d.logs {
		log.close()
	}
	return nil
}
