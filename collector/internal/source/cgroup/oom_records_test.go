package cgroup

import (
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/oomlog"
)

func TestOOMRecordsAreClaimed(t *testing.T) {
	var r oomRecords
	add := func(pid int, cgroup string, atUS int64) { r.add(oomlog.Kill{PID: pid, Cgroup: cgroup}, atUS) }
	add(1, "/pod/a", 1000)
	add(2, "/pod/ab", 2000)
	add(3, "/other", 3000)
	add(4, "/pod/a", 9_000_000)
	for _, sample := range []struct {
		path    string
		below   bool // cgroup v2 counts descendants as well
		after   uint64
		sinceUS int64
		want    int
	}{
		{"/pod/a", true, 0, 0, 1}, {"/pod/a", false, 1, 0, 4}, {"/pod/a", true, 4, 0, 0}, {"/pod/a", false, 0, 5000, 4},
		{"/pod", true, 0, 0, 1}, {"/pod", true, 1, 0, 2}, {"/pod", false, 0, 0, 0}, {"/po", true, 0, 0, 0}, {"/other/deeper", true, 0, 0, 0},
	} {
		record, ok := r.find(sample.path, sample.below, sample.after, sample.sinceUS)
		r.claim(record.number)
		if ok != (sample.want != 0) || record.kill.PID != sample.want {
			t.Errorf("%+v: %d %v", sample, record.kill.PID, ok)
		}
	}
	none := func(string) bool { return false }
	if left := r.unclaimed(5000, func(path string) bool { return path == "/other" }); len(left) != 0 {
		t.Errorf("its cgroup is watched: %+v", left)
	}
	if left := r.unclaimed(5000, none); len(left) != 1 || left[0].kill.PID != 3 {
		t.Errorf("unclaimed: %+v", left)
	}
	if left := r.unclaimed(1<<60, none); len(left) != 0 {
		t.Errorf("told twice: %+v", left)
	}
	for pid := range 3 * oomRecordsKept {
		add(100+pid, "/flood", 10)
	}
	record, ok := r.find("/flood", false, 0, 0)
	if !ok || record.kill.PID != 100+2*oomRecordsKept {
		t.Errorf("the oldest that is kept: %d %v", record.kill.PID, ok)
	}
	r.claim(record.number)
	if left := r.unclaimed(1<<60, none); len(left) != oomRecordsKept-1 {
		t.Errorf("%d are left", len(left))
	}
}
