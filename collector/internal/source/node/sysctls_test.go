package node

import (
	"strings"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

func TestSysctls(t *testing.T) {
	proc := sourcetest.Tree(t, map[string]string{"sys/vm/vfs_cache_pressure": "200\n", "sys/net/core/rmem_default": "212992\n"})
	r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Sources: []sampler.Source{&sysctls{}}})
	r.Ticks(1)
	if got := r.Fact(sourcetest.Node, catalogue.FactNodeVfsCachePressure); got != "200" {
		t.Errorf("vm.vfs_cache_pressure %s", got)
	}
	if got := r.Fact(sourcetest.Node, catalogue.FactNodeRmemDefault); got != "212992" {
		t.Errorf("net.core.rmem_default %s", got)
	}
}

// In a network namespace of its own, a collector does not see the second one.
func TestSysctlsThatCanBeRead(t *testing.T) {
	proc := sourcetest.Tree(t, map[string]string{"sys/vm/vfs_cache_pressure": "100\n"})
	r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Sources: []sampler.Source{&sysctls{}}})
	r.Ticks(1)
	if got := r.Fact(sourcetest.Node, catalogue.FactNodeVfsCachePressure); got != "100" {
		t.Errorf("vm.vfs_cache_pressure %s", got)
	}
	if got := r.Fact(sourcetest.Node, catalogue.FactNodeRmemDefault); got != "" {
		t.Errorf("net.core.rmem_default %s", got)
	}
	without := sourcetest.Start(t, sourcetest.Setup{Proc: t.TempDir(), Sources: []sampler.Source{&sysctls{}}})
	if got := without.Status("sysctls"); !strings.HasPrefix(got, "UNAVAILABLE: ") {
		t.Errorf("without the files: %s", got)
	}
}
