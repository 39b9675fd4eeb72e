package kernel

import (
	"context"
	"encoding/json"
	"path/filepath"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("dentry_state", func() sampler.Source { return &dentryState{} }) }

const dentryLimitEvery = 10 * time.Second

// dentryState samples how many dentries the kernel holds, and how many of these are negative. While the latter grow
// fast it requests a diagnosis of the node.
type dentryState struct {
	registry                   *sampler.Registry
	stated                     time.Time
	file                       procfs.Held
	dentries, unused, negative batch.Slot
	growth                     dentryGrowth
	shared                     *dentrySample
	buffer                     [128]byte
}

func (d *dentryState) Name() string { return "dentry_state" }

func (d *dentryState) Start(_ context.Context, registry *sampler.Registry) error {
	d.registry = registry
	var err error
	if d.file, err = procfs.Hold(filepath.Join(registry.Roots.Proc, "sys/fs/dentry-state")); err != nil {
		return &sampler.Unavailable{Detail: err.Error(), Needs: "a readable /proc/sys/fs/dentry-state"}
	}
	series := func(metric uint32) batch.Slot { return registry.Series(batch.Node, metric) }
	d.dentries, d.unused, d.negative = series(catalogue.Dentries), series(catalogue.DentriesUnused), series(catalogue.DentriesNegative)
	d.shared = sharedDentrySample(registry)
	return nil
}

func (d *dentryState) Sample(tick sampler.Tick, recorder *sampler.Recorder) {
	text, ok := d.file.Read(d.buffer[:])
	if !ok {
		return
	}
	state, ok := procfs.ParseDentryState(text)
	if !ok {
		return
	}
	recorder.Set(d.dentries, float64(state.Dentries))
	recorder.Set(d.unused, float64(state.Unused))
	recorder.Set(d.negative, float64(state.Negative))
	d.shared.set(tick, int64(state.Negative))
	if d.growth.add(tick.EndUS(), state) && d.growth.ask(tick.EndUS()) {
		recorder.Trigger(batch.Node, "dentry_growth", tick.StartUS)
	}
}

// Discover records the limits that this kernel has for negative dentries.
func (d *dentryState) Discover(context.Context) {
	if time.Since(d.stated) >= dentryLimitEvery {
		d.stated = time.Now()
		d.registry.Fact(batch.Node, catalogue.FactNodeDentryLimit, dentryLimitFact(d.registry.Roots.Proc))
	}
}

func (d *dentryState) Close() error {
	d.file.Close()
	return nil
}

// dentryLimits are settings that some kernels have: Red Hat's since 7.8 and since 8.10, upstream's since 6.11, which
// affects only the removal of files.
var dentryLimits = [...]string{"negative-dentry-limit", "dentry-fs-klimit", "dentry-negative"}

// dentryLimitFact is the JSON of the fact node.dentry_limit.
func dentryLimitFact(proc string) string {
	limits := make(map[string]int64)
	for _, name := range dentryLimits {
		if value := procfs.Sysctl(proc, "fs/"+name); value != nil {
			limits["fs."+name] = *value
		}
	}
	text, err := json.Marshal(limits)
	if err != nil {
		return "{}"
	}
	return string(text)
}
