package procfs

import "testing"

func TestParseThreads(t *testing.T) {
	// From Linux 6.18; the command was changed to the nastiest possible.
	const stat = "4711 (a ) R 1 (b)) S 1 4711 4711 0 -1 4194560 8521 0 2 0 52 13 0 0 20 0 13 0 126093 1297166336 11422 18446744073709551615 1 1 0"
	if threads, ok := ParseThreads([]byte(stat)); !ok || threads != 13 {
		t.Errorf("%d, %v", threads, ok)
	}
	for n := range 74 { // field 20 ends there
		if _, ok := ParseThreads([]byte(stat[:n])); ok {
			t.Errorf("accepted when cut to %d bytes", n)
		}
	}
}
