package evidence

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// maxLiveMiB bounds live memory at any time with the worst of these files; the program can use 200 MiB in all.
const maxLiveMiB = 110

// endless produces the bytes of a capture that is never on disk, and checks the memory in use along the way.
type endless struct {
	pending bytes.Reader
	make    func(i int) []byte // records; nil at the end
	made    int
	peak    uint64
}

func (e *endless) Read(p []byte) (int, error) {
	if e.pending.Len() == 0 {
		record := e.make(e.made)
		if record == nil {
			return 0, io.EOF
		}
		e.made++
		e.pending.Reset(record)
		if e.made%50_000 == 0 {
			e.look()
		}
	}
	return e.pending.Read(p)
}

func (e *endless) look() {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	e.peak = max(e.peak, m.HeapAlloc)
}

func randomHost(r *rand.Rand) netip.Addr {
	var bytes [4]byte
	binary.BigEndian.PutUint32(bytes[:], r.Uint32())
	return netip.AddrFrom4(bytes)
}

func randomEnd(r *rand.Rand, port uint16) netip.AddrPort {
	if port == 0 {
		port = uint16(r.Uint32())
	}
	return netip.AddrPortFrom(randomHost(r), port)
}

// randomQuery has a unique name of maximum length, with bytes that take four to write.
func randomQuery(r *rand.Rand) []byte {
	message := []byte{byte(r.Uint32()), byte(r.Uint32()), 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	for range 3 {
		message = append(message, 63)
		for range 63 {
			message = append(message, byte(128+r.Uint32()%100))
		}
	}
	return append(message, 0, 0, 1, 0, 1)
}

// TestHostileFilesStayBounded reads files built to fill every table: live memory stays within the bound, and so does
// the work per packet.
func TestHostileFilesStayBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	to53 := hostPort("10.0.0.2:53")
	for name, packet := range map[string]func(i int) []byte{
		"connections": func(int) []byte { return tcp(randomEnd(r, 0), to53, syn, r.Uint32(), 0, nil) },
		"connections with data behind gaps": func(i int) []byte {
			from := randomEnd(rand.New(rand.NewPCG(3, uint64(i/3))), 0)
			return tcp(from, to53, ack, uint32(i%3)*1000, 1, withPrefix(randomQuery(r)))
		},
		"queries of random clients to random servers": func(int) []byte { return udp(randomEnd(r, 0), randomEnd(r, 53), randomQuery(r)) },
		"queries on random ports, answered": func(i int) []byte {
			same := rand.New(rand.NewPCG(5, uint64(i/2)))
			from, to := randomEnd(same, 0), randomEnd(same, 0)
			query := randomQuery(same)
			if i%2 == 0 {
				return udp(from, to, query)
			}
			return udp(to, from, answerTo(query, 0))
		},
		"one question": func(i int) []byte {
			return udp(randomEnd(r, 0), randomEnd(r, 53), append([]byte{byte(i), byte(i >> 8)}, packedOne...))
		},
	} {
		t.Run(name, func(t *testing.T) {
			const packets = 300_000
			file := &endless{make: func(i int) []byte {
				if i == packets {
					return nil
				}
				// Times jump around within 100 years.
				atNs := int64(r.Uint64N(3_000_000_000)) * 1e9
				if i%2 == 0 {
					atNs = int64(startNs) + int64(i)*ms
				}
				return (&capture{}).add(atNs, packet(i)).Bytes()
			}}
			input := io.MultiReader(bytes.NewReader(newCapture(linkRaw).Bytes()), file)
			report, err := Analyze(input, -1, Options{Limits: DefaultLimits, Slowest: 20_000})
			if err != nil {
				t.Fatal(err)
			}
			file.look()
			consistent(t, report)
			if report.File.Packets != packets {
				t.Errorf("%d packets", report.File.Packets)
			}
			if peak := file.peak >> 20; peak > maxLiveMiB {
				t.Errorf("%d MiB live", peak)
			} else {
				t.Logf("%d MiB live", peak)
			}
		})
	}
}

// packedOne is one query without its id.
var packedOne = []byte{1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 'a', 0, 0, 1, 0, 1}

// zeros inflate from next to nothing and are packets of zero bytes.
type zeros struct{ left int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), z.left))
	clear(p[:n])
	z.left -= int64(n)
	return n, nil
}

func TestGzipBombStops(t *testing.T) {
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	_, _ = w.Write(newCapture(linkRaw).Bytes())
	if _, err := io.Copy(w, &zeros{left: 300 << 20}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := analyzeBytes(t, bomb.Bytes())
	if r.File.Stopped == nil || *r.File.Stopped != stoppedRatio || r.File.InflatedBytes > 70<<20 {
		t.Errorf("%+v of %d bytes", r.File, bomb.Len())
	}
	report, err := Analyze(bytes.NewReader(bomb.Bytes()), -1, Options{Limits: Limits{InflatedBytes: 1 << 20, Ratio: 400}})
	if err != nil || report.File.Stopped == nil || *report.File.Stopped != stoppedInflated || report.File.InflatedBytes != 1<<20 {
		t.Errorf("%+v, %v", report, err)
	}
	if half := analyzeBytes(t, gzipOf(t, newCapture(linkRaw).add(startNs, make([]byte, 40)).Bytes())[:60]); *half.File.Stopped != stoppedCutOff {
		t.Errorf("%+v", half.File)
	}
}

func gzipOf(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write(data)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestNothingSmallerStaysInAnothersPlace(t *testing.T) {
	table := make(map[int]uint64)
	for i := range 100 {
		table[i] = 1 + uint64(i/50)
	}
	if limit := evictHalf(table, func(weight uint64) uint64 { return weight }, func(uint64) {}); limit != 2 || len(table) != 50 {
		t.Errorf("%d are left, limit %d", len(table), limit)
	}
	for i, weight := range table {
		if weight != 2 {
			t.Errorf("%d: %d", i, weight)
		}
	}
}

// TestSlowNameAmongManyNames: a slow query is reported by its name even if the table evicted it because of the many
// names in between.
func TestSlowNameAmongManyNames(t *testing.T) {
	c := newCapture(linkRaw)
	client, server := hostPort("10.0.0.1:40000"), hostPort("10.0.0.2:53")
	slow := packedQuery(t, 1, "slow.example.")
	lost := packedQuery(t, 2, "lost.example.")
	c.add(startNs, udp(client, server, slow))
	c.add(startNs, udp(client, server, lost))
	for i := range int64(60_000) {
		query := packedQuery(t, uint16(3+i%1000), fmt.Sprintf("%d.example.", i))
		c.add(startNs+i*10_000, udp(client, server, query))
		c.add(startNs+i*10_000+5000, udp(server, client, answerTo(query, 0)))
	}
	c.add(startNs+700*ms, udp(server, client, answerTo(slow, 2)))
	r := analyzeBytes(t, c.Bytes())
	if r.Names.Exact || len(r.Names.Slowest) == 0 {
		t.Fatalf("%+v", r.Names)
	}
	if first := r.Names.Slowest[0]; first.Name != "slow.example." || first.Type != "A" || *first.MaxUs != 700e3 || first.ServFail != 1 || first.MissedAtMost == 0 {
		t.Errorf("%+v", first)
	}
	if r.Names.Costliest[0].Name != "slow.example." {
		t.Errorf("%+v", r.Names.Costliest[0])
	}
	if len(r.Unanswered.Name) != 1 || r.Texts[r.Unanswered.Name[0]] != "lost.example. A" {
		t.Errorf("%+v", r.Unanswered)
	}
}
