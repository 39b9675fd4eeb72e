package dnscapture

import "hash/maphash"

// nameLog keeps the questions seen last ("example.com. A"). It is a ring of bytes: a name is referred to by its place,
// and is lost when the ring has come round. Repeated names are found again by a small table of hashes, so that a million
// queries for a few names take little room, and a flood of random names takes no more.
type nameLog struct {
	bytes []byte // length byte, then up to 255 bytes of text each
	head  uint64 // where the next name goes; never wraps
	table [nameTable]nameEntry
	seed  maphash.Seed
}

type nameEntry struct {
	hash  uint64
	place uint64
}

const (
	nameBytes = 1 << 20
	nameTable = 4096
	// noName is the place of a question that could not be read.
	noName = ^uint64(0)
)

func newNameLog() *nameLog { return &nameLog{bytes: make([]byte, nameBytes), seed: maphash.MakeSeed()} }

// put returns the place of text, which stays readable until about nameBytes more were written.
func (n *nameLog) put(text []byte) uint64 {
	if len(text) > 255 {
		text = text[:255] // escapes can make a name longer on paper than on the wire
	}
	hash := maphash.Bytes(n.seed, text)
	entry := &n.table[hash%nameTable]
	// A name that is halfway to being overwritten is written anew, so that recent queries keep it.
	if entry.hash == hash && n.head-entry.place < nameBytes/2 && string(n.get(entry.place)) == string(text) {
		return entry.place
	}
	if room := nameBytes - n.head%nameBytes; room < uint64(len(text))+1 {
		n.head += room // names do not wrap
	}
	place := n.head
	at := place % nameBytes
	n.bytes[at] = byte(len(text))
	copy(n.bytes[at+1:], text)
	n.head += uint64(len(text)) + 1
	*entry = nameEntry{hash, place}
	return place
}

// get returns the name at place, nil where it is lost. It is valid until the next put.
func (n *nameLog) get(place uint64) []byte {
	if place >= n.head || n.head-place > nameBytes-512 {
		return nil
	}
	at := place % nameBytes
	return n.bytes[at+1:][:n.bytes[at]]
}
