package process

import (
	"fmt"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

func TestProcessChildren(t *testing.T) {
	proc := t.TempDir()
	pid, _ := sourcetest.AddProcess(t, proc, "dnsmasq", "/")
	children := fmt.Sprintf("%d/task/%d/children", pid, pid)
	r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Sources: []sampler.Source{&processChildren{}}})
	r.Ticks(1)
	sourcetest.Write(t, proc, children, "5001 5002 5003 ")
	r.Ticks(1)
	many := ""
	for child := range 2000 { // more than one read returns
		many += fmt.Sprint(10_000+child) + " "
	}
	sourcetest.Write(t, proc, children, many)
	r.Ticks(1)
	r.Want(sourcetest.ProcessKey(), catalogue.ProcessChildren, 0, 3, 2000)
}
