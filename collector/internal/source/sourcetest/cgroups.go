package sourcetest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// GroupFiles are the files of one cgroup as a kernel writes them.
var GroupFiles = map[int]map[string]map[string]string{
	1: {
		"cpu": {
			"cpu.stat": "nr_periods 12\nnr_throttled 3\nthrottled_time 123456789\nnr_bursts 0\nburst_time 0\n", "cpu.stat.local": "throttled_time 1000000\n",
			"cpu.cfs_quota_us": "50000\n", "cpu.cfs_period_us": "100000\n", "cpu.cfs_burst_us": "0\n", "cpu.shares": "2\n",
			"cgroup.procs": "",
		},
		"cpuacct": {"cpuacct.usage": "123456789\n", "cpuacct.stat": "user 12\nsystem 3\n", "cgroup.procs": ""},
		"memory": {
			"memory.usage_in_bytes": "9076736\n", "memory.failcnt": "0\n", "memory.limit_in_bytes": "9223372036854771712\n", "cgroup.procs": "",
			"memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n", "memory.kmem.usage_in_bytes": "4096\n", "memory.stat": "cache 1\nrss 2\ntotal_cache 3\ntotal_rss 4\ntotal_pgmajfault 5\n",
		},
		"pids": {"pids.current": "7\n", "cgroup.procs": ""},
	},
	2: {"": {
		"cpu.stat":       "usage_usec 100\nuser_usec 60\nsystem_usec 40\nnr_periods 12\nnr_throttled 3\nthrottled_usec 123456\nnr_bursts 0\nburst_usec 0\n",
		"cpu.stat.local": "throttled_usec 1000\n", "cpu.max": "50000 100000\n", "cpu.max.burst": "0\n", "cpu.weight": "39\n",
		"memory.current": "9076736\n", "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n", "memory.max": "max\n",
		"memory.stat": "anon 4\nfile 3\npgmajfault 5\n", "pids.current": "7\n", "cgroup.procs": "",
		"cpu.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n",
		"io.pressure":  "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n",
	}},
}

// CgroupTree writes a cgroup file system with count cgroups.
func CgroupTree(t testing.TB, version, count int) string {
	t.Helper()
	root := t.TempDir()
	for controller, files := range GroupFiles[version] {
		for i := -1; i < count; i++ {
			directory := filepath.Join(root, controller)
			if i >= 0 {
				directory = filepath.Join(directory, fmt.Sprintf("group%03d", i))
			}
			if err := os.MkdirAll(directory, 0o755); err != nil {
				t.Fatal(err)
			}
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if version == 2 {
		if err := os.WriteFile(filepath.Join(root, "cgroup.controllers"), []byte("cpu memory pids\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}
