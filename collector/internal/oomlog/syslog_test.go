package oomlog

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

const syslogText = `<4>[39121.810988] coredns invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0
<6>[39121.811588] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/a,task_memcg=/a/b,task=coredns,pid=26588,uid=0
<14>[39121.811600] Memory cgroup out of memory: Killed process 1 (a program wrote this)
<3>[39121.811623] Memory cgroup out of memory: Killed process 26588 (coredns) total-vm:2059532kB, anon-rss:150528kB, file-rss:43184kB, shmem-rss:0kB
`

func TestBufferIsReadOnce(t *testing.T) {
	var b Buffer
	var got []Kill
	collect := func(kill Kill) { got = append(got, kill) }
	b.add([]byte(syslogText), collect)
	b.add([]byte(syslogText), collect)
	if len(got) != 1 || got[0].PID != 26588 || got[0].Cgroup != "/a/b" || got[0].TriggerCommand != "coredns" {
		t.Fatalf("%+v", got)
	}
	more := "cut off] line\n" + syslogText[100:] +
		"<3>[   39122.000001][ T9185] Out of memory: Killed process 7 ([x] y) total-vm:1kB, anon-rss:1kB, file-rss:0kB\nno line\n"
	b.add([]byte(more), collect)
	if len(got) != 2 || got[1].PID != 7 || got[1].Command != "[x] y" || got[1].Constraint != "none" {
		t.Errorf("%+v", got)
	}
}

func TestThisKernelsBuffer(t *testing.T) {
	b, err := OpenBuffer()
	if errors.Is(err, unix.EPERM) || errors.Is(err, errNoTimes) {
		testenv.Skip(t, "the kernel's log: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if b.last == 0 {
		t.Error("no line has a time")
	}
	if err := b.Poll(func(Kill) {}); err != nil {
		t.Error(err)
	}
}

func FuzzBuffer(f *testing.F) {
	f.Add(syslogText)
	f.Fuzz(func(_ *testing.T, text string) {
		var b Buffer
		b.add([]byte(text), func(Kill) {})
	})
}
