package evidence

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
)

// Limits of one file. A gzip bomb expands up to 1,032 times; captures of one repeated query about 100 times.
type Limits struct {
	InflatedBytes int64   // of the whole file, compressed or not
	Ratio         float64 // inflated bytes per compressed byte, checked from ratioFloor on
}

// DefaultLimits suit captures of some hours.
var DefaultLimits = Limits{InflatedBytes: 16 << 30, Ratio: 400}

const ratioFloor = 64 << 20

// readBuffer is also the maximum length of a packet that is examined.
const readBuffer = 1 << 20

// Why reading stopped before the end of the file ("stopped" in the report).
const (
	stoppedInflated = "inflated-bytes"
	stoppedRatio    = "ratio"
	stoppedCutOff   = "cut-off"
	stoppedDamaged  = "damaged"
)

// stopError ends reading; what was read before still counts.
type stopError struct{ reason, detail string }

func (e *stopError) Error() string { return e.detail }

// NotCaptureError says that the file has none of the supported formats.
type NotCaptureError struct{ Detail string }

func (e *NotCaptureError) Error() string { return e.Detail }

// counted counts the bytes of the file on disk; another goroutine can read the count.
type counted struct {
	reader io.Reader
	bytes  atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.reader.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}

// inflated enforces the limits after decompression.
type inflated struct {
	reader io.Reader
	raw    *counted
	limits Limits
	bytes  int64
	gzip   bool
}

func (i *inflated) Read(p []byte) (int, error) {
	if i.bytes >= i.limits.InflatedBytes {
		return 0, &stopError{stoppedInflated, fmt.Sprintf("more than %d bytes", i.limits.InflatedBytes)}
	}
	p = p[:min(int64(len(p)), i.limits.InflatedBytes-i.bytes)]
	n, err := i.reader.Read(p)
	i.bytes += int64(n)
	if i.gzip && i.bytes > ratioFloor && float64(i.bytes) > i.limits.Ratio*float64(i.raw.bytes.Load()) {
		return n, &stopError{stoppedRatio, fmt.Sprintf("inflates to more than %g times its size", i.limits.Ratio)}
	}
	if err != nil && !errors.Is(err, io.EOF) && i.gzip {
		reason := stoppedDamaged
		if errors.Is(err, io.ErrUnexpectedEOF) {
			reason = stoppedCutOff
		}
		err = &stopError{reason, "gzip: " + err.Error()}
	}
	return n, err
}

// source is an opened capture: its bytes, inflated, with a window for reading without copies.
type source struct {
	*bufio.Reader
	raw      *counted
	inflated *inflated
}

func openSource(reader io.Reader, limits Limits) (*source, error) {
	raw := &counted{reader: reader}
	// Small: it holds what gzip reads; without gzip the window below bypasses it and reads into its own memory.
	first := bufio.NewReaderSize(raw, 64<<10)
	magic, err := first.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(magic) == 0 {
		return nil, &NotCaptureError{"the file is empty"}
	}
	limited := &inflated{reader: first, raw: raw, limits: limits}
	if len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		unzipped, err := gzip.NewReader(first)
		if err != nil {
			return nil, &NotCaptureError{"gzip: " + err.Error()}
		}
		limited.reader, limited.gzip = unzipped, true
	}
	return &source{Reader: bufio.NewReaderSize(limited, readBuffer), raw: raw, inflated: limited}, nil
}

// skip skips n bytes; if the file ends on the way, it was cut off.
func (s *source) skip(n int64) error {
	for n > 0 {
		step := int(min(n, 1<<30))
		if _, err := s.Discard(step); err != nil {
			return cutOff(err)
		}
		n -= int64(step)
	}
	return nil
}

// cutOff converts an end of file in the middle of something to its reason.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &stopError{stoppedCutOff, "the file ends in the middle of a packet"}
	}
	return err
}
