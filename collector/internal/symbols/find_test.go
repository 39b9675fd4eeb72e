package symbols

import (
	"debug/elf"
	"os"
	"strings"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// TestFindExported compares with what package elf finds in a shared library of this machine.
func TestFindExported(t *testing.T) {
	path := library(t)
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	parsed, err := elf.NewFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all, err := parsed.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]uint64)
	for _, symbol := range all {
		if len(want) < 20 && elf.ST_TYPE(symbol.Info) == elf.STT_FUNC && symbol.Section != elf.SHN_UNDEF && strings.HasPrefix(symbol.Version, "GLIBC_2.") {
			want[symbol.Name] = symbol.Value
		}
	}
	var names []string
	for name := range want {
		names = append(names, name)
	}
	found, err := FindExported(file, append(names, "no_such_function_here")...)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != len(want) || len(want) < 20 {
		t.Errorf("%d of %d found", len(found), len(want))
	}
	for name, address := range want {
		code := make([]byte, 8)
		if _, err := file.ReadAt(code, int64(found[name].Offset)); err != nil || found[name].Address != address {
			t.Errorf("%s: %+v, want %#x, %v", name, found[name], address, err)
		}
	}
	if following, err := SearchData(file, "GNU C Library ", 10); err != nil || !strings.HasPrefix(following, "(") {
		t.Errorf("%q, %v", following, err)
	}
}

// library is the C library that this machine's programs use.
func library(t *testing.T) string {
	t.Helper()
	for _, path := range []string{"/lib/x86_64-linux-gnu/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6", "/lib64/libc.so.6"} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	testenv.Skip(t, "there is no C library where it usually is")
	return ""
}

func TestSearchAcrossPieces(t *testing.T) {
	text := strings.Repeat("x", 256<<10-3) + "needle" + strings.Repeat("y", 300<<10) + "needle!"
	var at []uint64
	if err := search(strings.NewReader(text), uint64(len(text)), []byte("needle"), func(place uint64, _ []byte) bool {
		at = append(at, place)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if len(at) != 2 || at[0] != 256<<10-3 || at[1] != uint64(len(text)-7) {
		t.Errorf("%v", at)
	}
}
