package testenv

import (
	"testing"
	"time"
)

const tries = 8

// UntilUndisturbed repeats a run in which this process had no CPU for longer than is allowed because others took it.
// `run` returns the longest time without a CPU. The last of several attempts counts in any case.
func UntilUndisturbed(t testing.TB, allowed time.Duration, run func() time.Duration) {
	t.Helper()
	for try := 1; ; try++ {
		longest := run()
		if longest <= allowed || try == tries {
			return
		}
		t.Logf("no CPU time for %v: repeating the run", longest)
	}
}
