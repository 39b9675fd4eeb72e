package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

const (
	headerLen   = 12
	ednsPayload = 4096
	maxQuery    = headerLen + 255 + 4 + 11 // longest name, type and class, OPT
)

// uniqueLabel is prepended to a name that must differ in each query: a hexadecimal counter replaces the zeros.
const uniqueLabel = "u00000000"

// query is the packet sent for one of the names.
type query struct {
	packet []byte
	unique bool
}

func newQuery(name string, unique bool) (query, error) {
	if unique {
		name = uniqueLabel + "." + name
	}
	packet, err := queryPacket(name)
	return query{packet: packet, unique: unique}, err
}

// build writes the packet of the i-th query overall into buffer (maxQuery bytes), with id 0.
func (q *query) build(i int, buffer []byte) []byte {
	packet := buffer[:copy(buffer, q.packet)]
	if q.unique {
		const digits = "0123456789abcdef"
		for at := headerLen + len(uniqueLabel); at > headerLen+1; at-- {
			packet[at] = digits[i&15]
			i >>= 4
		}
	}
	return packet
}

// queryPacket builds an A query with EDNS0; bytes 0 and 1, the query id, are left 0.
func queryPacket(name string) ([]byte, error) {
	packet := make([]byte, headerLen, 64)
	packet[2] = 0x01 // recursion desired
	packet[5] = 1    // one question
	packet[11] = 1   // one additional record: OPT
	for label := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		if len(label) == 0 || len(label) > 63 {
			return nil, fmt.Errorf("%q is not a DNS name: labels have 1 to 63 bytes", name)
		}
		packet = append(packet, byte(len(label)))
		packet = append(packet, label...)
	}
	packet = append(packet, 0, 0, 1, 0, 1) // root, type A, class IN
	if len(packet)-headerLen-4 > 255 {
		return nil, fmt.Errorf("%q is not a DNS name: longer than 255 bytes", name)
	}
	packet = append(packet, 0, 0, 41) // root, type OPT
	packet = binary.BigEndian.AppendUint16(packet, ednsPayload)
	return append(packet, 0, 0, 0, 0, 0, 0), nil // extended rcode, version, flags; no options
}

// question is the part of a query that its answer repeats.
func question(query []byte) []byte {
	return query[headerLen : len(query)-11]
}

// answers reports whether a packet answers this query, whatever its id.
func answers(packet, query []byte) bool {
	want := question(query)
	return len(packet) >= headerLen+len(want) && packet[2]&0x80 != 0 && bytes.Equal(packet[headerLen:headerLen+len(want)], want)
}

// Result numbers are those of QueryResult in ingest.proto.
const (
	resultNoError  = 0
	resultNXDomain = 1
	resultServFail = 2
	resultRefused  = 3
	resultTimeout  = 4
	resultOther    = 5
)

func resultOf(packet []byte) uint8 {
	switch packet[3] & 0x0f {
	case 0:
		return resultNoError
	case 3:
		return resultNXDomain
	case 2:
		return resultServFail
	case 5:
		return resultRefused
	default:
		return resultOther
	}
}
