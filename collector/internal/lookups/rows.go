package lookups

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
)

// Row is how often a process looked up which names.
type Row struct {
	Cgroup  uint64
	Command string
	PID     uint32 // 0: other processes, each with few
	Pattern string
	Count   uint64
}

const (
	minorShare = 0.02 // of a cgroup's and command's lookups,
	fewMinors  = 6    // and in the same folder: then they are combined into one
	ownShare   = 0.05 // share of a row's lookups from which one of many processes gets its own row
	mostRows   = 40
)

// Rows lists what the table counted, largest first.
func (t *Table) Rows() []Row {
	var rows []*row
	for i := range t.sets {
		for j := range t.sets[i] {
			if r := &t.sets[i][j]; r.count >= 1 {
				rows = append(rows, r)
			}
		}
	}
	var listed []Row
	for _, r := range fold(rows) {
		rest := r.count
		for i, pid := range r.pids {
			if pid != 0 && r.byPID[i] >= 0.5 && (!r.many || r.byPID[i] >= ownShare*r.count) {
				listed = append(listed, r.told(pid, r.byPID[i]))
				rest -= r.byPID[i]
			}
		}
		if r.many && rest >= 0.5 {
			listed = append(listed, r.told(0, rest))
		}
	}
	slices.SortFunc(listed, func(a, b Row) int {
		if a.Count != b.Count {
			if a.Count > b.Count {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Pattern, b.Pattern)
	})
	return listed[:min(len(listed), mostRows)]
}

func (r *row) told(pid uint32, count float64) Row {
	return Row{
		Cgroup: r.cgroup, Command: r.commandText(), PID: pid, Pattern: string(r.pattern[:r.length]), Count: uint64(math.Round(count)),
	}
}

// owner is the process whose lookups are compared with each other.
type owner struct {
	cgroup  uint64
	command string
}

type place struct {
	owner
	folder string
}

// fold combines the small rows of one folder, of which random names produce many.
func fold(rows []*row) []*row {
	total := make(map[owner]float64)
	for _, r := range rows {
		total[owner{r.cgroup, r.commandText()}] += r.count
	}
	small := make(map[place][]*row)
	var kept []*row
	for _, r := range rows {
		who := owner{r.cgroup, r.commandText()}
		folder := string(appendFolder(nil, r.pattern[:r.length]))
		if r.count < minorShare*total[who] && len(folder) <= PatternBytes {
			where := place{who, folder}
			small[where] = append(small[where], r)
		} else {
			kept = append(kept, r)
		}
	}
	for where, minors := range small {
		if len(minors) < fewMinors {
			kept = append(kept, minors...)
			continue
		}
		whole := *minors[0]
		whole.length = uint8(copy(whole.pattern[:], where.folder))
		for _, r := range minors[1:] {
			whole.merge(r)
		}
		kept = append(kept, mergeInto(kept, &whole)...)
	}
	return kept
}

// mergeInto adds a row to an existing one of the same process and pattern, or returns it.
func mergeInto(rows []*row, r *row) []*row {
	for _, other := range rows {
		if other.cgroup == r.cgroup && other.command == r.command &&
			string(other.pattern[:other.length]) == string(r.pattern[:r.length]) {
			other.merge(r)
			return nil
		}
	}
	return []*row{r}
}

// Encode writes as many rows as fit into most bytes as a JSON list of [command, pid, pattern, count].
func Encode(rows []Row, most int) string {
	return string(batch.AppendRows(nil, most, len(rows), func(out []byte, i int) []byte {
		out = append(appendJSON(append(out, '['), rows[i].Command), ',')
		out = append(strconv.AppendUint(out, uint64(rows[i].PID), 10), ',')
		out = append(appendJSON(out, rows[i].Pattern), ',')
		return append(strconv.AppendUint(out, rows[i].Count, 10), ']')
	}))
}

func appendJSON(out []byte, text string) []byte {
	out = append(out, '"')
	for i := range len(text) {
		c := text[i]
		switch {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c < ' ' || c > '~':
			out = append(out, '?')
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}
