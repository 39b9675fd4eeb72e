package dns

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/dnslog"
)

// containerFile is a log as a container runtime writes it.
type containerFile struct {
	t    *testing.T
	path string
}

func (c *containerFile) write(lines int, at time.Time, text string) {
	c.t.Helper()
	file, err := os.OpenFile(c.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for range lines {
		if _, err := fmt.Fprintf(file, "%s stdout F %s\n", at.Format(time.RFC3339Nano), text); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *containerFile) targets() []dnslog.Target {
	id, err := dnslog.Identify(c.path)
	if err != nil {
		return nil
	}
	return []dnslog.Target{{ID: id, Path: c.path, Container: true}}
}

// TestLogIsRotated has the kubelet rotate a log while errors are written.
func TestLogIsRotated(t *testing.T) {
	const line = "[ERROR] plugin/errors: 2 a.example. A: dial tcp 192.0.2.1:53: i/o timeout"
	file := &containerFile{t, filepath.Join(t.TempDir(), "0.log")}
	log := &serverLog{}
	defer log.close()
	buffer := make([]byte, 32<<10)
	now := time.Now()
	file.write(3, now, line) // history
	if err := log.follow(file.targets()); err != nil {
		t.Fatal(err)
	}
	log.read(buffer)
	first := now.Add(-20 * time.Second)
	file.write(5, first, line)
	log.read(buffer)
	file.write(7, now, line)
	if err := os.Rename(file.path, file.path+".20231010-080236"); err != nil {
		t.Fatal(err)
	}
	file.write(11, now, line)
	file.write(2, now, "[ERROR] plugin/errors: 2 a.example. A: dial tcp 192.0.2.1:53: connect: connection refused")
	if err := log.follow(file.targets()); err != nil {
		t.Fatal(err)
	}
	log.read(buffer)
	log.read(buffer)
	group := &log.groups[dnslog.IOTimeout]
	if group.count != 5+7+11 || !group.first.Equal(first) || group.last.Sub(now).Abs() > time.Millisecond || len(log.files) != 1 {
		t.Errorf("%d errors from %v to %v, %d files", group.count, group.first, group.last, len(log.files))
	}
	if refused := &log.groups[dnslog.ConnectionRefused]; refused.count != 2 {
		t.Errorf("%d of another kind", refused.count)
	}
	attributes := group.attributes(dnslog.IOTimeout)
	for name, want := range map[string]string{
		"kind": "io_timeout", "count": "23", "upstream": "192.0.2.1:53", "name": "a.example.", "line": line,
	} {
		if attributes[name] != want {
			t.Errorf("%s is %q", name, attributes[name])
		}
	}
}

// TestTimeOfALine doubts clocks that are far off, because the backend rejects what is too old.
func TestTimeOfALine(t *testing.T) {
	for _, at := range []time.Time{{}, time.Now().Add(-24 * time.Hour), time.Now().Add(time.Hour)} {
		log := &serverLog{}
		log.take([]byte("[ERROR] x"), at)
		if off := time.Since(log.groups[dnslog.Other].first); off < 0 || off > time.Second {
			t.Errorf("%v became %v ago", at, off)
		}
	}
}
