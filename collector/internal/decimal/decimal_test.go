package decimal

import "testing"

func TestParse(t *testing.T) {
	for text, want := range map[string]struct {
		value uint64
		rest  string
		ok    bool
	}{
		"0": {0, "", true}, "42 7": {42, " 7", true}, "": {0, "", false}, "x1": {0, "x1", false}, "-1": {0, "-1", false},
		"18446744073709551615\n": {1<<64 - 1, "\n", true}, "18446744073709551616": {0, "6", false},
	} {
		if value, rest, ok := Parse([]byte(text)); value != want.value || string(rest) != want.rest || ok != want.ok {
			t.Errorf("%q: %d %q %v", text, value, rest, ok)
		}
	}
}
