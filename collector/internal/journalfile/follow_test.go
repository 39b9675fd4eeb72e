package journalfile

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/journaltest"
)

// TestFollow makes a real journald write short lines and long ones, which it compresses, and rotate its journal in
// between.
func TestFollow(t *testing.T) {
	run := journaltest.Start(t)
	socket, err := net.Dial("unixgram", run+"/systemd/journal/socket")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.Close() }()
	write := func(text string) {
		t.Helper()
		if _, err := socket.Write([]byte("MESSAGE=" + text + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	journals := func() []string {
		paths, _ := filepath.Glob(run + "/log/journal/*/*.journal")
		return paths
	}
	write("history")
	until(t, "a journal", func() bool { return len(journals()) > 0 })
	var mu sync.Mutex
	seen := map[string]int{}
	until(t, "the history", func() bool {
		one, err := open(journals()[0], true, new(atomic.Int64))
		if err != nil {
			return false
		}
		defer func() { _ = one.close() }()
		written := false
		_ = one.look(true, func(e Entry) { written = written || string(e.Message) == "history" })
		return written
	})
	follower := New([]string{run + "/log/journal"})
	defer follower.Close()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		done <- follower.Follow(ctx, func(e Entry) {
			mu.Lock()
			defer mu.Unlock()
			if e.PID == os.Getpid() && time.Since(e.At) < time.Minute {
				seen[string(e.Message)]++
			}
		})
	}()
	has := func(text string) func() bool {
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			return seen[text] == 1
		}
	}
	n := 0
	until(t, "the first line", func() bool {
		n++
		write(fmt.Sprint("begin ", n))
		mu.Lock()
		defer mu.Unlock()
		return len(seen) > 0
	})
	long := "I0225 pod_startup_latency_tracker.go:104] " + strings.Repeat("podStartE2EDuration=13.2s ", 60)
	write("one")
	write(long)
	write("bytes \xff\xfe")
	until(t, "a line", has("one"))
	until(t, "a compressed line", has(long))
	until(t, "bytes", has("bytes \xff\xfe"))

	before := len(journals())
	write("before it is put aside")
	pid := strings.Split(run, "/")[2]
	if out, err := exec.Command("nsenter", "--target", pid, "--mount", "journalctl", "--rotate").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	until(t, "another journal", func() bool { return len(journals()) > before })
	write("after it")
	until(t, "the old journal's last line", has("before it is put aside"))
	until(t, "the new journal's line", has("after it"))
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if has("history")() {
		t.Error("history was read")
	}
	for line, times := range seen {
		if times != 1 {
			t.Errorf("%.40q was seen %d times", line, times)
		}
	}
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 200 {
		if is() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("%s did not come", what)
}

func TestNoJournal(t *testing.T) {
	empty := t.TempDir()
	if err := New([]string{empty}).Follow(context.Background(), func(Entry) {}); !errors.Is(err, ErrAbsent) {
		t.Error(err)
	}
	// A file that is not a journal is ignored, and a truncated one is an error, never a crash.
	path := filepath.Join(empty, "system.journal")
	for _, text := range []string{"", "something else", "LPKSHHRH" + strings.Repeat("\xff", 300)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := open(path, true, new(atomic.Int64)); err == nil {
			t.Errorf("%.20q is a journal", text)
		}
	}
}

// TestLZ4: the block has literals, a match that overlaps itself, and literals; it is preceded by the length, as systemd
// writes it.
func TestLZ4(t *testing.T) {
	text := "MESSAGE=" + strings.Repeat("podStart ", 40)
	raw, err := hex.DecodeString("7001000000000000ff024d4553534147453d706f645374617274200900ff48507461727420")
	if err != nil {
		t.Fatal(err)
	}
	got, ok := lz4(raw, 1<<16)
	if !ok || string(got) != text {
		t.Errorf("%v %q", ok, got)
	}
	for cut := range raw {
		if got, ok := lz4(raw[:cut], 1<<16); ok {
			t.Errorf("cut at %d: %q", cut, got)
		}
	}
	if _, ok := lz4(raw, 100); ok {
		t.Error("longer than allowed")
	}
}
