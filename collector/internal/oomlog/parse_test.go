package oomlog

import (
	"strings"
	"testing"
)

// kills feeds lines as they are after "[time] " in dmesg.
func kills(text string) (found []Kill) {
	var parser Parser
	for line := range strings.Lines(text) {
		if kill, ok := parser.Line([]byte(strings.TrimSuffix(line, "\n"))); ok {
			found = append(found, kill)
		}
	}
	return found
}

func TestKills(t *testing.T) {
	for name, sample := range map[string]struct {
		text string
		want []Kill
	}{
		"Linux 6.18, cgroup v1": {
			`coredns invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0
 oom_kill_process.cold+0x8/0x8a
memory: usage 153600kB, limit 153600kB, failcnt 1096
[  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem pgtables_bytes swapents oom_score_adj name
[  26588]     0 26588   514883    48428    37632    10796         0   675840        0             0 coredns
oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/k5-26491,task_memcg=/k5-26491,task=coredns,pid=26588,uid=0
Memory cgroup out of memory: Killed process 26588 (coredns) total-vm:2059532kB, anon-rss:150528kB, file-rss:43184kB, shmem-rss:0kB, UID:0 pgtables:660kB oom_score_adj:0
`, []Kill{{
				PID: 26588, Command: "coredns", Constraint: "memcg", Cgroup: "/k5-26491", LimitCgroup: "/k5-26491", AnonBytes: 150528 << 10,
				FileBytes: 43184 << 10, TriggerCommand: "coredns",
			}},
		},
		"Linux 3.10": {
			`java invoked oom-killer: gfp_mask=0xd0, order=0, oom_score_adj=0
 [<ffffffffa2640cdc>] mem_cgroup_oom_synchronize+0x55c/0x590
Task in /kubepods/pod1/c1 killed as a result of limit of /kubepods/pod1
Memory cgroup stats for /kubepods/pod1: cache:0KB rss:0KB
Memory cgroup out of memory: Kill process 215701 (java) score 854 or sacrifice child
Killed process 215701, UID 679, (java) total-vm:11017300kB, anon-rss:7152432kB, file-rss:1232kB
`, []Kill{{
				PID: 215701, Command: "java", Constraint: "memcg", Cgroup: "/kubepods/pod1/c1", LimitCgroup: "/kubepods/pod1",
				AnonBytes: 7152432 << 10, FileBytes: 1232 << 10, ShmemBytes: -1, TriggerCommand: "java",
			}},
		},
		"a child is sacrificed, 4.15": {
			`dd invoked oom-killer: gfp_mask=0x14000c0(GFP_KERNEL), nodemask=(null), order=0, oom_score_adj=0
Task in /test killed as a result of limit of /test
Memory cgroup out of memory: Kill process 3861 (bash) score 88 or sacrifice child
Killed process 3876 (dd) total-vm:8484kB, anon-rss:1052kB, file-rss:1720kB, shmem-rss:0kB
oom_reaper: reaped process 3876 (dd), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB
`, []Kill{{
				PID: 3876, Command: "dd", Constraint: "memcg", Cgroup: "/test", LimitCgroup: "/test", AnonBytes: 1052 << 10, FileBytes: 1720 << 10,
				TriggerCommand: "dd",
			}},
		},
		"the whole node": {
			`ndm invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=1000
oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/kubepods/besteffort/pod9,task=a, pid=1,b,pid=17658,uid=0
Out of memory: Killed process 17658 (a, pid=1,b) total-vm:5443852kB, anon-rss:4024844kB, file-rss:0kB, shmem-rss:4kB, UID:0 pgtables:8000kB oom_score_adj:1000
Out of memory: Killed process 15925 ((resolved)) total-vm:168424kB, anon-rss:4064kB, file-rss:3584kB, shmem-rss:0kB
`, []Kill{
				{
					PID: 17658, Command: "a, pid=1,b", Constraint: "none", Cgroup: "/kubepods/besteffort/pod9", AnonBytes: 4024844 << 10,
					ShmemBytes: 4096, TriggerCommand: "ndm",
				},
				// The kernel leaves out all but one line if it kills many.
				{PID: 15925, Command: "(resolved)", Constraint: "none", AnonBytes: 4064 << 10, FileBytes: 3584 << 10},
			},
		},
		"memory.oom.group, and 5.0's wrong constraint": {
			`a.out invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0
oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/test1,task_memcg=/test1/x,task=a.out,pid=9188,uid=0
Memory cgroup out of memory: Killed process 9188 (a.out) total-vm:14456kB, anon-rss:10324kB, file-rss:504kB, shmem-rss:0kB
Tasks in /test1 are going to be killed due to memory.oom.group set
Memory cgroup out of memory: Killed process 9182 (sh) total-vm:43400kB, anon-rss:76kB, file-rss:588kB, shmem-rss:0kB
next invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0
Memory cgroup out of memory: Killed process 7 (next) total-vm:4kB, anon-rss:4kB, file-rss:0kB, shmem-rss:0kB
`, []Kill{
				{
					PID: 9188, Command: "a.out", Constraint: "memcg", Cgroup: "/test1/x", LimitCgroup: "/test1", AnonBytes: 10324 << 10, FileBytes: 504 << 10,
					TriggerCommand: "a.out",
				},
				{
					PID: 9182, Command: "sh", Constraint: "memcg", Cgroup: "/test1", LimitCgroup: "/test1", AnonBytes: 76 << 10, FileBytes: 588 << 10,
					TriggerCommand: "a.out",
				},
				{PID: 7, Command: "next", Constraint: "memcg", AnonBytes: 4096, TriggerCommand: "next"},
			},
		},
		"nothing": {"Killed process\nKilled process x (y)\nKilled process 5\nMemory cgroup out of memory: Killed process 99999999999999999999 (a)\n", nil},
	} {
		got := kills(sample.text)
		if len(got) != len(sample.want) {
			t.Errorf("%s: %+v", name, got)
			continue
		}
		for i := range got {
			if got[i] != sample.want[i] {
				t.Errorf("%s: %+v\nwant %+v", name, got[i], sample.want[i])
			}
		}
	}
}

func TestMessage(t *testing.T) {
	for record, want := range map[string]string{
		"6,339,5140900,-;text; more\n SUBSYSTEM=acpi\n DEVICE=+acpi:x\n": "text; more",
		"3,30574067,3816544225424,-;Killed process 5 (x)\n":              "Killed process 5 (x)",
		"14,1,1,-;Killed process 5 (a program wrote this)\n":             "",
		"no record": "",
	} {
		if got := string(message([]byte(record))); got != want {
			t.Errorf("%q: %q", record, got)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=/a,task_memcg=/a,task=x,pid=5,uid=0")
	f.Add("Memory cgroup out of memory: Killed process 26588 (coredns) total-vm:2059532kB, anon-rss:150528kB")
	f.Add("Tasks in /a are going to be killed due to memory.oom.group set")
	f.Fuzz(func(t *testing.T, text string) {
		for _, kill := range kills(text) {
			if kill.PID <= 0 {
				t.Errorf("%+v", kill)
			}
		}
	})
}
