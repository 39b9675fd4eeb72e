package procfs

import "testing"

func TestParseProcessStat(t *testing.T) {
	// From Linux 6.18; the command was changed to the nastiest possible.
	const stat = "4711 (a ) R 1 (b)) D 1 4711 4711 0 -1 4194560 8521 0 2 0 52 13 0 0 20 -5 13 0 126093 1297166336 11422 18446744073709551615 1 1 0"
	got, ok := ParseProcessStat([]byte(stat))
	if !ok || string(got.Command) != "a ) R 1 (b)" || got.State != 'D' || got.UserUS != 520_000 || got.SystemUS != 130_000 ||
		got.Threads != 13 || got.StartTicks != 126093 {
		t.Errorf("%+v, %v", got, ok)
	}
	for n := range 85 { // field 22 ends there
		if _, ok := ParseProcessStat([]byte(stat[:n])); ok {
			t.Errorf("accepted when cut to %d bytes: %q", n, stat[:n])
		}
	}
}

func FuzzProcessStat(f *testing.F) {
	f.Add([]byte("1 (init) S 0 1 1 0 -1 4194560 8521 0 2 0 52 13 0 0 20 0 1 0 3 1297166336 11422"))
	f.Fuzz(func(t *testing.T, text []byte) { ParseProcessStat(text) })
}
