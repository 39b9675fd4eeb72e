package cgroup

import (
	"sync/atomic"

	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/trend"
)

// maxGrowthLooks bounds how many cgroups' memory.stat are read per tick because they grow.
const maxGrowthLooks = 8

// memoryGrowth detects when the memory of a cgroup approaches the limit. File reads also fill a cgroup up to its limit,
// which is harmless: the kernel reclaims that memory. So usage, which is cheap, is followed at each tick, and when it
// approaches the limit memory.stat shows how much of it is such cache.
type memoryGrowth struct {
	limit atomic.Int64 // bytes; -1: none, 0: not known yet
	usage trend.Trend
	slow  trend.Trend // the same, one value per second: the heap of a runtime grows in steps of some MiB, seconds apart
	cache trend.Trend // as often as memory.stat is read
}

const slowEveryUS = 1_000_000

// candidate reports whether total memory will reach the limit soon.
func (g *memoryGrowth) candidate(atUS int64, bytes float64) bool {
	g.usage.Add(atUS, bytes)
	if atUS-g.slow.LastUS() >= slowEveryUS {
		g.slow.Add(atUS, bytes)
	}
	limit := float64(g.limit.Load())
	slow := g.slow.Steady()
	return limit > 0 && (g.usage.Reaches(limit, trend.MemoryHorizonUS) || slow > 0 && (limit-bytes)/slow <= trend.MemoryHorizonUS)
}

// certain reports the same for memory that the kernel cannot reclaim.
func (g *memoryGrowth) certain(bytes float64) bool {
	cacheSlope, ok := g.cache.Steepest()
	if !ok {
		return false
	}
	slope := max(g.usage.Slope(), g.slow.Steady()) - max(0, cacheSlope)
	room := float64(g.limit.Load()) - bytes + min(g.cache.Last(), bytes)
	return slope > 0 && room/slope <= trend.MemoryHorizonUS
}

// watchGrowth requests a diagnosis if a cgroup is about to reach its limit.
func (m *cgroupMemory) watchGrowth(g *memoryGroup, tick sampler.Tick, recorder *sampler.Recorder, bytes float64) {
	now := tick.EndUS()
	if !g.growth.candidate(now, bytes) {
		return
	}
	if g.growth.cache.LastUS() != now {
		if m.looks >= maxGrowthLooks {
			return
		}
		m.looks++
		m.sampleStat(g, tick, recorder)
	}
	if g.growth.certain(bytes) && g.growth.usage.Ask(now, trend.MemoryAgainUS) {
		recorder.Trigger(g.Resource, "memory_growth", tick.StartUS)
	}
}
