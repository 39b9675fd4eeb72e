// Package dnscapture watches the DNS traffic of the servers on this machine: it takes packets from a kernel ring,
// matches answers to queries, counts and times them per server and client, and keeps the single queries of the last
// seconds.
package dnscapture

import (
	"errors"
	"fmt"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
)

// MaxPorts is how many server ports a filter can hold.
const MaxPorts = 60

var errTooManyPorts = errors.New("more server ports than the packet filter can hold")

const arpHardwareLoopback = 772 // ARPHRD_LOOPBACK

// Filter assembles the classic BPF program that the kernel runs on each packet, which starts at its network header: TCP
// or UDP from or to one of the ports. On loopback a packet is seen when it is sent and when it arrives: only the latter
// counts. accept is how many bytes are kept.
func Filter(ports []uint16, accept uint32) ([]bpf.RawInstruction, error) {
	if len(ports) > MaxPorts {
		return nil, errTooManyPorts
	}
	p := &program{}
	p.add(bpf.LoadExtension{Num: bpf.ExtType})
	p.jumpUnless(unix.PACKET_OUTGOING, "arrives")
	p.add(loadHardwareType())
	p.jumpIf(arpHardwareLoopback, "drop")
	p.label("arrives")
	p.add(bpf.LoadExtension{Num: bpf.ExtProto})
	p.jumpIf(dnswire.EtherTypeIPv4, "IPv4")
	p.jumpIf(dnswire.EtherTypeIPv6, "IPv6")
	p.jump("drop")

	p.label("IPv4")
	p.add(bpf.LoadAbsolute{Off: 6, Size: 2})
	p.add(bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0x1fff}) // a later fragment has no ports
	p.jumpUnless(0, "drop")
	p.add(bpf.LoadAbsolute{Off: 9, Size: 1})
	p.jumpIf(dnswire.ProtocolUDP, "IPv4 ports")
	p.jumpUnless(dnswire.ProtocolTCP, "drop")
	p.add(bpf.LoadMemShift{Off: 0})
	p.dropPlainAcknowledgements(bpf.LoadIndirect{Off: 12, Size: 1}, bpf.LoadIndirect{Off: 13, Size: 1}, 2, true)
	p.label("IPv4 ports")
	p.add(bpf.LoadMemShift{Off: 0})
	p.add(bpf.LoadIndirect{Off: 0, Size: 2})
	p.portList(ports)
	p.add(bpf.LoadIndirect{Off: 2, Size: 2})
	p.portList(ports)
	p.jump("drop")

	p.label("IPv6")
	p.add(bpf.LoadAbsolute{Off: 6, Size: 1})
	p.jumpIf(dnswire.ProtocolUDP, "IPv6 ports")
	for _, extension := range []uint32{0, 43, 44, 60} {
		p.jumpIf(extension, "accept") // rare: examined in user space
	}
	p.jumpUnless(dnswire.ProtocolTCP, "drop")
	p.dropPlainAcknowledgements(bpf.LoadAbsolute{Off: 52, Size: 1}, bpf.LoadAbsolute{Off: 53, Size: 1}, 4, false)
	p.label("IPv6 ports")
	p.add(bpf.LoadAbsolute{Off: 40, Size: 2})
	p.portList(ports)
	p.add(bpf.LoadAbsolute{Off: 42, Size: 2})
	p.portList(ports)

	p.label("drop")
	p.add(bpf.RetConstant{Val: 0})
	p.label("accept")
	p.add(bpf.RetConstant{Val: accept})
	return p.assemble()
}

// dropPlainAcknowledgements drops TCP segments without payload, half of all, except those with SYN or RST. offset and
// flags load the TCP header's 12th and 13th byte; lengthAt is where the IP header has the length, which includes the IP
// header (its size in X) only for IPv4. X is clobbered.
func (p *program) dropPlainAcknowledgements(offset, flags bpf.Instruction, lengthAt uint32, includesHeader bool) {
	keep := fmt.Sprintf("keep at %d", lengthAt)
	p.add(flags)
	p.add(bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: dnswire.TCPSyn | dnswire.TCPRst})
	p.jumpUnless(0, keep)
	p.add(offset)
	p.add(bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xf0})
	p.add(bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 2})
	if includesHeader {
		p.add(bpf.ALUOpX{Op: bpf.ALUOpAdd})
	}
	p.add(bpf.TAX{})
	p.add(bpf.LoadAbsolute{Off: lengthAt, Size: 2})
	p.add(bpf.ALUOpX{Op: bpf.ALUOpSub})
	p.jumpIf(0, "drop")
	p.label(keep)
}

// loadHardwareType loads the type of the interface (SKF_AD_HATYPE), which the library has no name for.
func loadHardwareType() bpf.Instruction {
	return bpf.RawInstruction{Op: 0x20, K: 0xfffff000 + 28} // BPF_LD|BPF_W|BPF_ABS, SKF_AD_OFF + SKF_AD_HATYPE
}

// program resolves labels; conditional jumps reach at most 255 instructions, so they skip over an unconditional one.
type program struct {
	instructions []bpf.Instruction
	labels       map[string]int
	jumps        map[int]string
}

func (p *program) add(i bpf.Instruction) { p.instructions = append(p.instructions, i) }

func (p *program) label(name string) {
	if p.labels == nil {
		p.labels = make(map[string]int)
	}
	p.labels[name] = len(p.instructions)
}

func (p *program) jump(to string) {
	if p.jumps == nil {
		p.jumps = make(map[int]string)
	}
	p.jumps[len(p.instructions)] = to
	p.add(bpf.Jump{})
}

func (p *program) jumpIf(value uint32, to string) {
	p.add(bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: value, SkipTrue: 1})
	p.jump(to)
}

func (p *program) jumpUnless(value uint32, to string) {
	p.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: value, SkipTrue: 1})
	p.jump(to)
}

// portList accepts if the port just loaded is one of ports.
func (p *program) portList(ports []uint16) {
	for i, port := range ports {
		// The distance from here to the jump at the end of the list.
		p.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(port), SkipTrue: uint8(len(ports) - i)})
	}
	p.add(bpf.Jump{Skip: 1})
	p.jump("accept")
}

func (p *program) assemble() ([]bpf.RawInstruction, error) {
	for at, to := range p.jumps {
		p.instructions[at] = bpf.Jump{Skip: uint32(p.labels[to] - at - 1)}
	}
	return bpf.Assemble(p.instructions)
}
