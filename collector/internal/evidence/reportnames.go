package evidence

import (
	"hash/maphash"
	"maps"
	"slices"
	"strings"
)

type namesReport struct {
	DistinctAtLeast int          `json:"distinct_at_least"`
	Exact           bool         `json:"exact"`
	MostAsked       []nameReport `json:"most_asked"`
	Slowest         []nameReport `json:"slowest"`
	Costliest       []nameReport `json:"costliest"`
}

type nameReport struct {
	Name         string        `json:"name"`
	Type         string        `json:"type"`
	Queries      uint64        `json:"queries"`
	Answers      uint64        `json:"answers"`
	NXDomain     uint64        `json:"nxdomain"`
	ServFail     uint64        `json:"servfail"`
	Clients      uint8         `json:"clients"`
	TimeSumUs    microseconds  `json:"time_sum_us"`
	MaxUs        *microseconds `json:"max_us"`
	MaxAtUs      *microseconds `json:"max_at_us"`
	MissedAtMost uint64        `json:"missed_at_most"`
}

// nameRows takes the most frequent names from their table. The slowest and costliest can be names that were asked for
// once and have left it: those come from the slowest queries.
func (a *Analyzer) nameRows() namesReport {
	all := slices.Collect(maps.Values(a.names.byHash))
	report := namesReport{DistinctAtLeast: len(all), Exact: !a.names.evicted}
	report.MostAsked = pick(all, func(n *name) float64 { return float64(n.queries) }, maxMostAsked)
	if a.names.evicted {
		all = append(all, a.slowNames(all)...)
	}
	report.Slowest = pick(all, func(n *name) float64 { return float64(n.maxNs) }, maxOtherNames)
	report.Costliest = pick(all, func(n *name) float64 { return n.timeSumNs }, maxOtherNames)
	return report
}

func pick(from []*name, weight func(*name) float64, limit int) []nameReport {
	rows := []nameReport{}
	for _, n := range mostFirst(from, weight, func(n *name) string { return n.text }, limit) {
		if weight(n) > 0 {
			rows = append(rows, n.report())
		}
	}
	return rows
}

// slowNames are the names of the slowest queries that are not in the table, counted from these queries only.
func (a *Analyzer) slowNames(table []*name) []*name {
	known := map[string]*name{"": nil}
	for _, n := range table {
		known[n.text] = nil
	}
	var found []*name
	for _, kept := range a.slowest.items {
		r := kept.item
		n, ok := known[r.name]
		if ok && n == nil {
			continue
		}
		if !ok {
			n = &name{text: r.name, missedAtMost: a.names.floor}
			known[r.name] = n
			found = append(found, n)
		}
		n.queries++
		n.askedBy(maphash.Comparable(seed, r.key.client.Address))
		n.answered(r.latencyNs, r.sentNs+r.latencyNs, r.rcode)
	}
	return found
}

func (n *name) report() nameReport {
	text, kind, _ := strings.Cut(n.text, " ")
	return nameReport{
		text, kind, n.queries, n.answers, n.nxdomain, n.servfail, n.clientCount, microseconds(n.timeSumNs / 1000),
		maybeUs(n.maxNs, n.answers > 0), maybeUs(n.maxAtNs, n.answers > 0), n.missedAtMost,
	}
}
