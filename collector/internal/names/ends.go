package names

import (
	"strings"
	"sync"
	"time"
)

// End is how a container of a pod ended, according to the kubelet. A restarted container is a new one, with its own ID.
type End struct {
	ID       string
	Reason   string // "OOMKilled", "Error", "Completed"
	ExitCode int
	AtUS     int64 // whole seconds
	Restarts int   // current count for the pod's container
}

// Ends are the ends in the kubelet's latest answer.
type Ends struct {
	mu   sync.Mutex
	byID map[string]End
}

// Put replaces the previous ends.
func (e *Ends) Put(ends []End) {
	byID := make(map[string]End, len(ends))
	for _, end := range ends {
		byID[end.ID] = end
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.byID = byID
}

// Of returns the end of a container.
func (e *Ends) Of(containerID string) (End, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	end, ok := e.byID[containerID]
	return end, ok
}

// terminated holds the used fields of a v1.ContainerStateTerminated.
type terminated struct {
	ContainerID, Reason string
	ExitCode            int
	FinishedAt          time.Time
}

func (t *terminated) end(restarts int) End {
	if t == nil {
		return End{}
	}
	_, id, _ := strings.Cut(t.ContainerID, "://")
	return End{ID: id, Reason: t.Reason, ExitCode: t.ExitCode, AtUS: t.FinishedAt.UnixMicro(), Restarts: restarts}
}
