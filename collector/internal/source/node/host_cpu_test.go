package node

import (
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

func TestHostCPU(t *testing.T) {
	proc := sourcetest.Tree(t, map[string]string{"stat": "cpu  100 10 50 1000 20 3 4 5 0 0\ncpu0 1\n", "loadavg": "0.20 0.18 0.12 1/80 11206\n"})
	r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Sources: []sampler.Source{&hostCPU{}}})
	r.Ticks(1)
	sourcetest.Write(t, proc, "stat", "cpu  103 12 51 1009 22 4 6 8 0 0\ncpu0 1\n")
	sourcetest.Write(t, proc, "loadavg", "0.20 0.18 0.12 5/80 11206\n")
	r.Ticks(1)
	for metric, want := range map[uint32]float64{
		catalogue.HostUserUS: 50_000, catalogue.HostSystemUS: 10_000, catalogue.HostIdleUS: 90_000, catalogue.HostIowaitUS: 20_000,
		catalogue.HostIRQUS: 30_000, catalogue.HostStealUS: 30_000,
	} {
		r.Want(sourcetest.Node, metric, want)
	}
	r.Want(sourcetest.Node, catalogue.HostRunnable, 1, 5)
}
