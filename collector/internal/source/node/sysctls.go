package node

import (
	"context"
	"strconv"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("sysctls", func() sampler.Source { return &sysctls{} }) }

// sysctls records kernel settings of the node that fixes change. It samples nothing.
type sysctls struct {
	registry *sampler.Registry
	stated   time.Time
}

const stateSysctlsEvery = 10 * time.Second

// The file below /proc/sys of each fact. net.core.rmem_default is one setting for all network namespaces, and readable
// in the node's own alone.
var sysctlFacts = map[string]string{
	catalogue.FactNodeVfsCachePressure: "vm/vfs_cache_pressure",
	catalogue.FactNodeRmemDefault:      "net/core/rmem_default",
}

func (s *sysctls) Name() string { return "sysctls" }

func (s *sysctls) Start(_ context.Context, registry *sampler.Registry) error {
	s.registry = registry
	if len(s.values()) == 0 {
		return &sampler.Unavailable{Detail: "no kernel setting can be read", Needs: "a readable /proc/sys"}
	}
	return nil
}

func (s *sysctls) values() map[string]int64 {
	found := make(map[string]int64, len(sysctlFacts))
	for fact, path := range sysctlFacts {
		if value := procfs.Sysctl(s.registry.Roots.Proc, path); value != nil {
			found[fact] = *value
		}
	}
	return found
}

func (s *sysctls) Sample(sampler.Tick, *sampler.Recorder) {}

// Discover records the settings as facts.
func (s *sysctls) Discover(context.Context) {
	if time.Since(s.stated) < stateSysctlsEvery {
		return
	}
	s.stated = time.Now()
	for fact, value := range s.values() {
		s.registry.Fact(batch.Node, fact, strconv.FormatInt(value, 10))
	}
}

func (s *sysctls) Close() error { return nil }
