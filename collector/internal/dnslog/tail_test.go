package dnslog

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// lineFile is a log that a test writes.
type lineFile struct {
	t    *testing.T
	path string
	tail *Tail
}

func newLineFile(t *testing.T, before string) *lineFile {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.log")
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	tail, err := OpenTail(path, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tail.Close)
	return &lineFile{t, path, tail}
}

func (l *lineFile) write(text string) {
	l.t.Helper()
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if _, err := file.WriteString(text); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lineFile) read() (got []string) {
	l.t.Helper()
	err := l.tail.Read(make([]byte, chunkBytes), func(line []byte, written time.Time) {
		got = append(got, string(line))
		if time.Since(written) > time.Minute || time.Since(written) < -time.Second {
			l.t.Errorf("written at %v", written)
		}
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return got
}

func TestTail(t *testing.T) {
	l := newLineFile(t, "history\nhalf a li")
	l.write("ne\none\r\n\ntw")
	if got := l.read(); !slices.Equal(got, []string{"ne", "one"}) {
		t.Errorf("%q", got)
	}
	l.write("o\n")
	if got := l.read(); !slices.Equal(got, []string{"two"}) {
		t.Errorf("%q", got)
	}
	if err := os.Truncate(l.path, 0); err != nil {
		t.Fatal(err)
	}
	l.write("new\n")
	if got := l.read(); !slices.Equal(got, []string{"new"}) {
		t.Errorf("after copytruncate: %q", got)
	}
}

func TestLongLineIsCut(t *testing.T) {
	l := newLineFile(t, "")
	l.write("[ERROR] " + strings.Repeat("x", 100_000))
	if got := l.read(); got != nil {
		t.Errorf("%d lines of none", len(got))
	}
	l.write("\nafter\n")
	got := l.read()
	if len(got) != 2 || len(got[0]) != maxLineBytes || !strings.HasPrefix(got[0], "[ERROR] x") || got[1] != "after" {
		t.Errorf("%d lines", len(got))
	}
	if cap(l.tail.partial) > 2*maxLineBytes {
		t.Errorf("%d bytes are kept", cap(l.tail.partial))
	}
}

func TestFloodIsSkipped(t *testing.T) {
	l := newLineFile(t, "")
	var flood strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&flood, "[ERROR] line %d\n", i)
	}
	l.write(flood.String())
	got := l.read()
	if last := got[len(got)-1]; last != "[ERROR] line 39999" || l.tail.Skipped != uint64(flood.Len()-maxReading) {
		t.Errorf("last %q, %d bytes skipped", last, l.tail.Skipped)
	}
	for i, line := range got {
		if want := fmt.Sprintf("[ERROR] line %d", 40_000-len(got)+i); line != want {
			t.Fatalf("line %q instead of %q", line, want)
		}
	}
}

func TestNotAFile(t *testing.T) {
	if _, err := OpenTail("/dev/null", false); err == nil {
		t.Error("a device is a log")
	}
	if _, err := Identify("/dev/null"); err == nil {
		t.Error("a device is a file")
	}
}
