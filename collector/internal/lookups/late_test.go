package lookups

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// word returns a word of letters, which no pattern covers.
func word(random *rand.Rand) string {
	name := make([]byte, 12)
	for i := range name {
		name[i] = 'g' + byte(random.IntN(20))
	}
	return string(name)
}

// TestLatePatternHasItsOwnRow: a late pattern, when all rows of its set are taken by frequent lookups, is reported by
// its own row and not by its folder, in a flood of names that no pattern covers.
func TestLatePatternHasItsOwnRow(t *testing.T) {
	const latePath = "/etc/late/settings.json"
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		table := NewTable()
		set := func(command, path string) uint64 {
			var name [16]byte
			copy(name[:], command)
			return table.key(0, name[:], []byte(path)) >> (64 - setBits)
		}
		steady := make([]string, 0, ways)
		for len(steady) < ways {
			if path := "/lib/" + word(random) + ".so"; set("steady", path) == set("late", latePath) {
				steady = append(steady, path)
			}
		}
		late := 0
		for tick := range 50 { // what is reported at once
			for range 20 {
				add(table, 40, 0, "builder", 5, func(int) string { return "/cache/" + word(random) })
				if tick < 25 {
					add(table, len(steady), 0, "steady", 7, func(i int) string { return steady[i] })
				} else {
					add(table, 1, 0, "late", 6, func(int) string { return latePath })
					late++
				}
			}
			table.EndTick(uint64(20*(40+map[bool]int{true: len(steady), false: 1}[tick < 25])), nowhere)
		}
		told := map[string]uint64{}
		for _, row := range table.Rows() {
			told[row.Command+" "+row.Pattern] += row.Count
		}
		if own := told["late "+latePath]; float64(own) < 0.9*float64(late) {
			t.Errorf("%d of %d are told by their pattern, %d by their folder", own, late, told["late /etc/late/*"])
		}
		// The row it evicted is reported by its folder, with nothing lost.
		libraries := uint64(0)
		for what, count := range told {
			if strings.HasPrefix(what, "steady /lib/") {
				libraries += count
			}
		}
		if all := uint64(25 * 20 * len(steady)); float64(libraries) < 0.95*float64(all) || libraries > all {
			t.Errorf("%d of %d libraries, other %v, %v", libraries, all, table.other, told)
		}
		if flood := told["builder /cache/*"]; flood < 50*20*40*8/10 {
			t.Errorf("of the flood %d lookups are told, %v", flood, fmt.Sprint(len(told)))
		}
	}
}
