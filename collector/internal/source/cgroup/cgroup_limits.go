package cgroup

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/cgroup"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// needsCgroups is the start check shared by the cgroup sources.
func needsCgroups(registry *sampler.Registry, has func(cgroup.Layout) bool, controller string) error {
	layout, err := cgroup.Detect(registry.Roots.Cgroup)
	if err != nil {
		return &sampler.Unavailable{Detail: err.Error(), Needs: "the cgroup file system, and --cgroup-root pointing at it"}
	}
	if !has(layout) {
		return &sampler.Unavailable{Detail: "the " + controller + " controller is not mounted", Needs: "the cgroup v1 " + controller + " controller, or cgroup v2"}
	}
	return nil
}

// Discover reads the limits, all of them after the tree or a limit changed, and selects the cgroups to zoom in on.
func (c *cgroupCPU) Discover(context.Context) {
	c.readLimits()
	c.zoom.choose(c.nearQuota(time.Now()))
	c.zoom.send(c.registry.Shed())
}

const (
	nearShare = 0.2 // of the quota: from here on a burst can exhaust a period
	nearFor   = 30 * time.Second
)

// nearQuota lists the cgroups that use a good part of their quota or recently did, the closest first.
func (c *cgroupCPU) nearQuota(now time.Time) []*cpuGroup {
	var near []*cpuGroup
	buffer := make([]byte, len(c.buffer))
	for _, g := range c.set.List() {
		if g.limits.QuotaUS <= 0 || g.limits.PeriodUS <= 0 {
			continue
		}
		if used, ok := g.used(buffer); ok {
			if elapsed := now.Sub(g.usedAt); !g.usedAt.IsZero() && elapsed > 0 && used >= g.usedUS {
				allowed := float64(g.limits.QuotaUS) / float64(g.limits.PeriodUS) * float64(elapsed.Microseconds())
				g.closeness = float64(used-g.usedUS) / allowed
			}
			g.usedUS, g.usedAt = used, now
		}
		if g.closeness >= nearShare {
			g.nearUntil = now.Add(nearFor)
		}
		if now.Before(g.nearUntil) {
			near = append(near, g)
		}
	}
	slices.SortStableFunc(near, func(a, b *cpuGroup) int { return cmp.Compare(b.closeness, a.closeness) })
	return near
}

// used reads the CPU time of a cgroup outside the sampling thread.
func (g *cpuGroup) used(buffer []byte) (us uint64, ok bool) {
	if text, ok := g.usage.Read(buffer); ok {
		ns, ok := cgroup.ParseUint(text)
		return ns / 1000, ok
	}
	text, _ := g.stat.Read(buffer)
	var stat cgroup.CPUStat
	cgroup.ParseCPUStat(text, &stat)
	return stat.UsageUS, stat.HasUsage
}

func (c *cgroupCPU) readLimits() {
	epoch := c.registry.CgroupEpoch()
	if epoch == c.epoch {
		return
	}
	c.epoch = epoch
	groups := c.set.List()
	byPath := make(map[string]*cpuGroup, len(groups))
	for _, g := range groups {
		byPath[g.Path] = g
		if limits, err := cgroup.ReadCPULimits(g.Location); err == nil {
			g.limits, g.limitsKnown = limits, true
		} else if g.Version == 2 && g.CPU != "" && cgroup.Vanished(err) {
			// No cpu.max: the cpu controller is not enabled here, so there is no limit either.
			g.limits, g.limitsKnown = cgroup.CPULimits{QuotaUS: -1, PeriodUS: 100_000, BurstUS: -1}, true
		}
	}
	constrained := make([]bool, len(groups))
	for i, g := range groups {
		if weight, err := cgroup.ReadCPUWeight(g.Location); err == nil {
			c.registry.Fact(g.Resource, catalogue.FactCPUWeight, weight)
		}
		if g.limitsKnown {
			constrained[i] = c.report(g, byPath)
		}
	}
	c.registry.Between(func() {
		for i, g := range groups {
			g.constrained = constrained[i]
		}
	})
}

// report records the limits of a cgroup as facts and reports whether it or an ancestor has a quota.
func (c *cgroupCPU) report(g *cpuGroup, byPath map[string]*cpuGroup) (constrained bool) {
	above := tightestAbove(g, byPath)
	fact := func(name string, value int64) { c.registry.Fact(g.Resource, name, strconv.FormatInt(value, 10)) }
	fact(catalogue.FactCPUQuotaUS, g.limits.QuotaUS)
	fact(catalogue.FactCPUPeriodUS, g.limits.PeriodUS)
	if g.limits.BurstUS >= 0 {
		fact(catalogue.FactCPUBurstUS, g.limits.BurstUS)
	}
	fact(catalogue.FactCPUParentQuotaUS, above)
	return g.limits.QuotaUS > 0 || above > 0
}

// tightestAbove is the smallest share of a CPU that an ancestor allows, as microseconds per this cgroup's period; -1 if
// no ancestor has a quota.
func tightestAbove(g *cpuGroup, byPath map[string]*cpuGroup) int64 {
	tightest := int64(-1)
	for path := g.Parent(); path != "/"; {
		parent := byPath[path]
		if parent == nil {
			break
		}
		if l := parent.limits; l.QuotaUS > 0 && l.PeriodUS > 0 {
			scaled := int64(float64(l.QuotaUS) * float64(g.limits.PeriodUS) / float64(l.PeriodUS))
			if tightest < 0 || scaled < tightest {
				tightest = scaled
			}
		}
		path = parent.Parent()
	}
	return tightest
}
