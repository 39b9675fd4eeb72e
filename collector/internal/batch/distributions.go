package batch

import "encoding/binary"

// A distribution is first written to memory and, with the rest of its tick, to the mapped file, for the same reason as
// values.

// AppendDistribution records the histogram of one tick. Sampling thread only; it allocates only until it has seen the largest tick.
func (s *Store) AppendDistribution(resource ResourceID, metric uint32, tick int64, histogram *Histogram) {
	if histogram.Total() == 0 {
		return
	}
	out := append(s.distributions, make([]byte, recordHeader)...)
	putHeader(out[len(s.distributions):], recordDistribution, resource, 16+8*len(histogram.touched))
	out = binary.LittleEndian.AppendUint64(out, uint64(tick))
	out = binary.LittleEndian.AppendUint32(out, metric)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(histogram.touched)))
	for _, bucket := range histogram.touched {
		out = binary.LittleEndian.AppendUint32(out, uint32(bucket))
		out = binary.LittleEndian.AppendUint32(out, histogram.counts[bucket])
	}
	s.distributions = out
}

// writeDistributions moves what was recorded since the last call to the journal. Called with mu held.
func (s *Store) writeDistributions() {
	for next, rest, ok := firstRecord(s.distributions); ok; next, rest, ok = firstRecord(rest) {
		if payload := s.reserve(next.kind, next.resource, len(next.payload)); payload != nil {
			copy(payload, next.payload)
			s.publish(payload)
		}
	}
	s.distributions = s.distributions[:0]
}
