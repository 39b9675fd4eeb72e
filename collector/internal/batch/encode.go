package batch

import (
	"encoding/binary"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Encoder turns sealed buffers into ingest.v1 Batch bytes. It writes the wire format directly into memory that it
// reuses, because the generated types would produce megabytes of garbage every two seconds. Not safe for concurrent
// use.
type Encoder struct {
	Version string // collector_version

	b       *buffer
	out     []byte
	spans   []span
	usual   []usual  // what each slot had in earlier batches
	alive   []bool   // resources with a value in this batch
	keys    []uint64 // one per series, sorted into blocks: first, last, encoding, slot
	wire    []int32  // ResourceID -> index in Batch.resources, -1: not referred to
	order   []ResourceID
	records []record
	empty   bool
}

const unreferenced = -1

// Encode returns the batch; the bytes are valid until the next call. empty is true if nothing was recorded.
func (e *Encoder) Encode(sealed *Sealed, sealedAtUS int64, droppedBatches uint64) (encoded []byte, empty bool) {
	e.b = sealed.buffer
	h := e.b.header()
	e.out = e.out[:0]
	e.empty = true
	e.out = appendBytes(e.out, 1, h.spoolID[:])
	e.out = appendUint(e.out, 2, h.sequence)
	e.out = appendUint(e.out, 3, uint64(sealedAtUS))
	e.out = appendBytes(e.out, 4, []byte(e.Version))
	e.collectSeries()
	e.collectRecords()
	e.numberResources()
	e.writeResources()
	e.writeBlocks()
	e.writeRecords()
	e.writeDistributions()
	e.out = appendUint(e.out, 13, droppedBatches)
	return e.out, e.empty
}

// collectSeries sorts the slots into blocks with the same ticks and encoding: those that have values, and those that
// usually have.
func (e *Encoder) collectSeries() {
	slots := int(e.b.header().slots)
	e.spans = slices.Grow(e.spans[:0], slots)[:slots]
	classify(e.b, e.spans)
	e.likeBefore()
	e.keys = e.keys[:0]
	table := e.b.slotTable()
	for slot := range e.spans {
		s := &e.spans[slot]
		if s.first < 0 || slot == int(NoSlot) || table[slot].used == 0 || table[slot].resource >= MaxResources {
			continue
		}
		if s.first >= Lag && table[slot].used&slotLagging == 0 {
			// Padded with missing ticks to the whole batch, a series shares its block with all others. A lagging series
			// must not be padded: that would mark ticks as missing that the next batch still brings.
			s.first, s.last = Lag, int8(e.b.columns()-1)
		}
		e.keys = append(e.keys, uint64(s.first)<<48|uint64(s.last)<<40|uint64(s.encoding)<<32|uint64(slot))
	}
	slices.Sort(e.keys)
	e.empty = e.empty && len(e.keys) == 0
}

// numberResources assigns wire indexes to the resources that the batch refers to and to their ancestors: the node
// first, parents before children.
func (e *Encoder) numberResources() {
	e.wire = slices.Grow(e.wire[:0], MaxResources)[:MaxResources]
	for i := range e.wire {
		e.wire[i] = unreferenced
	}
	e.order = e.order[:0]
	e.number(Node, 0)
	for _, key := range e.keys {
		e.number(e.b.slotTable()[key&0xffffffff].resource, 0)
	}
	for _, r := range e.records {
		e.number(r.resource, 0)
	}
}

func (e *Encoder) number(id ResourceID, depth int) {
	if e.wire[id] != unreferenced {
		return
	}
	if id != Node {
		_, parent, _, used := e.b.rawResource(id)
		if !used || depth > MaxKeyBytes { // a damaged file: better an orphan than no batch
			e.wire[id] = 0
			return
		}
		if parent < MaxResources {
			e.number(parent, depth+1)
		}
	}
	e.wire[id] = int32(len(e.order))
	e.order = append(e.order, id)
}

func (e *Encoder) writeResources() {
	for _, id := range e.order {
		kind, parent, key, _ := e.b.rawResource(id)
		above := uint64(0)
		if parent < MaxResources && e.wire[parent] != unreferenced {
			above = uint64(e.wire[parent])
		}
		size := sizeUint(1, uint64(kind)) + sizeBytes(2, len(key)) + sizeUint(3, above)
		e.out = protowire.AppendTag(e.out, 5, protowire.BytesType)
		e.out = protowire.AppendVarint(e.out, uint64(size))
		e.out = appendUint(e.out, 1, uint64(kind))
		e.out = appendBytes(e.out, 2, key)
		e.out = appendUint(e.out, 3, above)
	}
}

func (e *Encoder) writeBlocks() {
	for from := 0; from < len(e.keys); {
		to := from + 1
		for to < len(e.keys) && e.keys[to]>>32 == e.keys[from]>>32 {
			to++
		}
		e.writeBlock(e.keys[from:to])
		from = to
	}
}

// writeBlock writes one SeriesBlock; all keys share first, last and encoding.
func (e *Encoder) writeBlock(keys []uint64) {
	first, last, encoding := int(keys[0]>>48), int(keys[0]>>40&0xff), uint8(keys[0]>>32&0xff)
	ticks := last - first + 1
	start := uint64(e.b.header().baseTick+int64(first)) * StepUS
	table := e.b.slotTable()
	var resources, metrics int
	for _, key := range keys {
		series := table[key&0xffffffff]
		resources += protowire.SizeVarint(uint64(e.wire[series.resource]))
		metrics += protowire.SizeVarint(uint64(series.metric))
	}
	values := len(keys) * ticks * valueBytes(encoding)
	size := sizeUint(1, start) + sizeUint(2, StepUS) + sizeUint(3, uint64(ticks)) + sizeUint(4, uint64(encoding)) +
		sizeBytes(5, resources) + sizeBytes(6, metrics) + sizeBytes(7, values)

	e.out = slices.Grow(e.out, size+16)
	e.out = protowire.AppendTag(e.out, 6, protowire.BytesType)
	e.out = protowire.AppendVarint(e.out, uint64(size))
	e.out = appendUint(e.out, 1, start)
	e.out = appendUint(e.out, 2, StepUS)
	e.out = appendUint(e.out, 3, uint64(ticks))
	e.out = appendUint(e.out, 4, uint64(encoding))
	e.out = protowire.AppendTag(e.out, 5, protowire.BytesType)
	e.out = protowire.AppendVarint(e.out, uint64(resources))
	for _, key := range keys {
		e.out = protowire.AppendVarint(e.out, uint64(e.wire[table[key&0xffffffff].resource]))
	}
	e.out = protowire.AppendTag(e.out, 6, protowire.BytesType)
	e.out = protowire.AppendVarint(e.out, uint64(metrics))
	for _, key := range keys {
		e.out = protowire.AppendVarint(e.out, uint64(table[key&0xffffffff].metric))
	}
	e.out = protowire.AppendTag(e.out, 7, protowire.BytesType)
	e.out = protowire.AppendVarint(e.out, uint64(values))
	for _, key := range keys {
		e.writeValues(Slot(key&0xffffffff), first, last, encoding)
	}
}

func (e *Encoder) writeValues(slot Slot, first, last int, encoding uint8) {
	for column := first; column <= last; column++ {
		value := e.b.row(column)[slot]
		absent := value != value
		switch {
		case encoding == encodingF64:
			e.out = binary.LittleEndian.AppendUint64(e.out, math.Float64bits(value))
		case encoding == encodingI32 && absent:
			e.out = binary.LittleEndian.AppendUint32(e.out, 1<<31)
		case encoding == encodingI32:
			e.out = binary.LittleEndian.AppendUint32(e.out, uint32(int32(value)))
		case absent:
			e.out = binary.LittleEndian.AppendUint16(e.out, 1<<15)
		default:
			e.out = binary.LittleEndian.AppendUint16(e.out, uint16(int16(value)))
		}
	}
}

func appendUint(out []byte, field protowire.Number, value uint64) []byte {
	if value == 0 {
		return out // proto3 omits default values
	}
	return protowire.AppendVarint(protowire.AppendTag(out, field, protowire.VarintType), value)
}

func sizeUint(field protowire.Number, value uint64) int {
	if value == 0 {
		return 0
	}
	return protowire.SizeTag(field) + protowire.SizeVarint(value)
}

func appendBytes(out []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(out, field, protowire.BytesType), value)
}

func sizeBytes(field protowire.Number, length int) int {
	return protowire.SizeTag(field) + protowire.SizeBytes(length)
}
