package process

import (
	"context"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/blocked"
	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("blocked", func() sampler.Source { return &blockedTime{} }) }

// blockedTime samples how long the threads of the watched processes were blocked in the kernel: by a disk, a file
// system lock, or a page that has to be read.
type blockedTime struct {
	registry *sampler.Registry
	watcher  *procwatch.Watcher
	tracer   *blocked.Tracer
	members  sampler.Members[*procwatch.Process, blockedProcess]
}

type blockedProcess struct {
	meter         *blocked.Meter
	blocked, inIO batch.Slot
}

func (b *blockedTime) Name() string { return "blocked" }

func (b *blockedTime) Start(_ context.Context, registry *sampler.Registry) error {
	tracer, err := blocked.Open()
	if err != nil {
		return &sampler.Unavailable{Detail: bpf.Explain(err), Needs: blocked.Needs}
	}
	b.registry, b.tracer, b.watcher = registry, tracer, procwatch.Shared(registry)
	b.members = sampler.Members[*procwatch.Process, blockedProcess]{
		Registry: registry, Open: b.open, Shut: func(p *blockedProcess) { b.tracer.Forget(p.meter) },
	}
	b.watcher.Subscribe(b.members.Change)
	return nil
}

func (b *blockedTime) open(watched *procwatch.Process) *blockedProcess {
	meter := b.tracer.Watch(watched.PID)
	if meter == nil {
		return nil
	}
	// The account begins when watching begins: all of it is new.
	return &blockedProcess{
		meter:   meter,
		blocked: b.registry.Counter(watched.Resource, catalogue.ProcessBlockedUS, true),
		inIO:    b.registry.Counter(watched.Resource, catalogue.ProcessIOWaitUS, true),
	}
}

// Discover follows the processes that come and go.
func (b *blockedTime) Discover(ctx context.Context) { b.watcher.Refresh(ctx) }

func (b *blockedTime) Sample(_ sampler.Tick, recorder *sampler.Recorder) {
	for _, p := range b.members.All {
		if account, ok := b.tracer.Read(p.meter); ok {
			recorder.Delta(p.blocked, account.BlockedNS/1000)
			recorder.Delta(p.inIO, account.IONS/1000)
		}
	}
}

func (b *blockedTime) Close() error {
	b.members.Close()
	return b.tracer.Close()
}
