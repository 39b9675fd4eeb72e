package livetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

func anywhere(*ingestpb.Resource) bool { return true }

// node is the key of the node.
func (o *observer) node() (key string) {
	o.each(func(b *ingestpb.Batch) {
		for _, resource := range b.Resources {
			if resource.Kind == ingestpb.ResourceKind_RESOURCE_KIND_NODE {
				key = resource.Key
			}
		}
	})
	return key
}

// TestLoadsOfProgramsAreTold loads an eBPF program in this process.
func TestLoadsOfProgramsAreTold(t *testing.T) {
	t.Parallel()
	o := observe(t, "bpf_loads")
	o.needs("bpf_loads")
	time.Sleep(time.Second)
	_ = rlimit.RemoveMemlock()
	began := time.Now()
	program, err := ebpf.NewProgramWithOptions(&ebpf.ProgramSpec{
		Name: "told_by_perf", Type: ebpf.XDP, License: "Apache-2.0", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 2), asm.Return()},
	}, ebpf.ProgramOptions{LogDisabled: true})
	if err != nil {
		testenv.Skip(t, "needs the right to load programs: %v", err)
	}
	defer func() { _ = program.Close() }()
	told := func() *ingestpb.Event {
		for _, event := range o.eventsOf(catalogue.EventBpfLoad, anywhere) {
			if event.Attributes["name"] == "told_by_perf" {
				return event
			}
		}
		return nil
	}
	waitFor(t, "the load is told", func() bool { return told() != nil })
	event := told()
	if event.Attributes["pid"] != strconv.Itoa(os.Getpid()) || event.Attributes["command"] != "livetest.test" ||
		event.Attributes["type"] != "xdp" || event.Attributes["verified_instructions"] != "2" || event.Attributes["instructions"] == "" ||
		event.StartUs < began.UnixMicro() || event.DurationUs == 0 || event.DurationUs > 1_000_000 {
		t.Errorf("told %v", event)
	}
	from := began.Truncate(100 * time.Millisecond) // the start of its tick
	waitFor(t, "the load is counted", func() bool {
		return o.sum(o.node(), catalogue.BpfLoads, from) >= 1 && o.sum(o.node(), catalogue.BpfLoadUS, from) >= float64(event.DurationUs)
	})
}

// TestUnmountsAndMassExitsAreTold unmounts a file system and ends a process with many threads.
func TestUnmountsAndMassExitsAreTold(t *testing.T) {
	t.Parallel()
	o := observe(t, "process_exits,unmounts")
	o.needs("unmounts")
	o.needs("process_exits")
	target := filepath.Join(t.TempDir(), "mounted")
	if err := os.Mkdir(target, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("jitterscope-test", target, "tmpfs", 0, "size=1m"); err != nil {
		testenv.Skip(t, "needs the right to mount: %v", err)
	}
	time.Sleep(time.Second)
	began := time.Now()
	if err := unix.Unmount(target, 0); err != nil {
		t.Fatal(err)
	}
	const threads = 200
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), threadsVariable+"="+strconv.Itoa(threads))
	if err := command.Run(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the unmount is told", func() bool {
		for _, event := range o.eventsOf(catalogue.EventFsUnmount, anywhere) {
			if event.Attributes["target"] == target && event.Attributes["type"] == "tmpfs" && event.Attributes["last"] == "yes" {
				return event.StartUs >= began.UnixMicro()
			}
		}
		return false
	})
	waitFor(t, "the mass exit is told", func() bool {
		for _, event := range o.eventsOf(catalogue.EventProcessMassExit, anywhere) {
			ended, _ := strconv.Atoi(event.Attributes["threads"])
			if event.Attributes["pid"] == strconv.Itoa(command.Process.Pid) && ended >= threads && ended < threads+50 {
				return event.Attributes["command"] == "livetest.test"
			}
		}
		return false
	})
	from := began.Truncate(100 * time.Millisecond) // the start of its tick
	waitFor(t, "both are counted", func() bool {
		return o.sum(o.node(), catalogue.ThreadExits, from) >= threads && o.sum(o.node(), catalogue.Unmounts, from) >= 1
	})
}
