package batch

// Sealed is a finished batch in its buffer. Encode it, store the bytes, then Release the buffer.
type Sealed struct{ buffer *buffer }

// Sequence is the number of the batch within the spool.
func (s *Sealed) Sequence() uint64 { return s.buffer.header().sequence }

// SpoolID is the spool that the batch belongs to.
func (s *Sealed) SpoolID() [16]byte { return s.buffer.header().spoolID }

// Release returns the buffer. The batch must be on disk before.
func (s *Sealed) Release() { s.buffer.clear() }

// Discard returns the buffer of a batch in which nothing was recorded. Its number was never sent: the next run uses it,
// because a number that never arrives looks like a lost batch.
func (s *Sealed) Discard() {
	s.buffer.header().sequence--
	s.buffer.clear()
}
