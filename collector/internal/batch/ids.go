// Package batch holds the open batch: the grid of the current ticks, the resources and series that it refers to, and a
// journal of everything that is not a grid value. It lives in memory-mapped files, so that killing the process loses at
// most the tick being written. The package also turns a finished batch into the bytes of an ingest.v1 Batch.
package batch

// ResourceID names a resource inside this collector run. It is an index into the directory, not the wire index.
type ResourceID uint32

// Node is the resource of the machine itself; it always exists.
const Node ResourceID = 0

// NoResource is returned when the directory is full. Everything recorded for it is counted as shed and dropped.
const NoResource ResourceID = ^ResourceID(0)

// Slot is one series of the grid: a resource and a metric. The zero Slot is valid and records nothing, so a source can
// keep it for a file that does not exist.
type Slot uint32

// NoSlot records nothing.
const NoSlot Slot = 0

const (
	// StepUS is the length of a grid tick.
	StepUS = 100_000
	// ZoomStepUS is the length of a zoomed tick.
	ZoomStepUS = 10_000
	// Lag is how many ticks back a source may still write (Recorder.SetAt).
	Lag = 5
)
