package switches

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

type run struct {
	*Switches
	started int
}

func open(directory string) *run {
	r := &run{}
	r.Switches = Open(directory, func() { r.started++ }, slog.New(slog.DiscardHandler))
	return r
}

func TestTheNextRunHasWhatWasHeard(t *testing.T) {
	directory := t.TempDir()
	first := open(directory)
	first.Heard("")
	if first.started != 0 || len(first.Off()) != 0 {
		t.Fatalf("nothing is off, and it started anew %d times", first.started)
	}
	first.Heard(" tcp_requests:read_kinds, dns_names,dns_names ,Bad;name,a:b:c,")
	first.Heard("dns_names,tcp_requests:read_kinds") // while it stops
	if first.started != 1 {
		t.Fatalf("started anew %d times", first.started)
	}
	second := open(directory)
	if want := []string{"dns_names", "tcp_requests:read_kinds"}; !slices.Equal(second.Off(), want) {
		t.Fatalf("off: %v", second.Off())
	}
	second.Heard("tcp_requests:read_kinds,dns_names")
	if second.started != 0 {
		t.Error("started anew for what is off already")
	}
}

func TestStartsAnewOnceAMinute(t *testing.T) {
	for title, test := range map[string]struct {
		ago  time.Duration
		want int
	}{"just now": {time.Second, 0}, "a minute ago": {2 * every, 1}, "by a clock that was set back": {-time.Hour, 1}} {
		directory := t.TempDir()
		open(directory).Heard("dns_names")
		next := open(directory)
		at := time.Now().Add(-test.ago)
		if err := os.Chtimes(filepath.Join(directory, fileName), at, at); err != nil {
			t.Fatal(err)
		}
		next.Heard("")
		if next.started != test.want {
			t.Errorf("%s: started anew %d times, not %d", title, next.started, test.want)
		}
		if again := open(directory); (len(again.Off()) == 0) != (test.want == 1) {
			t.Errorf("%s: off in the next run: %v", title, again.Off())
		}
	}
}

func TestGoesOnWhereItCannotBeNoted(t *testing.T) {
	missing := open(filepath.Join(t.TempDir(), "missing"))
	missing.Heard("dns_names")
	missing.Heard("dns_names")
	if missing.started != 0 || len(missing.Off()) != 0 {
		t.Error("it would start anew for ever")
	}
}

func TestTakesAFewNames(t *testing.T) {
	names := make([]string, 0, 2*most)
	for i := range 2 * most {
		names = append(names, "s_"+strings.Repeat("x", i%40)+string(rune('a'+i/40)))
	}
	if got := len(parse(strings.Join(names, ","))); got != most {
		t.Errorf("%d names", got)
	}
}
