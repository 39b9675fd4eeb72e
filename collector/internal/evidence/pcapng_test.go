package evidence

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"
)

// block builds a pcapng block.
func block(order binary.AppendByteOrder, kind uint32, body []byte) []byte {
	for len(body)%4 != 0 {
		body = append(body, 0)
	}
	length := uint32(12 + len(body))
	out := order.AppendUint32(nil, kind)
	out = order.AppendUint32(out, length)
	out = append(out, body...)
	return order.AppendUint32(out, length)
}

func sectionHeader(order binary.AppendByteOrder) []byte {
	body := order.AppendUint32(nil, 0x1a2b3c4d)
	body = order.AppendUint16(body, 1)
	body = order.AppendUint16(body, 0)
	return block(order, magicPcapng, order.AppendUint64(body, math.MaxUint64))
}

func interfaceBlock(order binary.AppendByteOrder, link uint16, options ...byte) []byte {
	body := order.AppendUint16(nil, link)
	body = order.AppendUint16(body, 0)
	body = order.AppendUint32(body, 0)
	return block(order, blockInterface, append(body, options...))
}

func enhancedPacket(order binary.AppendByteOrder, number uint32, stamp uint64, frame []byte) []byte {
	body := order.AppendUint32(nil, number)
	body = order.AppendUint32(body, uint32(stamp>>32))
	body = order.AppendUint32(body, uint32(stamp))
	body = order.AppendUint32(body, uint32(len(frame)))
	body = order.AppendUint32(body, uint32(len(frame)))
	return block(order, blockEnhanced, append(body, frame...))
}

// pcapngOf converts the packets of a microsecond pcap file to a pcapng file.
func pcapngOf(t testing.TB, data []byte) []byte {
	t.Helper()
	order := binary.LittleEndian
	out := append(sectionHeader(order), interfaceBlock(order, 1)...)
	for at := 24; at+16 <= len(data); {
		size := int(order.Uint32(data[at+8:]))
		if at+16+size > len(data) {
			break
		}
		stamp := uint64(order.Uint32(data[at:]))*1e6 + uint64(order.Uint32(data[at+4:]))
		out = append(out, enhancedPacket(order, 0, stamp, data[at+16:at+16+size])...)
		at += 16 + size
	}
	return out
}

// TestPcapngSections: a second section can have another byte order and clock, and blocks of unknown kinds can lie
// between.
func TestPcapngSections(t *testing.T) {
	client, server := hostPort("10.0.0.1:4000"), hostPort("10.0.0.2:53")
	query := packedQuery(t, 1, "a.example.")
	file := bytes.Join([][]byte{
		sectionHeader(binary.LittleEndian),
		interfaceBlock(binary.LittleEndian, linkRaw), // microseconds
		block(binary.LittleEndian, 0xbad, bytes.Repeat([]byte{7}, 5000)),
		enhancedPacket(binary.LittleEndian, 0, 1_700_000_000_000_000, udp(client, server, query)),
		sectionHeader(binary.BigEndian),
		interfaceBlock(binary.BigEndian, linkEthernet, 0, 9, 0, 1, 9, 0, 0, 0),  // nanoseconds
		interfaceBlock(binary.BigEndian, linkRaw, 0, 9, 0, 1, 0x80|20, 0, 0, 0), // 2^-20 s
		enhancedPacket(binary.BigEndian, 1, 1_700_000_000<<20|1<<19, udp(server, client, answerTo(query, 0))),
	}, nil)
	r := analyzeBytes(t, file)
	if r.Totals.Answers != 1 || *r.Totals.Latency.MaxUs != 500_000 || r.File.Stopped != nil || r.File.Format != "pcapng" {
		t.Errorf("%+v %+v", r.Totals.Latency, r.File)
	}
	if *r.File.LastAtUs != 1_700_000_000_500_000 || r.File.ResolutionNs != 1000 || len(r.File.LinkTypes) != 2 {
		t.Errorf("%+v", r.File)
	}
}

func TestTimestampResolutions(t *testing.T) {
	for _, c := range []struct {
		one   captureInterface
		stamp uint64
		want  int64
	}{
		{captureInterface{decimal: true, exponent: 6}, 1_700_000_000_123_456, 1_700_000_000_123_456_000},
		{captureInterface{decimal: true, exponent: 9}, 1_700_000_000_123_456_789, 1_700_000_000_123_456_789},
		{captureInterface{decimal: true, exponent: 0}, 1_700_000_000, 1_700_000_000_000_000_000},
		{captureInterface{decimal: true, exponent: 12}, 1_700_000_000_123, 1_700_000_000},
		{captureInterface{decimal: true, exponent: 127}, math.MaxUint64, 0},
		{captureInterface{exponent: 0}, 17, 17e9},
		{captureInterface{exponent: 10}, 1536, 15e8},
		{captureInterface{exponent: 63}, 1<<63 | 1<<62, 15e8},
		{captureInterface{exponent: 127}, math.MaxUint64, 0},
		{captureInterface{decimal: true, exponent: 0}, math.MaxUint64, maxSeconds * 1e9},
		{captureInterface{decimal: true, exponent: 6, offsetNs: -5e9}, 2_000_000, 0},
		{captureInterface{decimal: true, exponent: 6, offsetNs: 5e9}, 2_000_000, 7e9},
	} {
		if got := c.one.nanoseconds(c.stamp); got != c.want {
			t.Errorf("%+v %d: %d instead of %d", c.one, c.stamp, got, c.want)
		}
	}
}

// TestDamagedFiles: damage ends reading, with everything before it counted.
func TestDamagedFiles(t *testing.T) {
	order := binary.LittleEndian
	client, server := hostPort("10.0.0.1:4000"), hostPort("10.0.0.2:53")
	packet := udp(client, server, packedQuery(t, 1, "a.example."))
	start := append(sectionHeader(order), interfaceBlock(order, linkRaw)...)
	start = append(start, enhancedPacket(order, 0, 1_700_000_000_000_000, packet)...)
	old := newCapture(linkRaw).add(1e18, packet).Bytes()
	huge := order.AppendUint32(order.AppendUint32(bytes.Clone(make([]byte, 8)), 0x7fffffff), 0x7fffffff)
	longer := enhancedPacket(order, 0, 0, packet)
	order.PutUint32(longer[20:], 5000) // the packet claims more than its block
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"pcapng, cut off":         {start[:len(start)-7], stoppedCutOff},
		"pcapng, block of 0":      {append(bytes.Clone(start), make([]byte, 12)...), stoppedDamaged},
		"pcapng, odd block":       {append(bytes.Clone(start), 1, 2, 3, 4, 33, 0, 0, 0), stoppedDamaged},
		"pcapng, endless block":   {append(bytes.Clone(start), 9, 9, 9, 9, 0xfc, 0xff, 0xff, 0xff), stoppedCutOff},
		"pcapng, no interface":    {append(bytes.Clone(start), enhancedPacket(order, 7, 0, packet)...), stoppedDamaged},
		"pcapng, packet too long": {append(bytes.Clone(start), longer...), stoppedDamaged},
		"pcap, cut off":           {old[:len(old)-1], stoppedCutOff},
		"pcap, cut in a header":   {append(bytes.Clone(old), 1, 2, 3), stoppedCutOff},
		"pcap, endless packet":    {append(bytes.Clone(old), huge...), stoppedDamaged},
	} {
		r := analyzeBytes(t, c.file)
		if r.File.Stopped == nil || *r.File.Stopped != c.want {
			t.Errorf("%s: %+v", name, r.File)
		}
		if want := uint64(1); c.want != stoppedCutOff && r.Totals.Queries != want {
			t.Errorf("%s: %d queries", name, r.Totals.Queries)
		}
		if len(r.CannotTell) == 0 || r.CannotTell[0].About != "file" {
			t.Errorf("%s: does not say so: %+v", name, r.CannotTell)
		}
	}
}

func TestNotCaptures(t *testing.T) {
	for name, data := range map[string][]byte{
		"empty": {}, "one byte": {1}, "text": []byte("Oct 11 dnsmasq[4811]: query[A] example.com from 10.0.0.83\n"),
		"gzip of nothing": {0x1f, 0x8b, 8}, "pcap header cut": newCapture(1).Bytes()[:20], "pcapng magic only": {0x0a, 0x0d, 0x0d, 0x0a},
	} {
		if _, err := Analyze(bytes.NewReader(data), -1, Options{Limits: DefaultLimits}); err == nil {
			t.Errorf("%s was taken for a capture", name)
		}
	}
}
