package procfs

import (
	"os"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

func TestParseSchedstat(t *testing.T) {
	text := []byte("81293817 123456 481\n")
	if got, ok := ParseSchedstat(text); !ok || got != (Schedstat{CPUNS: 81293817, WaitNS: 123456, Slices: 481}) {
		t.Errorf("%+v, %v", got, ok)
	}
	if allocations := testing.AllocsPerRun(10, func() { ParseSchedstat(text) }); allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
	for _, bad := range []string{"", "1", "1 2", "1 x 3", "x 2 3"} {
		if got, ok := ParseSchedstat([]byte(bad)); ok || got != (Schedstat{}) {
			t.Errorf("%q was accepted", bad)
		}
	}
	text, err := os.ReadFile("/proc/self/schedstat")
	if err != nil {
		testenv.Skip(t, "the kernel has no schedstat: %v", err)
	}
	if got, ok := ParseSchedstat(text); !ok || got.CPUNS == 0 {
		t.Errorf("own: %+v, %v", got, ok)
	}
}
