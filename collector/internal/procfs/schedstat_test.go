package procfs

import (
	"os"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

func TestParseSchedstat(t *testing.T) {
	if cpu, slices, ok := ParseSchedstat([]byte("81293817 123456 481\n")); !ok || cpu != 81293817 || slices != 481 {
		t.Errorf("%d, %d, %v", cpu, slices, ok)
	}
	for _, bad := range []string{"", "1", "1 2", "1 x 3", "x 2 3"} {
		if _, _, ok := ParseSchedstat([]byte(bad)); ok {
			t.Errorf("%q was accepted", bad)
		}
	}
	text, err := os.ReadFile("/proc/self/schedstat")
	if err != nil {
		testenv.Skip(t, "the kernel has no schedstat: %v", err)
	}
	if cpu, _, ok := ParseSchedstat(text); !ok || cpu == 0 {
		t.Errorf("own: %d, %v", cpu, ok)
	}
}
