package flightrecorder

import (
	"encoding/binary"

	"github.com/jitterscope/jitterscope/collector/internal/offheap"
)

// store holds the samples of the last minute in slices of 10 s. A slice keeps every stack once. All memory is outside
// the Go heap and reused.
type store struct {
	size Size
	ring [sliceCount]slice
	lost uint64 // samples that did not fit, since the start
}

type slice struct {
	number  int64 // of its first second since the epoch, divided by sliceSeconds; 0: unused
	samples []kept
	count   int
	// Stacks, one after another: hash; pid<<32 | kernel frames<<16 | user frames; frames. Word 0 is not used.
	words []uint64
	used  int
	index []uint32 // open addressing: position in words, 0: free
	lost  uint64
}

// kept is one sample.
type kept struct {
	offsetUS uint32 // since the start of the slice
	where    uint32 // cpu<<stackBits | position of its stack in words
}

const (
	stackBits = 20
	maxCPU    = 1<<(32-stackBits) - 1
	sliceUS   = sliceSeconds * 1_000_000
)

func newStore(size Size) *store {
	s := &store{size: size}
	for i := range s.ring {
		slice := &s.ring[i]
		slice.samples = offheap.Make[kept](s, size.Samples)
		slice.words = offheap.Make[uint64](s, size.Words)
		slice.index = offheap.Make[uint32](s, size.Index)
		slice.used = 1
	}
	return s
}

// at returns the slice of a time, emptied if it held an older one; nil if the time is older than what is kept.
func (s *store) at(us int64) *slice {
	number := us / sliceUS
	slice := &s.ring[number%sliceCount]
	if slice.number > number {
		return nil
	}
	if slice.number < number {
		clear(slice.index)
		slice.number, slice.count, slice.used, slice.lost = number, 0, 1, 0
	}
	return slice
}

// add keeps a sample. Frames are 8 bytes each.
func (s *store) add(us int64, cpu int, pid int32, kernel, user []byte) {
	slice := s.at(us)
	if slice == nil {
		s.lost++
		return
	}
	at, ok := slice.stack(pid, kernel, user)
	if !ok || slice.count == len(slice.samples) {
		s.lose(us, 1)
		return
	}
	slice.samples[slice.count] = kept{uint32(us - slice.number*sliceUS), uint32(min(cpu, maxCPU))<<stackBits | at}
	slice.count++
}

// lose counts samples that did not fit.
func (s *store) lose(us int64, count uint64) {
	s.lost += count
	if slice := s.at(us); slice != nil {
		slice.lost += count
	}
}

// stack returns the position of a stack in words, adding it if it is new.
func (s *slice) stack(pid int32, kernel, user []byte) (at uint32, ok bool) {
	shape := uint64(uint32(pid))<<32 | uint64(len(kernel)/8)<<16 | uint64(len(user)/8)
	hash := mix(mix(mix(0, shape), hashOf(kernel)), hashOf(user))
	mask := uint64(len(s.index) - 1)
	slot := hash & mask
	for ; s.index[slot] != 0; slot = (slot + 1) & mask {
		if at := s.index[slot]; s.words[at] == hash && s.words[at+1] == shape {
			return at, true
		}
	}
	need := 2 + (len(kernel)+len(user))/8
	if s.used+max(need, 8) > len(s.words) {
		return 0, false
	}
	at = uint32(s.used)
	s.words[at], s.words[at+1] = hash, shape
	frames := s.words[at+2:]
	for i := 0; i < len(kernel); i += 8 {
		frames[i/8] = binary.NativeEndian.Uint64(kernel[i:])
	}
	frames = frames[len(kernel)/8:]
	for i := 0; i < len(user); i += 8 {
		frames[i/8] = binary.NativeEndian.Uint64(user[i:])
	}
	s.used += max(need, 8) // so that a slice has fewer stacks than entries in its index
	s.index[slot] = at
	return at, true
}

// stackAt reads a stack.
func (s *slice) stackAt(at uint32) (hash uint64, pid int32, kernel, user []uint64) {
	shape := s.words[at+1]
	kernels, users := int(shape>>16&0xffff), int(shape&0xffff)
	frames := s.words[at+2:][:kernels+users]
	return s.words[at], int32(shape >> 32), frames[:kernels], frames[kernels:]
}

func hashOf(frames []byte) uint64 {
	hash := uint64(len(frames))
	for ; len(frames) >= 8; frames = frames[8:] {
		hash = mix(hash, binary.NativeEndian.Uint64(frames))
	}
	return hash
}

// mix is a round of a multiplicative hash whose upper half is folded into the lower one.
func mix(hash, word uint64) uint64 {
	hash = (hash ^ word) * 0x9e3779b97f4a7c15
	return hash ^ hash>>29
}
