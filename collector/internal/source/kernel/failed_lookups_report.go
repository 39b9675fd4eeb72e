package kernel

import (
	"strconv"
	"strings"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/lookups"
	"github.com/jitterscope/jitterscope/collector/internal/nss"
)

const (
	toldGroups   = 8
	leastOfTotal = 0.01 // a cgroup with a smaller share of all lookups gets no event of its own
	askAgainUS   = 30_000_000
)

// report reports the failing processes since the last report, and requests a diagnosis if it is the first of a phase.
func (f *failedLookups) report(now int64, last bool) {
	var total uint64
	enough := true
	f.registry.Between(func() {
		if total = f.total; total < reportLeast && !last && !f.reported {
			enough = false
			return
		}
		f.table.Take(f.taken)
		f.total = 0
	})
	if !enough || total == 0 {
		return
	}
	rows := f.taken.Rows()
	f.tell(batch.Node, now, rows, total)
	byGroup := make(map[uint64][]lookups.Row)
	counts := make(map[uint64]uint64)
	var order []uint64
	for _, row := range rows { // largest first
		if counts[row.Cgroup] == 0 {
			order = append(order, row.Cgroup)
		}
		byGroup[row.Cgroup] = append(byGroup[row.Cgroup], row)
		counts[row.Cgroup] += row.Count
	}
	for _, inode := range order[:min(len(order), toldGroups)] {
		if group := f.cgroups.find(inode); group != nil && float64(counts[inode]) >= leastOfTotal*float64(total) {
			f.tell(group.Resource, now, byGroup[inode], counts[inode])
		}
	}
	if !f.reported && !last && now-f.triggeredUS >= askAgainUS {
		f.triggeredUS = now
		f.registry.Trigger(batch.Node, "dentry_growth", now)
	}
	f.reported, f.spanUS = true, now
}

func (f *failedLookups) tell(resource batch.ResourceID, now int64, rows []lookups.Row, total uint64) {
	attributes := map[string]string{"rows": lookups.Encode(rows, batch.MaxAttributeBytes), "total": strconv.FormatUint(total, 10)}
	for _, row := range rows {
		if strings.Contains(row.Pattern, string(nss.MadeUp)) {
			if told := f.nss.Told(row.Command); told != "" {
				attributes["nss"] = told
				break
			}
		}
	}
	f.registry.Event(resource, catalogue.EventFsLookupFailures, f.spanUS, now-f.spanUS, attributes)
}
