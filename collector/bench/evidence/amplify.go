package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/klauspost/compress/gzip"
)

// record is one packet of the base capture, with its times and the places of what changes from copy to copy.
type record struct {
	atUs   int64
	frame  []byte
	client int // offset of the client's port
	tcp    int // offset of the TCP header, 0 for UDP
	udpID  int // offset of the DNS id, for UDP
}

// base is a real capture (Ethernet, IPv4, little-endian microseconds) that is repeated with other times, client ports and
// sequence numbers.
type base struct {
	header  []byte
	records []record
	spanUs  int64
}

func readBase(path string) (*base, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(data) < 24 || binary.LittleEndian.Uint32(data) != 0xa1b2c3d4 || binary.LittleEndian.Uint32(data[20:]) != 1 {
		return nil, fmt.Errorf("%s: want a little-endian pcap file of Ethernet packets", path)
	}
	b := &base{header: data[:24]}
	var port [2]byte // the server's, taken from the first packet
	for at := 24; at+16 <= len(data); {
		size := int(binary.LittleEndian.Uint32(data[at+8:]))
		atUs := int64(binary.LittleEndian.Uint32(data[at:]))*1e6 + int64(binary.LittleEndian.Uint32(data[at+4:]))
		frame := data[at+16 : at+16+size]
		at += 16 + size
		transport := 14 + int(frame[14]&0xf)*4
		if at == 24+16+size {
			port = [2]byte(frame[transport+2:])
		}
		r := record{atUs: atUs, frame: frame, client: transport, udpID: transport + 8}
		server := transport + 2
		if [2]byte(frame[server:]) != port {
			r.client, server = server, r.client
		}
		binary.BigEndian.PutUint16(frame[server:], 53)
		if frame[14+9] == 6 {
			r.tcp = transport
		}
		b.records = append(b.records, r)
	}
	first, last := b.records[0].atUs, b.records[len(b.records)-1].atUs
	b.spanUs = last - first + 1000
	return b, nil
}

// write makes a file of about the wanted size and gives the number of repetitions.
func (b *base) write(path, format string, megabytes int) (repetitions int, err error) {
	file, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer func() {
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
	}()
	buffered := bufio.NewWriterSize(file, 1<<20)
	out := &counter{writer: buffered}
	var packed *gzip.Writer
	if format == "pcap.gz" {
		packed = gzip.NewWriter(buffered)
		out.writer = packed
	}
	out.write(b.start(format))
	for ; out.bytes < int64(megabytes)*1e6; repetitions++ {
		for i := range b.records {
			out.write(b.block(&b.records[i], format, repetitions))
		}
	}
	if packed != nil {
		out.keep(packed.Close())
	}
	out.keep(buffered.Flush())
	return repetitions, out.err
}

func (b *base) start(format string) []byte {
	if format != "pcapng" {
		return b.header
	}
	section := []byte{10: 0, 27: 0}
	binary.LittleEndian.PutUint32(section, 0x0a0d0d0a)
	binary.LittleEndian.PutUint32(section[4:], 28)
	binary.LittleEndian.PutUint32(section[8:], 0x1a2b3c4d)
	binary.LittleEndian.PutUint16(section[12:], 1)
	binary.LittleEndian.PutUint64(section[16:], ^uint64(0))
	binary.LittleEndian.PutUint32(section[24:], 28)
	description := []byte{19: 0}
	binary.LittleEndian.PutUint32(description, 1)
	binary.LittleEndian.PutUint32(description[4:], 20)
	binary.LittleEndian.PutUint16(description[8:], 1)
	binary.LittleEndian.PutUint32(description[16:], 20)
	return append(section, description...)
}

// block is one packet as it lies in the file.
func (b *base) block(r *record, format string, repetition int) []byte {
	// Ports and sequence numbers move on by steps that meet all values.
	port := binary.BigEndian.Uint16(r.frame[r.client:])
	var block []byte
	atUs := uint64(r.atUs + int64(repetition)*b.spanUs)
	if format == "pcapng" {
		padded := (len(r.frame) + 3) / 4 * 4
		block = make([]byte, 28, 32+padded)
		binary.LittleEndian.PutUint32(block, 6)
		binary.LittleEndian.PutUint32(block[4:], uint32(32+padded))
		binary.LittleEndian.PutUint32(block[12:], uint32(atUs>>32))
		binary.LittleEndian.PutUint32(block[16:], uint32(atUs))
		binary.LittleEndian.PutUint32(block[20:], uint32(len(r.frame)))
		binary.LittleEndian.PutUint32(block[24:], uint32(len(r.frame)))
		block = append(block, r.frame...)
		block = block[:28+padded]
		block = binary.LittleEndian.AppendUint32(block, uint32(32+padded))
		r.shift(block[28:], port, repetition)
		return block
	}
	block = make([]byte, 16, 16+len(r.frame))
	binary.LittleEndian.PutUint32(block, uint32(atUs/1e6))
	binary.LittleEndian.PutUint32(block[4:], uint32(atUs%1e6))
	binary.LittleEndian.PutUint32(block[8:], uint32(len(r.frame)))
	binary.LittleEndian.PutUint32(block[12:], uint32(len(r.frame)))
	block = append(block, r.frame...)
	r.shift(block[16:], port, repetition)
	return block
}

func (r *record) shift(frame []byte, port uint16, repetition int) {
	const lowest, ports = 1024, 60_000
	binary.BigEndian.PutUint16(frame[r.client:], uint16(lowest+(int(port)+repetition*97)%ports))
	if r.tcp == 0 {
		// Another id, so that an unanswered query is not one repeated when its port comes back.
		binary.BigEndian.PutUint16(frame[r.udpID:], binary.BigEndian.Uint16(frame[r.udpID:])+uint16(repetition*31))
	} else {
		for _, at := range []int{r.tcp + 4, r.tcp + 8} {
			if number := binary.BigEndian.Uint32(frame[at:]); number != 0 {
				binary.BigEndian.PutUint32(frame[at:], number+uint32(repetition)*1_000_003)
			}
		}
	}
}

// counter remembers the first error, so that writing needs one check.
type counter struct {
	writer io.Writer
	bytes  int64
	err    error
}

func (c *counter) write(p []byte) {
	n, err := c.writer.Write(p)
	c.bytes += int64(n)
	c.keep(err)
}

func (c *counter) keep(err error) {
	if c.err == nil {
		c.err = err
	}
}

// readThrough is the floor: the same file, read and not looked at.
func readThrough(path string) (time.Duration, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }() // only read from
	started := time.Now()
	buffer := make([]byte, 1<<20)
	for {
		if _, err := file.Read(buffer); err == io.EOF {
			return time.Since(started), nil
		} else if err != nil {
			return 0, err
		}
	}
}
