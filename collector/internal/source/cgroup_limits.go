package source

import (
	"context"
	"strconv"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/cgroup"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// needsCgroups is the probe that the cgroup sources share.
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

// Discover reads the limits: all of them after the tree or a limit changed.
func (c *cgroupCPU) Discover(context.Context) {
	epoch := c.registry.CgroupEpoch()
	if epoch == c.epoch {
		return
	}
	c.epoch = epoch
	groups := c.set.list()
	byPath := make(map[string]*cpuGroup, len(groups))
	for _, g := range groups {
		byPath[g.Path] = g
		if limits, err := cgroup.ReadCPULimits(g.Location); err == nil {
			g.limits, g.limitsKnown = limits, true
		} else if g.Version == 2 && g.CPU != "" && cgroup.Vanished(err) {
			// No cpu.max: the cpu controller is not on here, so there is no limit either.
			g.limits, g.limitsKnown = cgroup.CPULimits{QuotaUS: -1, PeriodUS: 100_000, BurstUS: -1}, true
		}
	}
	constrained := make([]bool, len(groups))
	for i, g := range groups {
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

// report states the limits of a cgroup as facts and tells whether it or an ancestor has a quota.
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

// tightestAbove is the smallest share of a CPU that an ancestor allows, as microseconds per this cgroup's period; -1
// where no ancestor has a quota.
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
