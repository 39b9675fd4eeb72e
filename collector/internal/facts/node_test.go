package facts

import (
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
)

func TestANodeHasTheNameOfTheCluster(t *testing.T) {
	t.Setenv("JITTERSCOPE_NODE_NAME", "")
	if name, told := Node("/proc")[catalogue.FactNodeName]; told {
		t.Errorf("outside a cluster it is %q", name)
	}
	t.Setenv("JITTERSCOPE_NODE_NAME", "pool-a-1")
	if name := Node("/proc")[catalogue.FactNodeName]; name != "pool-a-1" {
		t.Errorf("it is %q", name)
	}
}
