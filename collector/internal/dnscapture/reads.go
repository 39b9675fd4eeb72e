package dnscapture

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
	"github.com/jitterscope/jitterscope/collector/internal/offheap"
)

// Read is what the kernel-side programs know about a query: when the server read it from its socket's queue.
type Read struct {
	Client     dnswire.Endpoint
	ServerPort uint16
	ID         uint16
	ReadNS     int64 // since the Unix epoch
}

// reads remembers recent reads until the answers arrive. It is set-associative and evicts the oldest read of a set, so
// a split can be missing but is never wrong.
type reads struct {
	seed maphash.Seed
	sets [][readWays]readEntry
}

const (
	readSets = 2048
	readWays = 4
)

type readEntry struct {
	hash   uint64
	readNS int64
}

func newReads() *reads {
	r := &reads{seed: maphash.MakeSeed()}
	r.sets = offheap.Make[[readWays]readEntry](r, readSets)
	return r
}

func (r *reads) hash(client *dnswire.Endpoint, serverPort, id uint16) uint64 {
	var key [22]byte
	copy(key[:], client.Address[:])
	binary.LittleEndian.PutUint16(key[16:], client.Port)
	binary.LittleEndian.PutUint16(key[18:], serverPort)
	binary.LittleEndian.PutUint16(key[20:], id)
	return maphash.Bytes(r.seed, key[:])
}

func (r *reads) put(read *Read) {
	hash := r.hash(&read.Client, read.ServerPort, read.ID)
	set := &r.sets[hash%readSets]
	oldest := 0
	for i := range set {
		if set[i].readNS < set[oldest].readNS {
			oldest = i
		}
	}
	set[oldest] = readEntry{hash, read.ReadNS}
}

// take returns when a query was read, if that was between its arrival and its answer.
func (r *reads) take(client *dnswire.Endpoint, serverPort, id uint16, seenNS, answeredNS int64) (readNS int64, ok bool) {
	hash := r.hash(client, serverPort, id)
	set := &r.sets[hash%readSets]
	for i := range set {
		if entry := set[i]; entry.hash == hash && entry.readNS >= seenNS && entry.readNS <= answeredNS {
			set[i] = readEntry{}
			return entry.readNS, true
		}
	}
	return 0, false
}
