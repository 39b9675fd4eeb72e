package batch

import "math"

// Encoding numbers of ingest.v1.
const (
	encodingF64 = 1
	encodingI32 = 2
	encodingI16 = 3
)

// span is what the encoder knows about one slot: where its values are and how wide they are.
type span struct {
	first, last int8 // columns; first < 0: no value at all
	encoding    uint8
}

// classify finds, for every slot, the first and last tick that has a value and the narrowest encoding that holds all
// values exactly. It goes row by row, following the grid's memory layout.
func classify(b *buffer, spans []span) {
	for i := range spans {
		spans[i] = span{first: -1, encoding: encodingI16}
	}
	for column := range b.columns() {
		row := b.row(column)
		for slot := range spans {
			value := row[slot]
			if value != value { // NaN
				continue
			}
			s := &spans[slot]
			if s.first < 0 {
				s.first = int8(column)
			}
			s.last = int8(column)
			if s.encoding != encodingF64 {
				s.encoding = min(s.encoding, width(value))
			}
		}
	}
}

// width is the narrowest encoding of a value. The lowest value of each integer type means "missing".
func width(value float64) uint8 {
	switch {
	case value != math.Trunc(value) || value <= math.MinInt32 || value > math.MaxInt32:
		return encodingF64
	case value <= math.MinInt16 || value > math.MaxInt16:
		return encodingI32
	}
	return encodingI16
}

func valueBytes(encoding uint8) int {
	switch encoding {
	case encodingI16:
		return 2
	case encodingI32:
		return 4
	}
	return 8
}
