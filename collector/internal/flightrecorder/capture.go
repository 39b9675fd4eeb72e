package flightrecorder

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/symbols"
)

const (
	// captureMost bounds what is sent: if there is more, only every second, third, … sample is sent.
	captureMost = 256 << 10
	samplesSent = 20_000
	nameMost    = 160 // bytes of a function's name
)

// Symbols resolves the addresses in stacks to names.
type Symbols struct {
	kernel *symbols.Kernel
	user   *symbols.User
	hidden error
}

// NewSymbols reads kallsyms and the programs of processes below proc.
func NewSymbols(proc string) *Symbols {
	return &Symbols{kernel: symbols.NewKernel(proc), user: symbols.NewUser(proc)}
}

// Hidden returns why kernel functions have no names; nil if they have.
func (s *Symbols) Hidden() error { return s.hidden }

// cutSample is a sample of a cut.
type cutSample struct {
	us       int64
	stack    uint32 // index into cut.stacks
	cpu, pid int32
}

type rawStack struct {
	pid          int32
	kernel, user []uint64
}

// cut is what was recorded in a time span, copied out of the slices.
type cut struct {
	fromUS, toUS int64
	samples      []cutSample
	stacks       []rawStack
	lost         uint64
}

// cut copies the samples of [fromUS, toUS), sorted by time.
func (r *Recorder) cut(fromUS, toUS int64) *cut {
	c := &cut{fromUS: fromUS, toUS: toUS}
	known := make(map[uint64]uint32)
	for i := range r.store.ring {
		slice := &r.store.ring[i]
		start := slice.number * sliceUS
		if slice.number == 0 || start >= toUS || start+sliceUS <= fromUS {
			continue
		}
		c.lost += slice.lost
		for _, k := range slice.samples[:slice.count] {
			us := start + int64(k.offsetUS)
			if us < fromUS || us >= toUS {
				continue
			}
			hash, pid, kernel, user := slice.stackAt(k.where & (1<<stackBits - 1))
			index, ok := known[hash]
			if !ok {
				index = uint32(len(c.stacks))
				known[hash] = index
				c.stacks = append(c.stacks, rawStack{pid, slices.Clone(kernel), slices.Clone(user)})
			}
			c.samples = append(c.samples, cutSample{us, index, int32(k.where >> stackBits), pid})
		}
	}
	slices.SortFunc(c.samples, func(a, b cutSample) int { return cmp.Compare(a.us, b.us) })
	return c
}

// Capture cuts [fromUS, toUS) out of the recording and names its functions. It returns nil if that is empty.
func (r *Recorder) Capture(fromUS, toUS int64, names *Symbols) *ingestpb.Capture {
	c := r.cut(fromUS, toUS)
	rows, waits := r.processes.between(fromUS, toUS), r.waits.between(fromUS, toUS)
	if len(c.samples) == 0 && len(rows) == 0 && len(waits) == 0 {
		return nil
	}
	resolved := names.resolve(c)
	every := (len(c.samples) + samplesSent - 1) / samplesSent
	for every = max(every, 1); ; every *= 2 {
		capture := r.build(c, rows, waits, resolved, every)
		if proto.Size(capture) <= captureMost || len(capture.OffsetUs) < 2 {
			return capture
		}
	}
}

// build makes the message from every n-th sample.
func (r *Recorder) build(c *cut, rows []row, waits []namedWait, resolved []namedStack, every int) *ingestpb.Capture {
	b := builder{
		capture: &ingestpb.Capture{StartUs: c.fromUS, EndUs: c.toUS, RateHz: RateHz / float64(every), LostSamples: c.lost},
		strings: make(map[string]uint32), stacks: make(map[string]uint32), processes: make(map[int32]uint32), recorder: r,
	}
	out := b.capture
	for i := 0; i < len(c.samples); i += every {
		s := c.samples[i]
		out.OffsetUs = append(out.OffsetUs, uint32(s.us-c.fromUS))
		out.Stack = append(out.Stack, b.stack(resolved[s.stack]))
		out.Process = append(out.Process, b.process(s.pid))
		out.Cpu = append(out.Cpu, uint32(s.cpu))
	}
	for _, each := range rows {
		out.RowOffsetUs = append(out.RowOffsetUs, uint32(each.us-c.fromUS))
		out.RowProcess = append(out.RowProcess, b.process(each.pid))
		out.RowUserUs = append(out.RowUserUs, each.userUS)
		out.RowSystemUs = append(out.RowSystemUs, each.systemUS)
		out.RowThreads = append(out.RowThreads, each.threads)
		out.RowState = append(out.RowState, uint32(each.state))
	}
	for _, each := range waits {
		b.wait(&each)
	}
	return out
}

// builder numbers strings, stacks and processes in the order of first use.
type builder struct {
	capture   *ingestpb.Capture
	strings   map[string]uint32
	stacks    map[string]uint32
	processes map[int32]uint32
	recorder  *Recorder
	key       []byte
}

func (b *builder) text(text string) uint32 {
	index, ok := b.strings[text]
	if !ok {
		index = uint32(len(b.capture.Strings))
		b.strings[text] = index
		b.capture.Strings = append(b.capture.Strings, text)
	}
	return index
}

// stack numbers a stack of names: many stacks of addresses map to the same one.
func (b *builder) stack(named namedStack) uint32 {
	stack := &ingestpb.CapturedStack{}
	b.key = b.key[:0]
	for _, name := range named.kernel {
		index := b.text(name)
		stack.Kernel = append(stack.Kernel, index)
		b.key = append(b.key, byte(index), byte(index>>8), byte(index>>16), byte(index>>24))
	}
	b.key = append(b.key, '/')
	for _, name := range named.user {
		index := b.text(name)
		stack.User = append(stack.User, index)
		b.key = append(b.key, byte(index), byte(index>>8), byte(index>>16), byte(index>>24))
	}
	index, ok := b.stacks[string(b.key)]
	if !ok {
		index = uint32(len(b.capture.Stacks))
		b.stacks[string(b.key)] = index
		b.capture.Stacks = append(b.capture.Stacks, stack)
	}
	return index
}

func (b *builder) wait(wait *namedWait) {
	out, stack := b.capture, uint32(0)
	if len(wait.stack) > 0 {
		stack = b.stack(namedStack{kernel: wait.stack}) + 1
	}
	out.WaitOffsetUs = append(out.WaitOffsetUs, uint32(wait.us-out.StartUs))
	out.WaitProcess = append(out.WaitProcess, b.process(wait.pid))
	out.WaitThread = append(out.WaitThread, uint32(wait.thread))
	out.WaitName = append(out.WaitName, b.text(wait.name))
	out.WaitState = append(out.WaitState, uint32(wait.state))
	out.WaitCall = append(out.WaitCall, b.text(callName(wait.call)))
	out.WaitPlace = append(out.WaitPlace, b.text(wait.place))
	out.WaitStack = append(out.WaitStack, stack)
}

func (b *builder) process(pid int32) uint32 {
	index, ok := b.processes[pid]
	if !ok {
		command, cgroup := b.recorder.processes.identify(pid, b.capture.EndUs)
		index = uint32(len(b.capture.Processes))
		b.processes[pid] = index
		b.capture.Processes = append(b.capture.Processes, &ingestpb.CapturedProcess{Pid: uint32(pid), Command: b.text(command), Cgroup: cgroup})
	}
	return index
}
