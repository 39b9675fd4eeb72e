// Package sockdiag queries the kernel for TCP sockets over NETLINK_SOCK_DIAG, as ss does. A dump on a held socket does
// not allocate, and the kernel filters out unwanted sockets, so that a machine with many connections costs little.
// Format: linux/sock_diag.h, linux/inet_diag.h, linux/tcp.h; sock_diag(7).
package sockdiag

import (
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"
)

// States of a TCP socket, net/tcp_states.h.
const (
	Established = 1
	CloseWait   = 8
	Listen      = 10
)

const (
	getSockets      = 18 // TCPDIAG_GETSOCK: IPv4 and IPv6 in one walk, where SOCK_DIAG_BY_FAMILY takes two
	messageHeader   = 16 // struct nlmsghdr
	requestBytes    = 60 // struct inet_diag_req
	attributeHeader = 4

	attributeBytecode = 1 // INET_DIAG_REQ_BYTECODE
	attributeInfo     = 2 // INET_DIAG_INFO: struct tcp_info
	attributeMemory   = 7 // INET_DIAG_SKMEMINFO

	// Operations of the kernel's filter. Each is 4 bytes: code, how far to jump if it matches (8 bits), and if it does
	// not (16 bits). A comparison is followed by another 4 bytes, the last two of which are the port.
	opJump                          = 1
	opSourceAtLeast, opSourceAtMost = 2, 3
	opTargetAtLeast, opTargetAtMost = 4, 5
	bytesPerPort                    = 20
)

// MaxPorts is how many ports a Query can name.
const MaxPorts = 256

// Query is a dump request. It is used by one Socket at a time.
type Query struct{ message []byte }

// Listening requests the listening sockets with their drops. The kernel finds them without walking the connections.
func Listening() *Query {
	return newQuery(1<<Listen, 1<<(attributeMemory-1), nil)
}

// Connections requests the established connections, and those that the other side closed, whose local port is one of
// local or whose remote port is one of remote. No more than MaxPorts are used.
func Connections(local, remote []uint16) *Query {
	return newQuery(1<<Established|1<<CloseWait, 1<<(attributeInfo-1), filter(local, remote))
}

// filter is a program that accepts a socket if it has one of the ports. Equality takes two comparisons, because kernels
// before 4.20 have no operation for it.
func filter(local, remote []uint16) []byte {
	type wanted struct {
		atLeast, atMost uint8
		port            uint16
	}
	var ports []wanted
	for _, port := range local {
		ports = append(ports, wanted{opSourceAtLeast, opSourceAtMost, port})
	}
	for _, port := range remote {
		ports = append(ports, wanted{opTargetAtLeast, opTargetAtMost, port})
	}
	ports = ports[:min(len(ports), MaxPorts)]
	var program []byte
	operation := func(code, yes uint8, no uint16) {
		program = binary.NativeEndian.AppendUint16(append(program, code, yes), no)
	}
	for i, want := range ports {
		rest := uint16(len(ports)-i-1) * bytesPerPort // accepting means jumping exactly to the end
		refuse := uint16(0)
		if rest == 0 {
			refuse = 4 // beyond the end
		}
		operation(want.atLeast, 8, bytesPerPort+refuse)
		operation(0, 0, want.port)
		operation(want.atMost, 8, 12+refuse)
		operation(0, 0, want.port)
		operation(opJump, 4, 4+rest)
	}
	return program
}

func newQuery(states uint32, extensions uint8, program []byte) *Query {
	size := messageHeader + requestBytes
	if len(program) > 0 {
		size += attributeHeader + len(program)
	}
	m := make([]byte, 0, size)
	native := binary.NativeEndian
	m = native.AppendUint32(m, uint32(size))
	m = native.AppendUint16(m, getSockets)
	m = native.AppendUint16(m, unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	m = append(m, make([]byte, 8)...) // sequence, set by Dump; port
	m = append(m, unix.AF_UNSPEC, 0, 0, extensions)
	m = append(m, make([]byte, 48)...) // no particular socket
	m = native.AppendUint32(m, states)
	m = append(m, make([]byte, messageHeader+requestBytes-len(m))...)
	if len(program) > 0 {
		m = native.AppendUint16(m, uint16(attributeHeader+len(program)))
		m = native.AppendUint16(m, attributeBytecode)
		m = append(m, program...)
	}
	return &Query{message: slices.Clip(m)}
}
