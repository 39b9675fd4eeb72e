package batch

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// Layout of an open-batch file, all little-endian and fixed, so that a later run of the collector can read what a
// killed one left behind:
//
//	header | resources[MaxResources] | slots[MaxSlots] | grid[Columns][MaxSlots]float64 | journal
//
// The grid is tick-major: one tick is one contiguous row, and a row counts once header.columns includes it. Only touched
// pages are in memory.
const (
	MaxResources = 8192
	MaxSlots     = 32768
	MaxKeyBytes  = 512
	Columns      = 64
	JournalBytes = 4 << 20

	layoutMagic   = 0x4a53_4f50_454e_0001 // "JSOPEN", layout 1: a file of another layout is not read
	headerBytes   = 4096
	resourceBytes = 8 + MaxKeyBytes // kind u8, used u8, key length u16, parent u32, key
	slotBytes     = 8               // resource u32, metric u16, used u16
	resourcesAt   = headerBytes
	slotsAt       = resourcesAt + MaxResources*resourceBytes
	gridAt        = slotsAt + MaxSlots*slotBytes
	journalAt     = gridAt + Columns*MaxSlots*8
	fileBytes     = journalAt + JournalBytes
)

// Buffer states. A buffer is written to while open, read while sealing, and otherwise empty; done is the moment of
// being emptied, when its content is safe elsewhere.
const (
	stateEmpty uint32 = iota
	stateOpen
	stateSealing
	stateDone
)

type header struct {
	magic     uint64
	state     uint32
	columns   uint32 // committed columns, counted from the first, lag columns included
	sequence  uint64
	spoolID   [16]byte
	baseTick  int64 // tick number (StartUS/StepUS) of column 0
	resources uint32
	slots     uint32 // highest used slot + 1
	journal   uint64 // committed journal bytes
}

func (b *buffer) header() *header { return (*header)(unsafe.Pointer(&b.data[0])) }

func (b *buffer) columns() int       { return int(atomic.LoadUint32(&b.header().columns)) }
func (b *buffer) setColumns(n int)   { atomic.StoreUint32(&b.header().columns, uint32(n)) }
func (b *buffer) state() uint32      { return atomic.LoadUint32(&b.header().state) }
func (b *buffer) setState(s uint32)  { atomic.StoreUint32(&b.header().state, s) }
func (b *buffer) journalLen() uint64 { return atomic.LoadUint64(&b.header().journal) }

// row is the grid row of a column, MaxSlots values.
func (b *buffer) row(column int) []float64 {
	at := gridAt + column*MaxSlots*8
	return unsafe.Slice((*float64)(unsafe.Pointer(&b.data[at])), MaxSlots)
}

func (b *buffer) clearRow(column, slots int) { forget(b.row(column)[:slots]) }

// forget marks every value of a row as missing.
func forget(row []float64) {
	for slot := range row {
		row[slot] = missing
	}
}

type resourceEntry struct {
	used   bool
	kind   uint8
	parent ResourceID
	key    string
}

func (b *buffer) putResource(id ResourceID, entry resourceEntry) {
	raw := b.data[resourcesAt+int(id)*resourceBytes:][:resourceBytes]
	raw[0], raw[1] = entry.kind, 0
	if entry.used {
		raw[1] = 1
	}
	binary.LittleEndian.PutUint16(raw[2:], uint16(len(entry.key)))
	binary.LittleEndian.PutUint32(raw[4:], uint32(entry.parent))
	copy(raw[8:], entry.key)
}

// rawResource returns the kind, parent and key bytes (not copied) of a resource.
func (b *buffer) rawResource(id ResourceID) (kind uint8, parent ResourceID, key []byte, used bool) {
	raw := b.data[resourcesAt+int(id)*resourceBytes:][:resourceBytes]
	length := min(int(binary.LittleEndian.Uint16(raw[2:])), MaxKeyBytes)
	return raw[0], ResourceID(binary.LittleEndian.Uint32(raw[4:])), raw[8 : 8+length], raw[1] == 1
}

type slotEntry struct {
	resource ResourceID
	metric   uint16
	used     uint16 // slotUsed, slotLagging
}

const (
	slotUsed    = 1
	slotLagging = 2 // written by SetAt: its last ticks can come with the next batch
)

func (b *buffer) slotTable() []slotEntry {
	return unsafe.Slice((*slotEntry)(unsafe.Pointer(&b.data[slotsAt])), MaxSlots)
}

func (b *buffer) journalArea() []byte { return b.data[journalAt : journalAt+JournalBytes] }
