package netsock

import (
	"bufio"
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
)

// Addresses are the local addresses of a network namespace.
type Addresses map[dnswire.Address]struct{}

// Has reports whether address is local. All of 127.0.0.0/8 is.
func (a Addresses) Has(address dnswire.Address) bool {
	if netip.AddrFrom16(address).Unmap().IsLoopback() {
		return true
	}
	_, ok := a[address]
	return ok
}

// Local reads the local addresses of the network namespace of a process.
func Local(proc string, pid int) (Addresses, error) {
	directory := filepath.Join(proc, strconv.Itoa(pid), "net")
	found := make(Addresses)
	if err := eachLine(filepath.Join(directory, "fib_trie"), newTrieReader(found).line); err != nil {
		return nil, err
	}
	_ = eachLine(filepath.Join(directory, "if_inet6"), func(line string) { // absent without IPv6
		digits, _, _ := strings.Cut(line, " ")
		var address dnswire.Address
		if raw, err := hex.DecodeString(digits); err == nil && copy(address[:], raw) == len(address) {
			found[address] = struct{}{}
		}
	})
	return found, nil
}

// trieReader finds the local addresses in fib_trie: a line "|-- ADDRESS" and, below it, "/32 host LOCAL".
type trieReader struct {
	found Addresses
	last  dnswire.Address
}

func newTrieReader(found Addresses) *trieReader { return &trieReader{found: found} }

func (t *trieReader) line(line string) {
	line = strings.TrimSpace(line)
	if text, ok := strings.CutPrefix(line, "|-- "); ok {
		if address, err := netip.ParseAddr(text); err == nil {
			t.last = address.As16()
		}
	} else if line == "/32 host LOCAL" {
		t.found[t.last] = struct{}{}
	}
}

func eachLine(path string, visit func(string)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		visit(lines.Text())
	}
	return lines.Err()
}
