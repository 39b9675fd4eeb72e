// Package symbols names the functions that contain addresses: of the kernel from kallsyms, of programs from their ELF
// symbols or, for Go, from the table that the runtime itself uses. Tables are streamed, and only the requested
// functions are kept, so that a second lookup of the same function costs nothing.
package symbols

import (
	"cmp"
	"slices"
)

// Span is a function: the addresses [Start, End).
type Span struct {
	Start, End uint64
	Name       string
}

// spans are the functions known so far, sorted.
type spans []Span

func (s spans) find(address uint64) (name string, ok bool) {
	i, exact := slices.BinarySearchFunc(s, address, func(span Span, a uint64) int { return cmp.Compare(span.Start, a) })
	if !exact {
		i--
	}
	if i < 0 || address >= s[i].End {
		return "", false
	}
	return s[i].Name, true
}

func (s spans) insert(span Span) spans {
	i, exact := slices.BinarySearchFunc(s, span.Start, func(known Span, a uint64) int { return cmp.Compare(known.Start, a) })
	if exact {
		s[i] = span
		return s
	}
	return slices.Insert(s, i, span)
}

// nearest finds the symbols that contain addresses among symbols that are offered in any order.
type nearest struct {
	addresses []uint64 // sorted
	found     []candidate
	following []uint64 // the lowest symbol above each address, 0: none
}

// functionMost bounds a function whose size is unknown: after the last one there can be nothing for gigabytes.
const functionMost = 1 << 20

type candidate struct {
	start, size uint64
	reference   uint64 // whatever identifies the name
	name        []byte
	ok          bool
}

func newNearest(addresses []uint64) *nearest {
	sorted := slices.Compact(slices.Sorted(slices.Values(addresses)))
	return &nearest{addresses: sorted, found: make([]candidate, len(sorted)), following: make([]uint64, len(sorted))}
}

// offer considers a symbol; name is copied if the symbol might be wanted.
func (n *nearest) offer(start, size, reference uint64, name []byte) {
	i, _ := slices.BinarySearch(n.addresses, start)
	if i > 0 {
		// It is above address i-1.
		if below := &n.following[i-1]; *below == 0 || start < *below {
			*below = start
		}
	}
	if i == len(n.addresses) {
		return
	}
	// Of two symbols at the same place the first one offered is kept, unless only the second one has a size.
	if best := &n.found[i]; !best.ok || best.start < start || (best.start == start && best.size == 0 && size > 0) {
		best.start, best.size, best.reference, best.ok = start, size, reference, true
		best.name = append(best.name[:0], name...)
	}
}

// finish calls yield with the symbol of each address that has one. The name is valid during the call.
func (n *nearest) finish(yield func(span Span, reference uint64, name []byte)) {
	for i := len(n.following) - 2; i >= 0; i-- {
		if above := n.following[i+1]; above != 0 && (n.following[i] == 0 || above < n.following[i]) {
			n.following[i] = above
		}
	}
	best := -1
	last := uint64(0)
	for i, address := range n.addresses {
		if n.found[i].ok && (best < 0 || n.found[i].start >= n.found[best].start) {
			best = i
		}
		if best < 0 {
			continue
		}
		symbol := &n.found[best]
		end := symbol.start + symbol.size
		if symbol.size == 0 { // it extends to the next one
			end = symbol.start + functionMost
			if above := n.following[i]; above != 0 {
				end = min(end, above)
			}
		}
		if address < symbol.start || address >= end || (i > 0 && symbol.start == last && last != 0) {
			continue
		}
		last = symbol.start
		yield(Span{Start: symbol.start, End: end}, symbol.reference, symbol.name)
	}
}
