package batch

import (
	"cmp"
	"encoding/binary"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// record is one journal record of the buffer being encoded.
type record struct {
	kind     byte
	resource ResourceID
	payload  []byte
}

// collectRecords reads the journal. A record that does not fit ends it: the file is damaged there.
func (e *Encoder) collectRecords() {
	e.records = e.records[:0]
	journal := e.b.journalArea()[:e.b.journalLen()]
	for {
		next, rest, ok := firstRecord(journal)
		if !ok || next.resource >= MaxResources {
			break
		}
		e.records = append(e.records, next)
		journal = rest
	}
	e.empty = e.empty && len(e.records) == 0
}

// firstRecord returns the first record and what follows it; false if there is no complete record.
func firstRecord(journal []byte) (first record, rest []byte, ok bool) {
	if len(journal) < recordHeader {
		return record{}, nil, false
	}
	end := recordHeader + uint64(binary.LittleEndian.Uint32(journal[5:]))
	if end > uint64(len(journal)) {
		return record{}, nil, false
	}
	resource := ResourceID(binary.LittleEndian.Uint32(journal[1:]))
	return record{journal[0], resource, journal[recordHeader:end]}, journal[end:], true
}

// Where each kind of record goes: its field in Batch and the field of its resource.
var recordFields = map[byte]struct{ batch, resource protowire.Number }{
	recordFact:    {8, 1},
	recordEvent:   {9, 1},
	recordQuery:   {10, 1},
	recordTrigger: {11, 1},
	recordSource:  {12, 0},
	recordCapture: {14, 1},
}

func (e *Encoder) writeRecords() {
	for _, r := range e.records {
		if r.kind == recordBlock {
			e.writeReadyBlock(r)
			continue
		}
		fields, ok := recordFields[r.kind]
		if !ok {
			continue
		}
		index := uint64(0)
		if fields.resource != 0 {
			index = uint64(e.wire[r.resource])
		}
		size := len(r.payload) + sizeUint(fields.resource, index)
		e.out = protowire.AppendTag(e.out, fields.batch, protowire.BytesType)
		e.out = protowire.AppendVarint(e.out, uint64(size))
		e.out = append(e.out, r.payload...)
		e.out = appendUint(e.out, fields.resource, index)
	}
}

// writeReadyBlock writes a SeriesBlock whose series all belong to one resource.
func (e *Encoder) writeReadyBlock(r record) {
	if len(r.payload) < 4 {
		return
	}
	count := int(binary.LittleEndian.Uint32(r.payload))
	message := r.payload[4:]
	index := uint64(e.wire[r.resource])
	resources := count * protowire.SizeVarint(index)
	e.out = protowire.AppendTag(e.out, 6, protowire.BytesType)
	e.out = protowire.AppendVarint(e.out, uint64(len(message)+sizeBytes(5, resources)))
	e.out = append(e.out, message...)
	e.out = protowire.AppendTag(e.out, 5, protowire.BytesType)
	e.out = protowire.AppendVarint(e.out, uint64(resources))
	for range count {
		e.out = protowire.AppendVarint(e.out, index)
	}
}

func (r record) tick() int64    { return int64(binary.LittleEndian.Uint64(r.payload)) }
func (r record) metric() uint32 { return binary.LittleEndian.Uint32(r.payload[8:]) }
func (r record) buckets() int {
	return min(int(binary.LittleEndian.Uint32(r.payload[12:])), (len(r.payload)-16)/8)
}

// writeDistributions joins the histograms of single ticks into one block per resource and metric.
func (e *Encoder) writeDistributions() {
	e.records = slices.DeleteFunc(e.records, func(r record) bool { return r.kind != recordDistribution || len(r.payload) < 16 })
	slices.SortStableFunc(e.records, func(a, b record) int {
		return cmp.Or(cmp.Compare(a.resource, b.resource), cmp.Compare(a.metric(), b.metric()), cmp.Compare(a.tick(), b.tick()))
	})
	for from := 0; from < len(e.records); {
		to := from + 1
		for to < len(e.records) && e.records[to].resource == e.records[from].resource &&
			e.records[to].metric() == e.records[from].metric() &&
			e.records[to].tick() > e.records[to-1].tick() && e.records[to].tick()-e.records[from].tick() < 2*Columns {
			to++
		}
		e.writeDistribution(e.records[from:to])
		from = to
	}
}

func (e *Encoder) writeDistribution(ticks []record) {
	first, last := ticks[0].tick(), ticks[len(ticks)-1].tick()
	var entries, buckets, counts, block []byte
	next := first
	for _, tick := range ticks {
		for ; next < tick.tick(); next++ {
			entries = protowire.AppendVarint(entries, 0)
		}
		next++
		entries = protowire.AppendVarint(entries, uint64(tick.buckets()))
		for pair := tick.payload[16:][:8*tick.buckets()]; len(pair) > 0; pair = pair[8:] {
			buckets = protowire.AppendVarint(buckets, uint64(binary.LittleEndian.Uint32(pair)))
			counts = protowire.AppendVarint(counts, uint64(binary.LittleEndian.Uint32(pair[4:])))
		}
	}
	block = appendUint(block, 1, uint64(first*StepUS))
	block = appendUint(block, 2, StepUS)
	block = appendUint(block, 3, uint64(last-first+1))
	block = appendUint(block, 4, uint64(e.wire[ticks[0].resource]))
	block = appendUint(block, 5, uint64(ticks[0].metric()))
	block = appendBytes(block, 6, entries)
	block = appendBytes(block, 7, buckets)
	block = appendBytes(block, 8, counts)
	e.out = appendBytes(e.out, 7, block)
}
