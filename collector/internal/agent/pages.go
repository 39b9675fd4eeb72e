package agent

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// forgetStartup calls dropStartup while the collector settles.
func forgetStartup(ctx context.Context) {
	for _, after := range []time.Duration{300 * time.Millisecond, 700 * time.Millisecond, 2 * time.Second} {
		select {
		case <-ctx.Done():
			return
		case <-time.After(after):
			dropStartup()
		}
	}
}

// dropStartup returns memory that only startup needed: garbage, and the pages of the executable, most of which are
// mapped because the kernel maps sixteen around each one that is touched. Pages still in use come back on demand from
// the page cache. Only mappings without any private page are dropped, so nothing can be lost.
func dropStartup() {
	debug.FreeOSMemory()
	executable, err := os.Executable()
	if err != nil {
		return
	}
	for _, m := range fileMappings(executable) {
		// The raw call, because these addresses are kernel mappings and not Go memory. A failure costs only memory.
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_DONTNEED)
	}
}

type mapping struct{ start, end uintptr }

// fileMappings lists the read-only mappings of path that hold no private pages.
func fileMappings(path string) []mapping {
	file, err := os.Open("/proc/self/smaps")
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	var found []mapping
	var current mapping
	candidate := false
	scanner := bufio.NewScanner(file)
	for scanner.Scan() {
		line := scanner.Text()
		var start, end uintptr
		var permissions string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &start, &end, &permissions); n == 3 {
			current = mapping{start, end}
			candidate = permissions[0] == 'r' && permissions[1] == '-' && strings.HasSuffix(line, " "+path)
			continue
		}
		if rest, ok := strings.CutPrefix(line, "Anonymous:"); ok && candidate && strings.TrimSpace(rest) == "0 kB" {
			found = append(found, current)
			candidate = false
		}
	}
	return found
}
