package agent

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestSysmonIsCalm checks what the thread identified as the monitor does while this one works: it sleeps in
// nanosleep(2), as no other thread of a Go program does for more than a moment.
func TestSysmonIsCalm(t *testing.T) {
	needsNice(t)
	calmSysmon()
	thread := "/proc/" + sysmonThread()
	slack, err := os.ReadFile(thread + "/timerslack_ns")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(slack)); got != "1000000" {
		t.Errorf("its timer slack is %s ns", got)
	}
	looked, asleep := 0, 0
	for start := time.Now(); time.Since(start) < 300*time.Millisecond; looked++ {
		call, err := os.ReadFile(thread + "/syscall")
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(string(call), strconv.Itoa(unix.SYS_NANOSLEEP)+" ") {
			asleep++
		}
	}
	if asleep < looked/2 {
		t.Errorf("of %d looks it was in nanosleep %d times", looked, asleep)
	}
}
