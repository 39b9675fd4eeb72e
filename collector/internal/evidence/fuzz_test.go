package evidence

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/klauspost/compress/gzip"
)

var fuzzLimits = Limits{InflatedBytes: 1 << 20, Ratio: 400}

func seeds(f *testing.F) [][]byte {
	real, err := os.ReadFile("testdata/loopback.pcap")
	if err != nil {
		f.Fatal(err)
	}
	small := real[:4000]
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(small)
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	return [][]byte{small, packed.Bytes(), pcapngOf(f, small)}
}

// FuzzFile passes arbitrary input to the whole program.
func FuzzFile(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var lines bytes.Buffer
		report, err := Analyze(bytes.NewReader(data), -1, Options{Limits: fuzzLimits, Slowest: 10, QueriesCSV: &lines})
		var not *NotCaptureError
		if errors.As(err, &not) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		consistent(t, report)
		if rows := readCSV(t, &lines); uint64(len(rows)) != report.Totals.Queries {
			t.Fatalf("%d lines for %d queries", len(rows), report.Totals.Queries)
		}
	})
}

// FuzzPackets builds packets with arbitrary content, cut where a byte says so, at times that a byte shifts.
func FuzzPackets(f *testing.F) {
	client, server := hostPort("10.0.0.1:4000"), hostPort("10.0.0.2:53")
	query := packedQuery(f, 1, "a.example.")
	f.Add(uint32(linkRaw), byte(80), bytes.Join([][]byte{
		tcp(client, server, 2, 1, 0, nil), tcp(server, client, 0x12, 1, 2, nil), tcp(client, server, 0x18, 2, 2, withPrefix(query)),
		tcp(server, client, 0x18, 2, 40, withPrefix(answerTo(query, 0))), udp(client, server, query), udp(server, client, answerTo(query, 3)),
	}, nil))
	f.Fuzz(func(t *testing.T, link uint32, size byte, data []byte) {
		c := newCapture(link & 0x1ff)
		var ns int64 = 5e9
		for len(data) > 1 {
			ns += int64(int8(data[0])) * 30e6
			// IPv4 states its own length, so packets stay whole while a fuzzer changes their content.
			n := int(size)
			if len(data) > 4 && data[0] == 0x45 {
				n = int(data[2])<<8 | int(data[3])
			}
			n = min(max(n, 1), len(data))
			c.add(max(ns, 0), data[:n])
			data = data[n:]
		}
		analyzeBytes(t, c.Bytes())
	})
}
