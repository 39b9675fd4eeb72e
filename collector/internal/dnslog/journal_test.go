package dnslog

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/journaltest"
)

// writer writes to the journal as a program with its own pid.
type writer struct {
	t      *testing.T
	socket net.Conn
}

func (w *writer) write(text string) {
	w.t.Helper()
	message := "MESSAGE=" + text + "\n"
	if strings.ContainsAny(text, "\n") {
		w.t.Fatal("not in this format")
	}
	if _, err := w.socket.Write([]byte(message)); err != nil {
		w.t.Fatal(err)
	}
}

// collected are the lines that a Journal visited.
type collected struct {
	mu    sync.Mutex
	lines map[string]int
}

func (c *collected) visit(line []byte, at time.Time, pid int, _ string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if pid == os.Getpid() && time.Since(at) < time.Minute {
		c.lines[string(line)]++
	}
}

func (c *collected) has(line string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lines[line] == 1
}

func TestJournal(t *testing.T) {
	run := journaltest.Start(t)
	socket, err := net.Dial("unixgram", run+"/systemd/journal/socket")
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{t, socket}
	defer func() { _ = socket.Close() }()
	w.write("history")
	got := &collected{lines: make(map[string]int)}
	journal := Journal{Directory: run + "/log/journal", Visit: got.visit}
	defer journal.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	follow := func(pids ...int) {
		t.Helper()
		if err := journal.Follow(ctx, []string{"no-such-unit.service"}, pids); err != nil {
			t.Fatal(err)
		}
	}
	wait := func(line string) {
		t.Helper()
		for range 100 {
			if got.has(line) {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Errorf("%q was not seen once", line)
	}
	follow(os.Getpid())
	for i := 0; !got.has(fmt.Sprint("begin ", i-1)) && i < 200; i++ { // until journalctl follows
		w.write(fmt.Sprint("begin ", i))
		time.Sleep(50 * time.Millisecond)
	}
	w.write("[ERROR] one")
	w.write("[ERROR] bytes \xff\xfe")
	w.write("[ERROR] long " + strings.Repeat("x", 100_000))
	w.write("[ERROR] two")
	wait("[ERROR] one")
	wait("[ERROR] two")
	wait("[ERROR] bytes \xff\xfe")

	follow(os.Getpid(), 1) // restarts journalctl
	w.write("[ERROR] while it began anew")
	wait("[ERROR] while it began anew")
	if children := journalctls(t); len(children) != 1 {
		t.Fatalf("%d journalctls run", len(children))
	} else if err := syscall.Kill(children[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.write("[ERROR] while none ran")
	for range 100 { // the collector looks every few seconds
		if err := journal.Follow(ctx, []string{"no-such-unit.service"}, []int{os.Getpid(), 1}); err == nil && got.has("[ERROR] while none ran") {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	wait("[ERROR] while none ran")
	if got.has("history") {
		t.Error("history was read")
	}
	journal.Close()
	if children := journalctls(t); len(children) != 0 {
		t.Errorf("journalctl %v still runs", children)
	}
}

// journalctls lists the children of this process that are journalctl.
func journalctls(t *testing.T) (pids []int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if err != nil {
			continue
		}
		var pid, parent int
		var state string
		if n, _ := fmt.Sscanf(string(text), "%d (journalctl) %s %d", &pid, &state, &parent); n == 3 && parent == os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}
