package kernel

import "github.com/jitterscope/jitterscope/collector/internal/procfs"

// What counts as growth of negative dentries. Compilers and package managers briefly look up thousands of names that do
// not exist: growth must persist, the longer the slower it is.
const (
	dentryWindowUS     = 5_000_000
	dentrySlots        = 10     // of half a second: the window
	dentryGrowthLeast  = 5_000  // in the window: 1,000/s
	dentryGrowthSudden = 20_000 // in a second
	dentryAgainUS      = 10_000_000
	// Before Linux 5.0 the kernel does not count negative dentries. Growing unused ones can also be those of files.
	dentryUnusedFactor = 5
)

// dentryGrowth follows the number of negative dentries over the last five seconds. It does not allocate.
type dentryGrowth struct {
	values      [dentrySlots + 1]int64 // one per half second, ring
	count       int
	slotUS      int64 // when the last one was taken
	everKnown   bool  // the kernel counts negative ones
	triggeredUS int64
}

// add takes the reading of a tick and reports whether they grow fast.
func (g *dentryGrowth) add(nowUS int64, state procfs.DentryState) bool {
	if state.Negative > 0 && !g.everKnown {
		g.everKnown, g.count = true, 0 // the remembered values are of the unused ones
	}
	value, factor := int64(state.Negative), int64(1)
	if !g.everKnown {
		value, factor = int64(state.Unused), dentryUnusedFactor
	}
	const slotUS = dentryWindowUS / dentrySlots
	if elapsed := nowUS - g.slotUS; elapsed < 0 || elapsed > 3*slotUS {
		g.count = 0 // the first reading, or a long stall
	}
	if g.count == 0 || nowUS-g.slotUS >= slotUS {
		g.values[g.count%len(g.values)] = value
		g.count++
		g.slotUS = nowUS
	}
	return g.growing(value, factor)
}

func (g *dentryGrowth) growing(value, factor int64) bool {
	known := min(g.count, len(g.values))
	ago := func(slots int) int64 { return g.values[(g.count-1-slots+2*len(g.values))%len(g.values)] }
	if known > 2 && value-ago(2) >= dentryGrowthSudden*factor {
		return true
	}
	if known <= dentrySlots || value-ago(dentrySlots) < dentryGrowthLeast*factor {
		return false
	}
	rises := 0 // of the five seconds
	for second := range dentrySlots / 2 {
		if ago(2*second) > ago(2*second+2) {
			rises++
		}
	}
	return rises >= 3
}

// ask reports whether to request a diagnosis now.
func (g *dentryGrowth) ask(nowUS int64) bool {
	if g.triggeredUS != 0 && nowUS-g.triggeredUS < dentryAgainUS {
		return false
	}
	g.triggeredUS = nowUS
	return true
}
