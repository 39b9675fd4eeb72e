package source

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestSourcesComeAfterThoseTheyName(t *testing.T) {
	for want, after := range map[string]map[string][]string{
		"a b c":     {"c": nil, "a": nil, "b": nil},
		"b c a":     {"a": {"c"}, "b": nil, "c": nil},
		"c b a d":   {"a": {"b", "c"}, "b": {"c"}, "c": nil, "d": nil},
		"b d c a e": {"a": {"c"}, "c": {"b", "d"}, "b": nil, "d": nil, "e": {"b"}},
	} {
		got, err := inOrder(after)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%v: %v %v, want %s", after, got, err, want)
		}
	}
}

// TestOrderDoesNotDependOnRegistration registers the same sources in many orders; a map's iteration order also differs
// each time.
func TestOrderDoesNotDependOnRegistration(t *testing.T) {
	type entry struct {
		name  string
		after []string
	}
	entries := []entry{{"z", nil}, {"y", []string{"z"}}, {"m", nil}, {"b", []string{"y", "m"}}, {"a", []string{"z"}}, {"q", []string{"a"}}}
	for range 200 {
		rand.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
		after := make(map[string][]string)
		for _, e := range entries {
			after[e.name] = e.after
		}
		if got, err := inOrder(after); err != nil || !slices.Equal(got, []string{"m", "z", "a", "q", "y", "b"}) {
			t.Fatalf("%v, %v", got, err)
		}
	}
}

func TestOrdersThatCannotBe(t *testing.T) {
	for want, after := range map[string]map[string][]string{
		"the source b must run after bb, which does not exist":               {"a": nil, "b": {"a", "bb"}},
		"sources depend on each other in a cycle: b after c after b":         {"a": {"b"}, "b": {"c"}, "c": {"b"}},
		"sources depend on each other in a cycle: a after a":                 {"a": {"a"}},
		"sources depend on each other in a cycle: x after z after y after x": {"free": nil, "x": {"free", "z"}, "y": {"x"}, "z": {"y"}},
	} {
		if got, err := inOrder(after); err == nil || err.Error() != want {
			t.Errorf("%v: %v %v, want %s", after, got, err, want)
		}
	}
}
