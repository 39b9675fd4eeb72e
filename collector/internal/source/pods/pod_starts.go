package pods

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/dnslog"
	"github.com/jitterscope/jitterscope/collector/internal/podmetrics"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("pod_starts", func() sampler.Source { return &podStarts{} }) }

const followKubeletEvery = 30 * time.Second

// kubeletUnits are the units in which a kubelet runs: its own, or inside a distribution's single program.
var kubeletUnits = []string{
	"kubelet.service", "k3s.service", "k3s-agent.service", "rke2-server.service", "rke2-agent.service",
	"snap.microk8s.daemon-kubelite.service",
}

// podStarts makes an event of each pod that started, from the line that the kubelet writes to the journal: which pod it
// was, and its times to the microsecond. It samples nothing on the grid.
type podStarts struct {
	registry *sampler.Registry
	journal  dnslog.Journal
	asking   sync.WaitGroup
}

// podStartOptions are the [sources.pod_starts] table.
type podStartOptions struct {
	JournalDirectory string `toml:"journal_directory"` // "" for the system's own
}

func (p *podStarts) Name() string { return "pod_starts" }

func (p *podStarts) Start(ctx context.Context, registry *sampler.Registry) error {
	var options podStartOptions
	if err := registry.Options(&options); err != nil {
		return err
	}
	if options.JournalDirectory == "" && !onKubernetes(registry.Roots.Proc) {
		return &sampler.Off{Detail: "this is not a node of a Kubernetes cluster"}
	}
	p.registry = registry
	p.journal.Directory, p.journal.Visit = options.JournalDirectory, p.line
	p.asking.Go(func() { p.loop(ctx) })
	return nil
}

// loop keeps journalctl running, and reports if it cannot.
func (p *podStarts) loop(ctx context.Context) {
	defer p.journal.Close()
	for wait := time.Duration(0); ; wait = followKubeletEvery {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		// A kubelet that runs in another unit, or in none, is recognized by its name.
		var pids []int
		if pid := processNamed(p.registry.Roots.Proc, "kubelet"); pid != 0 {
			pids = []int{pid}
		}
		p.registry.Degraded(told(p.journal.Follow(ctx, kubeletUnits, pids), p.journal.Unreadable()))
	}
}

// told reports what is missing, and what it requires.
func told(failed error, unreadable int64) (detail, needs string) {
	switch {
	case failed != nil:
		return failed.Error(), dnslog.Needs
	case unreadable > 0:
		return fmt.Sprintf("journal values that could not be decompressed: %d", unreadable),
			"an intact journal (`journalctl --verify`)"
	}
	return "", ""
}

func (p *podStarts) line(line []byte, _ time.Time, _ int, _ string) {
	started, ok := podmetrics.ParseStarted(line)
	if !ok {
		return
	}
	attributes := map[string]string{
		"namespace": started.Namespace, "pod": started.Pod, "sli_us": microseconds(started.SLI), "total_us": microseconds(started.Total),
	}
	if !started.PullBegan.IsZero() {
		attributes["image_pull_us"] = microseconds(started.Pulled.Sub(started.PullBegan))
	}
	p.registry.Event(batch.Node, catalogue.EventPodStart, started.Created.UnixMicro(), started.Total.Microseconds(), attributes)
}

func microseconds(d time.Duration) string { return strconv.FormatInt(d.Microseconds(), 10) }

func (p *podStarts) Sample(sampler.Tick, *sampler.Recorder) {}

func (p *podStarts) Close() error {
	p.asking.Wait()
	return nil
}
