package process

import (
	"os"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

func TestProcessMemory(t *testing.T) {
	proc := t.TempDir()
	sourcetest.AddProcess(t, proc, "dnsmasq", "/")
	r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Sources: []sampler.Source{&processMemory{}}})
	r.Ticks(3)
	page := float64(os.Getpagesize())
	r.Want(sourcetest.ProcessKey(), catalogue.ProcessRSSBytes, 300*page, 300*page, 300*page)
	// The number of descriptors depends on the file system of a fake folder: the tests of procfs cover it.
	if got := r.Values(sourcetest.ProcessKey(), catalogue.ProcessFds); len(got) == 0 {
		t.Error("descriptors are not counted")
	}
}
