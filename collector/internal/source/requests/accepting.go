package requests

import (
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/listening"
	"github.com/jitterscope/jitterscope/collector/internal/netns"
)

// limitsEvery is how often net.core.somaxconn of a namespace is read again.
const limitsEvery = 15 * time.Second

// accepting is the listening sockets of a server: how many connections can wait there, and how many they dropped.
type accepting struct {
	namespace uint64
	listeners int
	limit     uint32 // the lowest of them
	known     bool
	drops     map[uint64]uint32 // by inode, last reading
	seen      map[uint64]uint32
}

// begin starts a scan.
func (a *accepting) begin() {
	a.drops, a.seen = a.seen, make(map[uint64]uint32, a.listeners)
	a.listeners, a.known = 0, false
}

// add adds a socket of the scan, and returns how many connection attempts it dropped since the last one. Drops from
// before it was found belong to an unknown time.
func (a *accepting) add(socket listening.Socket) (fresh uint32) {
	a.namespace = socket.Namespace
	a.listeners++
	queue := socket.Queue
	if !queue.Known {
		return 0
	}
	if !a.known || queue.Limit < a.limit {
		a.limit, a.known = queue.Limit, true
	}
	if a.seen == nil {
		a.seen = make(map[uint64]uint32)
	}
	a.seen[queue.Inode] = queue.Drops
	if before, ok := a.drops[queue.Inode]; ok {
		return queue.Drops - before
	}
	return 0
}

// describeQueue records facts about a server that listens. Called with mu held.
func (m *manager) describeQueue(s *server) {
	m.registry.Fact(s.resource, catalogue.FactTcpListeners, strconv.Itoa(s.accepting.listeners))
	m.registry.Fact(s.resource, catalogue.FactTcpTimedOneIn, strconv.Itoa(m.tracker.TimedOneIn(s.Server)))
	if !s.accepting.known {
		return
	}
	m.registry.Fact(s.resource, catalogue.FactTcpAcceptLimit, strconv.FormatUint(uint64(s.accepting.limit), 10))
	if most := m.limits.of(s.accepting.namespace, s.process.PID); most != "" {
		m.registry.Fact(s.resource, catalogue.FactTcpSomaxconn, most)
	}
}

// backlogLimits is net.core.somaxconn by network namespace.
type backlogLimits struct {
	proc  string
	own   uint64
	known map[uint64]backlogLimit
}

type backlogLimit struct {
	value string
	at    time.Time
}

func newBacklogLimits(proc string) *backlogLimits {
	own, _ := netns.ID(proc, "self")
	return &backlogLimits{proc: proc, own: own, known: make(map[uint64]backlogLimit)}
}

// of returns the limit of a namespace that a process is in; empty if it cannot be read.
func (l *backlogLimits) of(namespace uint64, pid int) string {
	if known, ok := l.known[namespace]; ok && time.Since(known.at) < limitsEvery {
		return known.value
	}
	for inode, known := range l.known {
		if time.Since(known.at) > 4*limitsEvery {
			delete(l.known, inode) // there are no listeners left
		}
	}
	value := ""
	read := func() error {
		text, err := os.ReadFile("/proc/sys/net/core/somaxconn") // of the namespace of the thread that reads
		value = strings.TrimSpace(string(text))
		return err
	}
	err := error(nil)
	if namespace == l.own {
		err = read()
	} else {
		err = netns.Do(l.proc, pid, read)
	}
	if err != nil {
		value = ""
	}
	l.known[namespace] = backlogLimit{value, time.Now()}
	return value
}
