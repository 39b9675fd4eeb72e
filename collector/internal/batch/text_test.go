package batch

import "testing"

func TestClean(t *testing.T) {
	for _, test := range []struct {
		text, want string
		limit      int
	}{
		{"plain", "plain", 5},
		{"longer", "long", 4},
		{"a\x00b", "a\uFFFDb", 10},
		{"\xffx", "\uFFFDx", 10},
		{"ääää", "ää", 5}, // never half a character
	} {
		if got := clean(test.text, test.limit); got != test.want {
			t.Errorf("%q became %q, want %q", test.text, got, test.want)
		}
	}
}
