package symbols

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestNearest compares with a search through all symbols.
func TestNearest(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		starts := make(map[uint64]uint64)
		for range 1 + random.IntN(60) {
			starts[uint64(10+random.IntN(1000))] = uint64(random.IntN(2) * random.IntN(30))
		}
		var addresses []uint64
		for range 40 {
			addresses = append(addresses, uint64(random.IntN(1100)))
		}
		wanted := newNearest(addresses)
		for start, size := range starts { // in any order
			wanted.offer(start, size, start, nil)
		}
		var known spans
		wanted.finish(func(span Span, reference uint64, _ []byte) {
			if span.Start != reference {
				t.Fatalf("span of %d has the reference %d", span.Start, reference)
			}
			span.Name = fmt.Sprint(reference)
			known = known.insert(span)
		})
		for _, address := range addresses {
			got, ok := known.find(address)
			want := expected(starts, address)
			if !ok {
				got = ""
			}
			if got != want && !nested(starts, address) {
				t.Fatalf("%d in %v: %q, not %q", address, starts, got, want)
			}
		}
	}
}

// expected is the nearest symbol below an address if it covers it; one without a size extends to the next one.
func expected(starts map[uint64]uint64, address uint64) string {
	best := uint64(0)
	for start := range starts {
		if start <= address && start > best {
			best = start
		}
	}
	if size := starts[best]; best == 0 || (size > 0 && best+size <= address) {
		return ""
	}
	return fmt.Sprint(best)
}

// nested reports whether a symbol lies within another one, which no compiler generates.
func nested(starts map[uint64]uint64, address uint64) bool {
	for start, size := range starts {
		for other := range starts {
			if start < other && other < start+size && start <= address {
				return true
			}
		}
	}
	return false
}

func TestKernel(t *testing.T) {
	proc := t.TempDir()
	text := `ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000100 t prune_dcache_sb
ffffffff81000180 D some_data
ffffffff81000200 T shrink_dentry_list
ffffffffc0001000 t nf_nat_setup_info	[nf_nat]
ffffffffc0000000 t loaded_before	[xt_nat]
ffffffffc0002000 t bpf_prog_6deef7357e7b4530	[bpf]
`
	if err := os.WriteFile(filepath.Join(proc, "kallsyms"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	kernel := NewKernel(proc)
	want := map[uint64]string{
		0xffffffff81000100: "prune_dcache_sb", 0xffffffff810001ff: "prune_dcache_sb", 0xffffffff81000200: "shrink_dentry_list",
		0xffffffffc0001004: "nf_nat_setup_info", 0xffffffffc0000ffc: "loaded_before", 0xffffffffc0002001: "bpf_prog_6deef7357e7b4530",
	}
	ask := []uint64{0x1000, 0xffffffff90000000} // in no function
	for address := range want {
		ask = append(ask, address)
	}
	for round := range 2 {
		got, err := kernel.Resolve(ask)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("round %d: %v, %v", round, got, err)
		}
		ask = ask[2:]
		_ = os.Remove(filepath.Join(proc, "kallsyms")) // what is known no longer needs it
	}
}

func TestKernelHidesAddresses(t *testing.T) {
	proc := t.TempDir()
	text := strings.Repeat("0000000000000000 T _text\n", 100)
	if err := os.WriteFile(filepath.Join(proc, "kallsyms"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if names, err := NewKernel(proc).Resolve([]uint64{1}); !errors.Is(err, ErrHidden) || len(names) > 0 {
		t.Errorf("%v, %v", names, err)
	}
}

// TestGoProgram looks up functions of this very program.
func TestGoProgram(t *testing.T) {
	users := NewUser("/proc")
	users.Begin()
	for range 2 { // the second time from memory
		address := uint64(reflect.ValueOf(TestGoProgram).Pointer())
		other := uint64(reflect.ValueOf(strings.Repeat).Pointer()) + 5
		names, err := users.Resolve(os.Getpid(), []uint64{address, other, 8})
		if err != nil || !strings.HasSuffix(names[address], "symbols.TestGoProgram") || names[other] != "strings.Repeat" || names[8] != "[unknown]" {
			t.Errorf("%v, %v", names, err)
		}
	}
}

// TestSharedLibrary looks up an exported function of the C library in a running program, and a place without a name.
func TestSharedLibrary(t *testing.T) {
	command := exec.Command("sleep", "60")
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stdin.Close(); _ = command.Process.Kill(); _ = command.Wait() }()
	var library mapping
	for range 100_000 { // until the loader has mapped it
		maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", command.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range parseMaps(maps) {
			if base := filepath.Base(m.path); strings.HasPrefix(base, "libc.so") || strings.HasPrefix(base, "libc-") {
				library = m
			}
		}
		_ = maps.Close()
		if library.path != "" {
			break
		}
	}
	file, err := elf.Open(library.path)
	if err != nil {
		t.Fatalf("%+v: %v", library, err)
	}
	defer func() { _ = file.Close() }()
	exported, err := file.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, symbol := range exported {
		if symbol.Name != "getaddrinfo" && symbol.Name != "qsort" {
			continue
		}
		for _, segment := range file.Progs {
			if segment.Type == elf.PT_LOAD && segment.Flags&elf.PF_X != 0 {
				address := symbol.Value - segment.Vaddr + segment.Off - library.offset + library.start
				users := NewUser("/proc")
				users.Begin()
				names, err := users.Resolve(command.Process.Pid, []uint64{address + 1})
				if err != nil || names[address+1] != symbol.Name {
					t.Errorf("%s: %v, %v", symbol.Name, names, err)
				}
				checked++
			}
		}
	}
	if checked == 0 {
		t.Error("found none of the functions in the library")
	}
	if _, err := NewUser("/proc").Resolve(1<<30, []uint64{1}); err == nil {
		t.Error("a process that does not exist has names")
	}
}

func FuzzELF(f *testing.F) {
	for _, path := range []string{"/bin/true", "/proc/self/exe"} {
		if text, err := os.ReadFile(path); err == nil {
			f.Add(text[:min(len(text), 64<<10)])
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		file, err := OpenELF(bytes.NewReader(raw))
		if err != nil {
			return
		}
		budget := uint64(1 << 20)
		_ = resolveELF(file, []uint64{0x1000, 0x401000}, &budget, func(Span) {})
		linkedAddress(file, 0x1000)
	})
}

func FuzzParse(f *testing.F) {
	f.Add("ffffffff81000000 T _stext")
	f.Add("55d0c0000000-55d0c0001000 r-xp 00001000 fd:01 1234   /usr/bin/a b (deleted)")
	f.Fuzz(func(t *testing.T, line string) {
		parseSymbol([]byte(line))
		findMapping(parseMaps(strings.NewReader(line)), 0x55d0c0000001)
	})
}
