package procfs

import (
	"bytes"

	"github.com/jitterscope/jitterscope/collector/internal/decimal"
)

// Zone is a zone of memory with its watermarks, in pages. Format: /proc/zoneinfo, mm/vmstat.c.
type Zone struct {
	Node                 int
	Name                 [16]byte // "Normal", filled with zeros
	Free, Min, Low, High uint64
	Managed              uint64 // 0: the zone is empty
	Protection           uint64 // free pages reserved from ordinary allocations, which have a better zone
}

// ZoneName returns the name as text.
func (z *Zone) ZoneName() string { return string(bytes.TrimRight(z.Name[:], "\x00")) }

// ParseZones parses /proc/zoneinfo into zones and returns those with memory; zones that do not fit are left out.
func ParseZones(text []byte, zones []Zone) []Zone {
	zones = zones[:0]
	var current *Zone
	for len(text) > 0 {
		line := text
		if end := bytes.IndexByte(text, '\n'); end >= 0 {
			line, text = text[:end], text[end+1:]
		} else {
			text = nil
		}
		if bytes.HasPrefix(line, []byte("Node ")) {
			zones = dropEmpty(zones)
			if current = nil; len(zones) < cap(zones) {
				zones = zones[:len(zones)+1]
				current = &zones[len(zones)-1]
				current.begin(line)
			}
			continue
		}
		if current != nil {
			current.read(line)
		}
	}
	return dropEmpty(zones)
}

func dropEmpty(zones []Zone) []Zone {
	if last := len(zones) - 1; last >= 0 && zones[last].Managed == 0 {
		return zones[:last]
	}
	return zones
}

// begin reads "Node 0, zone   Normal".
func (z *Zone) begin(line []byte) {
	*z = Zone{}
	node, rest, _ := decimal.Parse(line[len("Node "):])
	z.Node = int(node)
	if at := bytes.Index(rest, []byte("zone")); at >= 0 {
		copy(z.Name[:], skipSpaces(rest[at+len("zone"):]))
	}
}

func (z *Zone) read(line []byte) {
	line = skipSpaces(line)
	if bytes.HasPrefix(line, []byte("pages free")) {
		z.Free, _, _ = decimal.Parse(skipSpaces(line[len("pages free"):]))
		return
	}
	at := 0
	for at < len(line) && line[at] != ' ' && line[at] != ':' {
		at++
	}
	key := line[:at]
	switch string(key) {
	case "protection":
		z.Protection = lastNumber(line[at:])
		return
	case "min", "low", "high", "managed":
	default:
		return
	}
	value, rest, ok := decimal.Parse(skipSpaces(line[at:]))
	if !ok || len(rest) > 0 {
		return // "high:  42" of a CPU's own list
	}
	switch string(key) {
	case "min":
		z.Min = value
	case "low":
		z.Low = value
	case "high":
		z.High = value
	case "managed":
		z.Managed = value
	}
}

// lastNumber parses "(0, 2968, 3968, 3968)": the last zone is the one that ordinary allocations prefer.
func lastNumber(text []byte) (value uint64) {
	for at := 0; at < len(text); at++ {
		if text[at] >= '0' && text[at] <= '9' {
			value, text, _ = decimal.Parse(text[at:])
			at = -1
		}
	}
	return value
}

// LowMargin is how many pages ordinary allocations can take before the kernel begins to reclaim: free pages above the
// low watermark, summed over zones. If no zone has any, it is the shortfall of the best one, below 0.
func LowMargin(zones []Zone) (pages int64, ok bool) {
	lack := int64(0)
	for i := range zones {
		z := &zones[i]
		above := int64(z.Free) - int64(z.Low) - int64(z.Protection)
		if above > 0 {
			pages += above
		} else if lack == 0 || above > lack {
			lack = above
		}
	}
	if pages == 0 {
		pages = lack
	}
	return pages, len(zones) > 0
}
