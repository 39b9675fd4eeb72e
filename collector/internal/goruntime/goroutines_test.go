package goruntime

import (
	"debug/dwarf"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

func thisRelease(t *testing.T) *Info {
	t.Helper()
	info := &Info{Version: strings.TrimPrefix(runtime.Version(), "go")}
	if _, ok := layoutOf(info); !ok {
		t.Fatalf("the layout of %s is not known: compile testdata/goroutines with it and read its debug information", runtime.Version())
	}
	return info
}

// TestGoroutinesOfARunningProgram compares what is read from outside with what the program's runtime reports: with few
// and many, and with ended ones in free lists.
func TestGoroutinesOfARunningProgram(t *testing.T) {
	info := thisRelease(t)
	for name, flags := range variants {
		t.Run(name, func(t *testing.T) {
			p := start(t, "goroutines", flags...)
			goroutines, err := FindGoroutines("/proc", p.Process.Pid, info)
			if errors.Is(err, os.ErrPermission) {
				testenv.Skip(t, "reading its memory: %v", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, wanted := range []int{0, 1, 3000, 40, 700, 0} {
				want, _ := strconv.Atoi(p.say(strconv.Itoa(wanted)))
				if got, ok := goroutines.Count(); !ok || got != want || want != wanted+1 {
					t.Errorf("read %d, %v; the runtime says %d", got, ok, want)
				}
			}
			p.say("-7")
			if got, ok := goroutines.Count(); ok {
				t.Errorf("read %d with other processors than before", got)
			}
			if goroutines, err = FindGoroutines("/proc", p.Process.Pid, info); err != nil {
				t.Fatal(err)
			}
			want, _ := strconv.Atoi(p.say("5"))
			if got, ok := goroutines.Count(); !ok || got != want {
				t.Errorf("with other processors: read %d, %v; the runtime says %d", got, ok, want)
			}
			if allocations := testing.AllocsPerRun(100, func() { goroutines.Count() }); allocations != 0 {
				t.Errorf("%v allocations", allocations)
			}
		})
	}
}

func TestGoroutinesRefusesOtherPrograms(t *testing.T) {
	command := exec.Command("sleep", "10")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = command.Process.Kill(); _ = command.Wait() }()
	if _, err := FindGoroutines("/proc", command.Process.Pid, thisRelease(t)); err == nil {
		t.Error("goroutines were found in sleep")
	}
	for _, version := range []string{"1.17.13", "1.99.0", "devel go1.99-abc"} {
		if _, err := FindGoroutines("/proc", os.Getpid(), &Info{Version: version}); !errors.Is(err, ErrNoGoroutines) {
			t.Errorf("Go %s: %v", version, err)
		}
	}
}

// TestLayoutOfThisRelease compares the offsets with the debug information that the toolchain writes.
func TestLayoutOfThisRelease(t *testing.T) {
	l, _ := layoutOf(thisRelease(t))
	binary := filepath.Join(t.TempDir(), "procs")
	if out, err := exec.Command("go", "build", "-o", binary, "./testdata/procs").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	data, err := file.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	sched, proc := fieldOffsets(t, data, "runtime.schedt"), fieldOffsets(t, data, "runtime.p")
	want := map[string]uint64{
		"goidgen": l.goidgen, "mnext": l.mnext, "maxmcount": l.maxmcount, "ngsys": l.ngsys,
		"gFree.stack.size": l.free[0], "gFree.noStack.size": l.free[len(l.free)-1],
	}
	for name, offset := range want {
		if sched[name] != offset {
			t.Errorf("schedt.%s is at %d, not %d", name, sched[name], offset)
		}
	}
	if proc["gFree.size"] != l.procFree || proc["id"] != 0 || proc["status"] != 4 || proc["mcache"] != l.procCache {
		t.Errorf("p: gFree.size %d (%d), id %d, status %d, mcache %d", proc["gFree.size"], l.procFree, proc["id"], proc["status"], proc["mcache"])
	}
}

// fieldOffsets lists the fields of a structure, those of structures in it as "outer.inner".
func fieldOffsets(t *testing.T, data *dwarf.Data, name string) map[string]uint64 {
	t.Helper()
	offsets := make(map[string]uint64)
	var walk func(prefix string, base int64, s *dwarf.StructType)
	walk = func(prefix string, base int64, s *dwarf.StructType) {
		for _, field := range s.Field {
			fieldType := field.Type
			if named, ok := fieldType.(*dwarf.TypedefType); ok {
				fieldType = named.Type
			}
			offsets[prefix+field.Name] = uint64(base + field.ByteOffset)
			if inner, ok := fieldType.(*dwarf.StructType); ok {
				walk(prefix+field.Name+".", base+field.ByteOffset, inner)
			}
		}
	}
	reader := data.Reader()
	for {
		entry, err := reader.Next()
		if err != nil || entry == nil {
			t.Fatal(fmt.Errorf("%s is not in the debug information: %w", name, err))
		}
		if entryName, _ := entry.Val(dwarf.AttrName).(string); entry.Tag == dwarf.TagStructType && entryName == name {
			found, err := data.Type(entry.Offset)
			if err != nil {
				t.Fatal(err)
			}
			walk("", 0, found.(*dwarf.StructType))
			return offsets
		}
	}
}
