package requests

import (
	"slices"
	"strconv"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/http2head"
	"github.com/jitterscope/jitterscope/collector/internal/requests"
)

// tellKinds reports the requests of each server since its last report.
func (m *manager) tellKinds() {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now().UnixMicro()
	for _, s := range m.servers {
		if s.resource == batch.NoResource || !m.tracker.TakeKinds(s.Server, now, &m.kinds) {
			continue
		}
		attributes := map[string]string{"rows": string(encodeKinds(m.kinds.Rows)), "latency": string(encodeLatency(m.kinds.Rows))}
		if codes := encodeCodes(m.kinds.Rows); codes != nil {
			attributes["grpc"] = string(codes)
		}
		m.registry.Event(s.resource, catalogue.EventRequestsKinds, m.kinds.FromUS, m.kinds.ToUS-m.kinds.FromUS, attributes)
	}
}

// encodeKinds writes [[kind, requests, slow, client errors, server errors, latency_sum_us, latency_max_us], …] as JSON,
// as many as fit. Kinds are already printable and without quotes. Errors are null if no answer had an HTTP status that
// was read.
func encodeKinds(rows []requests.Kind) []byte {
	return batch.AppendRows(nil, batch.MaxAttributeBytes, len(rows), func(out []byte, i int) []byte {
		row := &rows[i]
		out = append(append(append(out, '[', '"'), row.Text()...), '"')
		out = appendCounts(out, uint64(row.Count), uint64(row.Slow))
		if row.Statuses > 0 {
			out = appendCounts(out, uint64(row.ClientErrs), uint64(row.ServErrs))
		} else {
			out = append(out, ",null,null"...)
		}
		return append(appendCounts(out, row.SumUS, uint64(row.MaxUS)), ']')
	})
}

func appendCounts(out []byte, counts ...uint64) []byte {
	for _, count := range counts {
		out = strconv.AppendUint(append(out, ','), count, 10)
	}
	return out
}

// encodeLatency writes [[bucket, requests, bucket, requests, …], …] as JSON, one list for each of the rows that fit.
func encodeLatency(rows []requests.Kind) []byte {
	return encodePairs(len(rows), func(i int) []uint32 { return rows[i].Latency[:] })
}

// encodeCodes writes [[code, answers, code, answers, …], …] in the same way, of gRPC; nil if there are none.
func encodeCodes(rows []requests.Kind) []byte {
	if !slices.ContainsFunc(rows, func(row requests.Kind) bool { return row.Codes != [http2head.Codes]uint32{} }) {
		return nil
	}
	return encodePairs(len(rows), func(i int) []uint32 { return rows[i].Codes[:] })
}

// encodePairs writes a list of the indexes of counts above 0, each with its count, for each of the rows that fit.
func encodePairs(rows int, counts func(i int) []uint32) []byte {
	return batch.AppendRows(nil, batch.MaxAttributeBytes, rows, func(out []byte, i int) []byte {
		out = append(out, '[')
		separator := ""
		for index, count := range counts(i) {
			if count > 0 {
				out = append(strconv.AppendInt(append(out, separator...), int64(index), 10), ',')
				out = strconv.AppendUint(out, uint64(count), 10)
				separator = ","
			}
		}
		return append(out, ']')
	})
}
