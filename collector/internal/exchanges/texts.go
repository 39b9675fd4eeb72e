package exchanges

import (
	"hash/maphash"

	"github.com/jitterscope/jitterscope/collector/internal/offheap"
)

// Texts keeps the latest questions ("example.com. A"), or the clients. It is a ring of bytes: a text is referred to by
// its place, and is lost when the ring wraps around. Repeated texts are found by a small hash table, so a million
// queries for a few names take little room, and a flood of random names takes no more.
type Texts struct {
	Seed  maphash.Seed
	bytes []byte // length byte, then up to 255 bytes of text each
	head  uint64 // where the next text goes; never wraps
	table [textTable]textEntry
}

type textEntry struct {
	hash uint64
	at   uint64
}

// Place is the lower half of the position of a text: it is looked up long before the head is four thousand rings
// further.
type Place uint32

const (
	textTable = 4096
	// NoText is the place of a question that could not be read. No text starts there: texts do not wrap.
	NoText = ^Place(0)
)

// NewTexts makes a ring of size bytes, a power of two.
func NewTexts(size int) *Texts {
	n := &Texts{Seed: maphash.MakeSeed()}
	n.bytes = offheap.Make[byte](n, size)
	return n
}

// Put returns the place of text, which stays readable until about as many bytes as the ring has were written.
func (n *Texts) Put(text []byte) Place {
	if len(text) > 255 {
		text = text[:255] // escapes can make a name longer as text than on the wire
	}
	hash, size := maphash.Bytes(n.Seed, text), uint64(len(n.bytes))
	entry := &n.table[hash%textTable]
	// A text that is halfway to being overwritten is written again, so that recent queries keep it.
	if entry.hash == hash && n.head-entry.at < size/2 && string(n.Get(Place(entry.at))) == string(text) {
		return Place(entry.at)
	}
	if room := size - n.head%size; room < uint64(len(text))+1 {
		n.head += room // texts do not wrap
	}
	at := n.head
	n.bytes[at%size] = byte(len(text))
	copy(n.bytes[at%size+1:], text)
	n.head += uint64(len(text)) + 1
	*entry = textEntry{hash, at}
	return Place(at)
}

// Get returns the text at a place, nil if it is lost. It is valid until the next Put.
func (n *Texts) Get(at Place) []byte {
	size := uint32(len(n.bytes))
	behind := uint32(n.head) - uint32(at)
	if at == NoText || behind == 0 || uint64(behind) > n.head || behind > size-512 {
		return nil
	}
	start := uint32(at) % size
	return n.bytes[start+1:][:n.bytes[start]]
}
