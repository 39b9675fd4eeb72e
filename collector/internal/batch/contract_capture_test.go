package batch

import (
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

// captureExample is a second around a stall of the node: two processes, one without user frames.
func captureExample(t *testing.T) []byte {
	t.Helper()
	store := openStore(t, t.TempDir())
	const start = firstTick * StepUS
	var heard []string
	store.OnTrigger(func(_ ResourceID, reason string, _ int64) { heard = append(heard, reason) })
	store.AppendTrigger(Node, "late_tick", start+900_000)
	if len(heard) != 1 || heard[0] != "late_tick" {
		t.Fatalf("heard of the triggers %v", heard)
	}
	store.AppendCapture(Node, &ingestpb.Capture{
		Resource: 77, Reason: "late_tick", StartUs: start, EndUs: start + 1_000_000, RateHz: 99,
		Strings: []string{"shrink_dentry_list", "prune_dcache_sb", "drop_slab", "write", "sh", "[libc.so.6+0x1a2b0]", "kworker/0:1", "process_one_work", "", "futex", "futex_do_wait", "openat"},
		Processes: []*ingestpb.CapturedProcess{
			{Pid: 4242, Command: 4, Cgroup: "/kubepods/burstable/pod1/container"}, {Pid: 17, Command: 6, Cgroup: "/"},
		},
		Stacks:   []*ingestpb.CapturedStack{{Kernel: []uint32{0, 1, 2}, User: []uint32{3, 5}}, {Kernel: []uint32{7}}},
		OffsetUs: []uint32{10_101, 10_102, 20_202}, Stack: []uint32{0, 1, 0}, Process: []uint32{0, 1, 0}, Cpu: []uint32{0, 1, 0},
		RowOffsetUs: []uint32{999_000, 999_000}, RowProcess: []uint32{0, 1}, RowUserUs: []uint32{10_000, 0},
		RowSystemUs: []uint32{980_000, 20_000}, RowThreads: []uint32{1, 1}, RowState: []uint32{'R', 'I'}, LostSamples: 2,
		WaitOffsetUs: []uint32{50_000, 50_000}, WaitProcess: []uint32{0, 0}, WaitThread: []uint32{4242, 4243}, WaitName: []uint32{4, 4},
		WaitState: []uint32{'D', 'S'}, WaitCall: []uint32{11, 9}, WaitPlace: []uint32{8, 10}, WaitStack: []uint32{1, 0},
	})
	sealed, err := store.Rotate(firstTick + 10)
	if err != nil {
		t.Fatal(err)
	}
	encoder := &Encoder{Version: "0.1.0"}
	encoded, empty := encoder.Encode(sealed, start+1_005_000, 0)
	if empty {
		t.Error("a batch with nothing but a capture is not empty")
	}
	return encoded
}
