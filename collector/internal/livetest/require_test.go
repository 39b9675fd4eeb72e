package livetest

import (
	"os"
	"testing"
)

// cannot skips a test that cannot run here. Where nothing may be skipped it fails.
func cannot(t testing.TB, format string, arguments ...any) {
	t.Helper()
	if os.Getenv("JITTERSCOPE_NO_SKIPS") != "" {
		t.Fatalf(format, arguments...)
	}
	t.Skipf(format, arguments...)
}
