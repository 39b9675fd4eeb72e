package lookups

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPattern(t *testing.T) {
	long := "/" + strings.Repeat("folder/", 30) + "name.so"
	for path, want := range map[string]string{
		"/etc/pki/nssdb/.12345678_dOeSnotExist_.db":            "/etc/pki/nssdb/.#_dOeSnotExist_.db",
		"/lib/x86_64-linux-gnu/libssl.so.3":                    "/lib/x#_#-linux-gnu/libssl.so.#",
		"/var/lib/docker/overlay2/3af9c0de11bb42aa9e/merged/a": "/var/lib/docker/overlay#/%/merged/a",
		"/x/b2c1f3de-04ab-4c11-9d3e-0123456789ab.sock":         "/x/%-%-%-%-%.sock",
		"/tmp/tmp.Xa3kQ9zL2b":                                  "/tmp/tmp.%",
		"face/decade":                                          "face/decade",
		"/proc/4711/task/4712/stat":                            "/proc/#/task/#/stat",
		"caf\xc3\xa9\x01":                                      "caf???",
		"":                                                     "",
		long:                                                   "/folder/folder/folder/folder/folder/folder/fol.../folder/folder/folder/folder/folder/name.so",
	} {
		got := string(AppendPattern(nil, []byte(path), false))
		if path == long {
			if len(got) != PatternBytes || !strings.HasPrefix(got, "/folder/folder/") || !strings.HasSuffix(got, "/name.so") ||
				!strings.Contains(got, "...") {
				t.Errorf("%q becomes %q", path, got)
			}
			continue
		}
		if got != want {
			t.Errorf("%q becomes %q, want %q", path, got, want)
		}
	}
	if got := string(AppendPattern(nil, []byte("/a/b"), true)); got != "/a/b..." {
		t.Errorf("a path that was cut becomes %q", got)
	}
}

func FuzzPattern(f *testing.F) {
	f.Add([]byte("/etc/pki/nssdb/.12345678_dOeSnotExist_.db"), true)
	f.Add([]byte(strings.Repeat("a1B", 60)), false)
	f.Fuzz(func(t *testing.T, path []byte, cut bool) {
		prefix := []byte("before")
		pattern := AppendPattern(prefix, path, cut)[len(prefix):]
		if len(pattern) > PatternBytes {
			t.Fatalf("%q has %d bytes", pattern, len(pattern))
		}
		var rows [][4]any
		text := Encode([]Row{{Command: string(path), Pattern: string(pattern), Count: 3}}, 4096)
		if err := json.Unmarshal([]byte(text), &rows); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	})
}

func add(table *Table, count int, cgroup uint64, command string, pid uint32, path func(i int) string) {
	for i := range count {
		table.Add(&Lookup{Cgroup: cgroup, PID: pid, Weight: 1, Command: []byte(command), Path: []byte(path(i))})
	}
}

func nowhere(uint64, float64) {}

func TestRowsNameProcessAndPattern(t *testing.T) {
	table := NewTable()
	add(table, 900, 7, "certutil", 100, func(i int) string { return fmt.Sprintf("/db/.%d_dOeSnotExist_.db", i) })
	add(table, 90, 8, "python3", 200, func(i int) string { return fmt.Sprintf("/usr/lib/python3/mod%d.so", i%3) })
	byGroup := map[uint64]float64{}
	table.EndTick(9_900, func(cgroup uint64, count float64) { byGroup[cgroup] += count }) // one in ten was sampled
	rows := table.Rows()
	if len(rows) != 2 || rows[0] != (Row{7, "certutil", 100, "/db/.#_dOeSnotExist_.db", 9_000}) ||
		rows[1] != (Row{8, "python3", 200, "/usr/lib/python#/mod#.so", 900}) {
		t.Errorf("rows %+v", rows)
	}
	if byGroup[7] != 9_000 || byGroup[8] != 900 {
		t.Errorf("by cgroup %v", byGroup)
	}
	// Short-lived processes, one after another.
	for pid := range uint32(50) {
		add(table, 10, 7, "certutil", 1000+pid, func(i int) string { return fmt.Sprintf("/db/.%d_dOeSnotExist_.db", i) })
		table.EndTick(10, nowhere)
	}
	rows = table.Rows()
	if rows[0].PID != 100 || rows[0].Count != 9_000 || rows[2].PID != 0 || rows[2].Count != 500 || len(rows) != 3 {
		t.Errorf("after many processes: %+v", rows)
	}
	taken := NewTable()
	table.Take(taken)
	if len(table.Rows()) != 0 || len(taken.Rows()) != 3 {
		t.Errorf("taken %v, left %v", taken.Rows(), table.Rows())
	}
}

// TestRandomNamesAreToldByFolder has names that no pattern covers, far more of them than rows, besides a steady one.
func TestRandomNamesAreToldByFolder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func(int) string {
		name := make([]byte, 12)
		for i := range name {
			name[i] = 'g' + byte(random.IntN(20))
		}
		return "/cache/" + string(name)
	}
	table := NewTable()
	total := 0.0
	for range 200 {
		add(table, 90, 1, "builder", 5, word)
		add(table, 10, 2, "steady", 6, func(i int) string { return "/etc/app/settings.json" })
		table.EndTick(100, func(_ uint64, count float64) { total += count })
	}
	rows := table.Rows()
	if len(rows) < 2 || rows[0].Command != "builder" || rows[0].Pattern != "/cache/*" || rows[0].PID != 5 ||
		float64(rows[0].Count) < 0.8*200*90 {
		t.Errorf("rows %+v", rows[:min(len(rows), 5)])
	}
	at := -1
	for i, row := range rows {
		if row.Command == "steady" {
			at = i
		}
	}
	if at < 0 || rows[at].Count != 2_000 {
		t.Errorf("the steady one: %+v", rows)
	}
}

func TestTableDoesNotAllocate(t *testing.T) {
	table := NewTable()
	paths := make([][]byte, 4096)
	for i := range paths {
		paths[i] = []byte(fmt.Sprintf("/a/%c%c/name%c", 'a'+i%26, 'a'+i/26%26, 'a'+i%23))
	}
	i := 0
	lookup := &Lookup{Weight: 16, Command: []byte("some")}
	if n := testing.AllocsPerRun(5000, func() {
		i++
		lookup.Path, lookup.PID, lookup.Cgroup = paths[i%len(paths)], uint32(i%9), uint64(i%5)
		table.Add(lookup)
		table.EndTick(40, nowhere)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// drive feeds a growth and lists the seconds in which tracing was wanted.
func drive(g *Growth, seconds int, negative func(second float64) float64) []bool {
	wanted := make([]bool, seconds)
	for tick := range seconds * 10 {
		at := float64(tick+1) / 10
		if g.Add(1_000_000_000_000_000+int64(tick+1)*100_000, negative(at)) {
			wanted[tick/10] = true
		}
	}
	return wanted
}

func TestGrowth(t *testing.T) {
	none := drive(&Growth{}, 100, func(s float64) float64 { return 2_000_000 + 20*s })
	for second, on := range none {
		if on {
			t.Fatalf("a quiet box is traced in second %d", second)
		}
	}
	// A storm of 20 s, 10,000 names/s.
	storm := drive(&Growth{}, 60, func(s float64) float64 { return 5_000 + 10_000*min(max(s-10, 0), 20) })
	if storm[9] || !storm[10] || !storm[14] || storm[45] {
		t.Errorf("storm from 10 to 30 s: %v", storm)
	}
	// 300 names/s: seen within ten seconds or so.
	slow := drive(&Growth{}, 80, func(s float64) float64 { return 300 * min(max(s-10, 0), 30) })
	if !slow[22] || !slow[24] || slow[60] {
		t.Errorf("slow storm from 10 to 40 s: %v", slow)
	}
	// A library that looks up 20,000 names at each start and removes the folder, every 6 s.
	spikes := drive(&Growth{}, 70, func(s float64) float64 {
		if since := s - float64(int(s/6))*6; s < 40 && since > 0.05 && since <= 0.15 {
			return 21_000
		}
		return 1_000
	})
	if !spikes[7] || !slices.Contains(spikes[12:20], true) || !slices.Contains(spikes[30:40], true) || spikes[55] {
		t.Errorf("spikes: %v", spikes)
	}
	// The same only every 45 s, and over before tracing begins: one of the first few is seen.
	rare, caught, before := &Growth{}, 0, false
	for tick := range 400 * 10 {
		negative := 1_000.0
		if tick%450 == 449 {
			negative = 21_000
			if before { // tracing was already on
				rare.Saw(20_000)
				caught++
			}
		}
		before = rare.Add(1_000_000_000_000_000+int64(tick+1)*100_000, negative)
	}
	if caught == 0 || caught > 4 {
		t.Errorf("of rare spikes %d were seen", caught)
	}
	// A storm that never ends is traced in part.
	endless := drive(&Growth{}, 330, func(s float64) float64 { return 1_000 * s })
	on := 0
	for _, wanted := range endless[30:] {
		if wanted {
			on++
		}
	}
	if share := TracedShare(time.Hour); share > 0.1 {
		t.Errorf("of an hour %.0f %% are traced", 100*share)
	}
	if share := TracedShare(time.Minute); share < 0.3 || share > 0.45 {
		t.Errorf("of a minute %.0f %% are traced", 100*share)
	}
	if on < 90 || on > 150 { // seconds touched
		t.Errorf("an endless storm is traced in %d of 300 seconds", on)
	}
}
