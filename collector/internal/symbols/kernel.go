package symbols

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// ErrHidden means that the kernel does not reveal where its functions are.
var ErrHidden = errors.New("kallsyms hides the addresses of kernel functions")

// kernelMost bounds what is remembered; a busy kernel runs some hundred functions.
const kernelMost = 8192

// Kernel names functions of the kernel and its modules.
type Kernel struct {
	path  string
	known spans
}

// NewKernel creates a Kernel that reads kallsyms below proc on first use.
func NewKernel(proc string) *Kernel { return &Kernel{path: filepath.Join(proc, "kallsyms")} }

// Resolve names addresses; those in no function are left out. It reads kallsyms, 100,000 lines, only if one of them is
// in a function that was never looked up.
func (k *Kernel) Resolve(addresses []uint64) (map[uint64]string, error) {
	names := make(map[uint64]string, len(addresses))
	var unknown []uint64
	for _, address := range addresses {
		if name, ok := k.known.find(address); ok {
			names[address] = name
		} else {
			unknown = append(unknown, address)
		}
	}
	if len(unknown) == 0 {
		return names, nil
	}
	wanted := newNearest(unknown)
	if err := k.read(wanted); err != nil {
		return names, err
	}
	if len(k.known) > kernelMost {
		k.known = nil
	}
	wanted.finish(func(span Span, _ uint64, name []byte) {
		span.Name = string(name)
		k.known = k.known.insert(span)
	})
	for _, address := range unknown {
		if name, ok := k.known.find(address); ok {
			names[address] = name
		}
	}
	return names, nil
}

func (k *Kernel) read(wanted *nearest) error {
	file, err := os.Open(k.path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	buffer := make([]byte, 0, 64<<10)
	seen, hidden := 0, 0
	for {
		n, err := file.Read(buffer[len(buffer):cap(buffer)])
		buffer = buffer[:len(buffer)+n]
		rest := buffer
		for {
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				break
			}
			if address, name, ok := parseSymbol(rest[:end]); ok {
				if seen++; address == 0 {
					hidden++
				} else {
					wanted.offer(address, 0, 0, name)
				}
			}
			rest = rest[end+1:]
		}
		buffer = buffer[:copy(buffer[:cap(buffer)], rest)]
		if errors.Is(err, io.EOF) || (n == 0 && len(buffer) == cap(buffer)) {
			break
		}
		if err != nil {
			return err
		}
	}
	if seen == 0 || hidden > seen/2 {
		return ErrHidden
	}
	return nil
}

// parseSymbol reads "ffffffff81000000 T _text" or "… t nf_nat_setup_info\t[nf_nat]"; functions only.
func parseSymbol(line []byte) (address uint64, name []byte, ok bool) {
	at := 0
	for ; at < len(line) && at < 16; at++ {
		digit := line[at]
		switch {
		case digit >= '0' && digit <= '9':
			digit -= '0'
		case digit >= 'a' && digit <= 'f':
			digit -= 'a' - 10
		default:
			digit = 255
		}
		if digit == 255 {
			break
		}
		address = address<<4 | uint64(digit)
	}
	if at == 0 || len(line) < at+4 || line[at] != ' ' || line[at+2] != ' ' {
		return 0, nil, false
	}
	switch line[at+1] {
	case 't', 'T', 'w', 'W', 'i':
	default:
		return 0, nil, false
	}
	name = line[at+3:]
	if tab := bytes.IndexByte(name, '\t'); tab >= 0 {
		name = name[:tab]
	}
	return address, name, len(name) > 0
}
