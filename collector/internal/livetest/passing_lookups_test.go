package livetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

// TestNamesBetweenTicksAreNoticed: names that a program creates at regular intervals and that are gone before each tick
// ends.
func TestNamesBetweenTicksAreNoticed(t *testing.T) {
	t.Parallel()
	o := observe(t, "failed_lookups")
	o.needs("failed_lookups")
	time.Sleep(2 * time.Second)
	folder := t.TempDir()
	node := func(r *ingestpb.Resource) bool { return r.Kind == ingestpb.ResourceKind_RESOURCE_KIND_NODE }
	named := func() bool {
		for _, event := range o.eventsOf(catalogue.EventFsLookupFailures, node) {
			if strings.Contains(event.Attributes["rows"], "_passing.db") {
				return true
			}
		}
		return false
	}
	began := time.Now()
	for start := 0; !named(); start++ {
		if time.Since(began) > 2*time.Minute {
			t.Fatal("never noticed")
		}
		const every, phase = 300 * time.Millisecond, 20 * time.Millisecond
		time.Sleep(time.Until(time.Now().Truncate(every).Add(every + phase)))
		made := filepath.Join(folder, fmt.Sprint(start))
		if err := os.Mkdir(made, 0o700); err != nil {
			t.Fatal(err)
		}
		for i := range 10_000 {
			_ = unix.Access(fmt.Sprintf("%s/%x_%d_passing.db", made, 0xabc0de00+i, i), unix.F_OK)
		}
		time.Sleep(time.Until(time.Now().Truncate(100 * time.Millisecond).Add(70 * time.Millisecond)))
		if err := os.Remove(made); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("noticed after %v", time.Since(began))
}
