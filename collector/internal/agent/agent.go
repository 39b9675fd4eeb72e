// Package agent assembles the collector: sources, engine, sealer.
package agent

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/facts"
	"github.com/jitterscope/jitterscope/collector/internal/pipeline"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/settings"
	"github.com/jitterscope/jitterscope/collector/internal/source"
	_ "github.com/jitterscope/jitterscope/collector/internal/source/all"
)

// Agent is a collector that is ready to run.
type Agent struct {
	Engine *sampler.Engine
	Sealer *pipeline.Sealer
	Store  *batch.Store

	settings  *settings.Settings
	switched  []string // sources that the organization switched off
	leftovers []*batch.Sealed
	version   string
	log       *slog.Logger
}

// Place is where the open batch lives and how its batches are numbered.
type Place struct {
	Directory    string
	SpoolID      [16]byte
	NextSequence uint64
	Dropped      func() uint64
}

// New makes an Agent whose finished batches go to sink.
func New(s *settings.Settings, version string, place Place, sink pipeline.Sink, log *slog.Logger) (*Agent, error) {
	enabled, err := s.Enabled(source.Names())
	if err != nil {
		return nil, err
	}
	key := s.NodeKey
	if key == "" {
		if key, err = facts.NodeKey(s.ProcRoot, place.Directory); err != nil {
			return nil, err
		}
	}
	var switched []string
	sources, err := source.New(func(name string) bool {
		if enabled(name) && s.SwitchedOff(name) {
			switched = append(switched, name)
			return false
		}
		return enabled(name)
	})
	if err != nil {
		return nil, err
	}
	store, leftovers, err := batch.Open(place.Directory, place.SpoolID, place.NextSequence, key)
	if err != nil {
		return nil, err
	}
	sealer := pipeline.NewSealer(version, place.Dropped, sink, log)
	engine := sampler.New(sampler.Config{
		Roots: sampler.Roots{Cgroup: s.CgroupRoot, Proc: s.ProcRoot, Sys: s.SysRoot},
		Store: store, Sources: sources, Options: s.SourceOptions, MaxCgroups: affordableCgroups(s.MaxCgroups, log),
		Budget: sampler.Budget{CPUShare: s.CPUBudget}, OrdinaryPriority: !s.RealTime, Log: log, Sealed: sealer.Take,
	})
	return &Agent{
		Engine: engine, Sealer: sealer, Store: store, settings: s, switched: switched, leftovers: leftovers, version: version, log: log,
	}, nil
}

// Run samples until ctx ends, then seals the open batch.
func (a *Agent) Run(ctx context.Context) error {
	limitSelf()
	if a.settings.RealTime {
		boundRealTime(ctx, a.log)
	}
	for _, leftover := range a.leftovers {
		a.log.Info("recovered a batch left open by the last run", "sequence", leftover.Sequence())
		a.Sealer.One(ctx, leftover)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	a.Store.Start(time.Now().UnixMicro() / batch.StepUS)
	a.Engine.NodeFacts(facts.Node(a.settings.ProcRoot))
	for _, name := range a.switched {
		a.Engine.SwitchedOff(name)
	}
	a.Engine.Event(batch.Node, "collector.start", map[string]string{"version": a.version})

	done := make(chan struct{})
	go func() {
		defer close(done)
		a.Sealer.Run(ctx)
	}()
	go forgetStartup(ctx)
	go watchTicks(ctx, a.Engine.Stats().Ticks.Load, watchEvery, watchLongest, a.log)
	err := a.Engine.Run(ctx)
	a.Sealer.Stop()
	<-done
	return errors.Join(err, a.Store.Close())
}
