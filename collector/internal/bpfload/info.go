package bpfload

import (
	"bytes"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// programInfo is struct bpf_prog_info of linux/bpf.h up to the last field read here. The kernel fills in as much as it
// knows. With lengths and addresses of 0 it copies neither instructions nor symbols, of which a program can have
// megabytes.
type programInfo struct {
	kind, id                          uint32
	tag                               [8]byte
	compiledBytes, translatedBytes    uint32
	compiled, translated              uint64
	loadTimeNS                        uint64 // CLOCK_BOOTTIME when verification began
	createdBy, maps                   uint32
	mapIDs                            uint64
	text                              [16]byte
	ifindex, flags                    uint32
	netnsDevice, netnsInode           uint64
	symbols, functions                uint32
	symbolAddresses, functionLengths  uint64
	typesID, functionRecord           uint32
	functionInfo                      uint64
	functionInfos, lines              uint32
	lineInfo, compiledLineInfo        uint64
	compiledLines, lineRecord         uint32
	compiledLineRecord, tags          uint32
	tagList, runTimeNS, runs, misses  uint64
	verified, attachObject, attachTyp uint32
	_                                 uint32
}

// Commands of bpf(2).
const (
	getProgramByID = 13
	getInfo        = 15
)

// readInfo queries a program.
func readInfo(id uint32) (*programInfo, error) {
	byID := struct{ id, next, flags uint32 }{id: id}
	fd, err := call(getProgramByID, unsafe.Pointer(&byID), unsafe.Sizeof(byID))
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	info := &programInfo{}
	ask := struct {
		fd, length uint32
		info       uint64
	}{uint32(fd), uint32(unsafe.Sizeof(*info)), uint64(uintptr(unsafe.Pointer(info)))}
	_, err = call(getInfo, unsafe.Pointer(&ask), unsafe.Sizeof(ask))
	runtime.KeepAlive(info)
	return info, err
}

func call(command uintptr, attributes unsafe.Pointer, size uintptr) (int, error) {
	result, _, number := unix.Syscall(unix.SYS_BPF, command, uintptr(attributes), size)
	if number != 0 {
		return 0, number
	}
	return int(result), nil
}

func (i *programInfo) name() string {
	before, _, _ := bytes.Cut(i.text[:], []byte{0})
	return string(before)
}

// typeNames are those of bpftool, by enum bpf_prog_type.
var typeNames = [...]string{
	"unspec", "socket_filter", "kprobe", "sched_cls", "sched_act", "tracepoint", "xdp", "perf_event", "cgroup_skb", "cgroup_sock",
	"lwt_in", "lwt_out", "lwt_xmit", "sock_ops", "sk_skb", "cgroup_device", "sk_msg", "raw_tracepoint", "cgroup_sock_addr",
	"lwt_seg6local", "lirc_mode2", "sk_reuseport", "flow_dissector", "cgroup_sysctl", "raw_tracepoint_writable",
	"cgroup_sockopt", "tracing", "struct_ops", "ext", "lsm", "sk_lookup", "syscall", "netfilter",
}

func typeName(kind uint32) string {
	if int(kind) < len(typeNames) {
		return typeNames[kind]
	}
	return "type " + strconv.FormatUint(uint64(kind), 10)
}
