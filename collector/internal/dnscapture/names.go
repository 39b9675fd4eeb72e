package dnscapture

import (
	"hash/maphash"

	"github.com/jitterscope/jitterscope/collector/internal/offheap"
)

// nameLog keeps the questions seen last ("example.com. A"), or the clients. It is a ring of bytes: a name is referred to by
// its place, and is lost when the ring has come round. Repeated names are found again by a small table of hashes, so that a
// million queries for a few names take little room, and a flood of random names takes no more.
type nameLog struct {
	bytes []byte // length byte, then up to 255 bytes of text each
	head  uint64 // where the next name goes; never wraps
	table [nameTable]nameEntry
	seed  maphash.Seed
}

type nameEntry struct {
	hash uint64
	at   uint64
}

// place is the low half of where a name was put: it is looked up long before the head is four thousand rings further.
type place uint32

const (
	nameBytes    = 1 << 20
	addressBytes = 1 << 18 // 15,000 clients
	nameTable    = 4096
	// noName is the place of a question that could not be read. No name starts there: names do not wrap.
	noName = ^place(0)
)

// newNameLog makes a log of size bytes, a power of two.
func newNameLog(size int) *nameLog {
	n := &nameLog{seed: maphash.MakeSeed()}
	n.bytes = offheap.Make[byte](n, size)
	return n
}

// put returns the place of text, which stays readable until about as many bytes as the ring has were written.
func (n *nameLog) put(text []byte) place {
	if len(text) > 255 {
		text = text[:255] // escapes can make a name longer on paper than on the wire
	}
	hash, size := maphash.Bytes(n.seed, text), uint64(len(n.bytes))
	entry := &n.table[hash%nameTable]
	// A name that is halfway to being overwritten is written anew, so that recent queries keep it.
	if entry.hash == hash && n.head-entry.at < size/2 && string(n.get(place(entry.at))) == string(text) {
		return place(entry.at)
	}
	if room := size - n.head%size; room < uint64(len(text))+1 {
		n.head += room // names do not wrap
	}
	at := n.head
	n.bytes[at%size] = byte(len(text))
	copy(n.bytes[at%size+1:], text)
	n.head += uint64(len(text)) + 1
	*entry = nameEntry{hash, at}
	return place(at)
}

// get returns the name at a place, nil where it is lost. It is valid until the next put.
func (n *nameLog) get(at place) []byte {
	size := uint32(len(n.bytes))
	behind := uint32(n.head) - uint32(at)
	if at == noName || behind == 0 || uint64(behind) > n.head || behind > size-512 {
		return nil
	}
	start := uint32(at) % size
	return n.bytes[start+1:][:n.bytes[start]]
}
