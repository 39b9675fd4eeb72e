package flightrecorder

import (
	"strings"
)

// namedStack is a stack of names, leaf first.
type namedStack struct{ kernel, user []string }

// gone stands for the frames of a process that ended before its program could be identified.
const gone = "[process ended]"

// resolve names the stacks of a cut, in the same order.
func (s *Symbols) resolve(c *cut) []namedStack {
	var kernel []uint64
	user := make(map[int32][]uint64)
	seenKernel := make(map[uint64]struct{})
	type userAddress struct {
		pid     int32
		address uint64
	}
	seenUser := make(map[userAddress]struct{})
	for _, stack := range c.stacks {
		for i, address := range stack.kernel {
			address = inside(i, address)
			if _, seen := seenKernel[address]; !seen {
				seenKernel[address] = struct{}{}
				kernel = append(kernel, address)
			}
		}
		for i, address := range stack.user {
			key := userAddress{stack.pid, inside(i, address)}
			if _, seen := seenUser[key]; !seen {
				seenUser[key] = struct{}{}
				user[stack.pid] = append(user[stack.pid], key.address)
			}
		}
	}
	kernelNames, err := s.kernel.Resolve(kernel)
	s.hidden = err
	s.user.Begin()
	userNames := make(map[int32]map[uint64]string, len(user))
	for pid, addresses := range user {
		if names, err := s.user.Resolve(int(pid), addresses); err == nil {
			userNames[pid] = names
		}
	}
	named := make([]namedStack, len(c.stacks))
	for k, stack := range c.stacks {
		for i, address := range stack.kernel {
			name := kernelNames[inside(i, address)]
			if name == "" {
				name = "[kernel]"
			}
			named[k].kernel = append(named[k].kernel, tidy(name))
		}
		names, alive := userNames[stack.pid]
		if !alive && len(stack.user) > 0 {
			named[k].user = []string{gone}
			continue
		}
		for i, address := range stack.user {
			named[k].user = append(named[k].user, tidy(names[inside(i, address)]))
		}
	}
	return named
}

// inside returns an address that is certainly in the function: above the leaf the frames are return addresses, and the
// call may have been the function's last instruction.
func inside(depth int, address uint64) uint64 {
	if depth == 0 {
		return address
	}
	return address - 1
}

// tidy makes a name valid for the wire format.
func tidy(name string) string {
	if len(name) > nameMost {
		name = name[:nameMost]
	}
	return strings.ToValidUTF8(strings.ReplaceAll(name, "\x00", ""), "\uFFFD")
}
