// Package handover passes values from the sampling thread, which must not allocate, to a thread that can.
package handover

import "sync"

const room = 512

// Ring holds values until they are taken, the oldest first. Values that arrive while it is full are lost and counted.
type Ring[T any] struct {
	mu            sync.Mutex
	values        [room]T
	start, length int
	lost          uint64
}

// Put adds a value. It does not allocate.
func (r *Ring[T]) Put(value T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.length == room {
		r.lost++
		return
	}
	r.values[(r.start+r.length)%room] = value
	r.length++
}

// Take removes the oldest value; ok is false if there is none.
func (r *Ring[T]) Take() (value T, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.length == 0 {
		return value, false
	}
	value = r.values[r.start]
	r.start = (r.start + 1) % room
	r.length--
	return value, true
}

// Lost counts the values that did not fit.
func (r *Ring[T]) Lost() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
}
