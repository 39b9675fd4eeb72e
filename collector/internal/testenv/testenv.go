// Package testenv is for tests that cannot run everywhere.
package testenv

import (
	"os"
	"testing"
)

// Skip skips a test that cannot run here. If skipping is not allowed (JITTERSCOPE_NO_SKIPS=1, as in CI), it fails.
func Skip(t testing.TB, format string, arguments ...any) {
	t.Helper()
	if os.Getenv("JITTERSCOPE_NO_SKIPS") == "1" {
		t.Fatalf("skipping is not allowed: "+format, arguments...)
	}
	t.Skipf(format, arguments...)
}
