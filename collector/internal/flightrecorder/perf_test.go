package flightrecorder

import (
	"bytes"
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"
)

// body makes the body of a sample.
func body(pid uint32, timeNS uint64, chain ...uint64) []byte {
	out := binary.NativeEndian.AppendUint32(nil, pid)
	out = binary.NativeEndian.AppendUint32(out, pid)
	out = binary.NativeEndian.AppendUint64(out, timeNS)
	out = binary.NativeEndian.AppendUint64(out, uint64(len(chain)))
	return append(out, frames(chain...)...)
}

func TestParseSample(t *testing.T) {
	const kernel, user, guest = contextKernel, contextUser, ^uint64(2048 - 1)
	for _, c := range []struct {
		chain        []uint64
		kernel, user []byte
	}{
		{[]uint64{kernel, 1, 2, user, 3, 4}, frames(1, 2), frames(3, 4)},
		{[]uint64{user, 3}, nil, frames(3)},
		{[]uint64{kernel, 1}, frames(1), nil},
		{[]uint64{kernel, 1, guest, 9, user, 3}, frames(1), frames(3)},
		{nil, nil, nil},
		{[]uint64{5, 6}, nil, nil}, // without a context it is not known what they are
	} {
		s, ok := parseSample(body(42, 77, c.chain...))
		if !ok || s.pid != 42 || s.monotonicNS != 77 || !bytes.Equal(s.kernel, c.kernel) || !bytes.Equal(s.user, c.user) {
			t.Errorf("%x: %+v, %v", c.chain, s, ok)
		}
	}
	whole := body(42, 77, kernel, 1, user, 2)
	for n := range len(whole) {
		if _, ok := parseSample(whole[:n]); ok {
			t.Errorf("accepted when cut to %d bytes", n)
		}
	}
}

func TestParseComm(t *testing.T) {
	record := func(pid, thread uint32, name string) []byte {
		out := binary.NativeEndian.AppendUint32(nil, pid)
		return append(binary.NativeEndian.AppendUint32(out, thread), name...)
	}
	if pid, name, ok := parseComm(record(7, 7, "curl\x00\x00\x00\x00")); !ok || pid != 7 || string(name) != "curl" {
		t.Errorf("%d %q %v", pid, name, ok)
	}
	for _, bad := range [][]byte{record(7, 8, "worker\x00\x00"), record(7, 7, "no end"), record(7, 7, ""), nil} {
		if _, _, ok := parseComm(bad); ok {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// TestDrain makes records of all lengths wrap around the end of a ring many times.
func TestDrain(t *testing.T) {
	const size = 4096
	r := &ring{data: make([]byte, size), control: &unix.PerfEventMmapPage{}}
	next, want := 0, 0
	for range 300 {
		for {
			content := bytes.Repeat([]byte{byte(next)}, 8*(1+next%37))
			if int(r.control.Data_head-r.control.Data_tail)+8+len(content) > size {
				break
			}
			record := binary.NativeEndian.AppendUint32(nil, unix.PERF_RECORD_SAMPLE)
			record = binary.NativeEndian.AppendUint16(record, 0)
			record = binary.NativeEndian.AppendUint16(record, uint16(8+len(content)))
			for _, b := range append(record, content...) {
				r.data[r.control.Data_head%size] = b
				r.control.Data_head++
			}
			next++
		}
		r.drain(func(kind uint32, got []byte) {
			if kind != unix.PERF_RECORD_SAMPLE || !bytes.Equal(got, bytes.Repeat([]byte{byte(want)}, 8*(1+want%37))) {
				t.Fatalf("record %d: kind %d, %x", want, kind, got)
			}
			want++
		})
		if r.control.Data_head != r.control.Data_tail {
			t.Fatal("room was not given back")
		}
	}
	if want != next || want < 1000 {
		t.Errorf("%d of %d records", want, next)
	}
}

func TestParseCPUs(t *testing.T) {
	for text, want := range map[string]int{"0": 1, "0-1": 2, "0-3,8,10-11": 7} {
		if got, err := parseCPUs(text); err != nil || len(got) != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "a", "0-", "1,,2"} {
		if got, err := parseCPUs(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func FuzzParseSample(f *testing.F) {
	f.Add(body(1, 2, contextKernel, 3, contextUser, 4))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if s, ok := parseSample(raw); ok && (len(s.kernel)+len(s.user))%8 != 0 {
			t.Error("a frame of less than 8 bytes")
		}
		parseComm(raw)
		parseLost(raw)
	})
}
