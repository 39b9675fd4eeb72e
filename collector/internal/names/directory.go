package names

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// Container is what a directory knows of a container or, with an empty ID, of a pod.
type Container struct {
	ID        string
	PodUID    string
	Namespace string
	Pod       string
	Name      string
	Owner     string // "Deployment/coredns"
	Image     string
	Objective string // the pod's annotation ObjectiveAnnotation
	Sandbox   bool   // the pod's sandbox
}

// ObjectiveAnnotation is the only annotation of pods that is read: a latency objective, "p99<50ms".
const ObjectiveAnnotation = "jitterscope.io/objective"

// maxObjectiveBytes is more than any objective takes.
const maxObjectiveBytes = 64

// objective reads it from a pod's annotations. What is too long is cut: it is no objective, and the service says so.
func objective(annotations map[string]string) string {
	value := strings.TrimSpace(strings.ToValidUTF8(annotations[ObjectiveAnnotation], ""))
	if len(value) > maxObjectiveBytes {
		value = strings.ToValidUTF8(value[:maxObjectiveBytes], "")
	}
	return value
}

// Directory is somebody who can be asked for all containers of this node.
type Directory interface {
	// Name says who it is, for the log and the UI: "kubelet at http://127.0.0.1:10255".
	Name() string
	List(ctx context.Context) ([]Container, error)
}

// ErrAbsent is returned by List where there is nobody to ask, which is no fault.
var ErrAbsent = errors.New("not present")

// Longest answer that is read, and how long to wait for it.
const (
	maxAnswerBytes = 64 << 20
	answerTimeout  = 5 * time.Second
)

// overSocket is a transport to a Unix socket.
func overSocket(socket string) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
		DisableKeepAlives: true, // asked once a minute: a connection is not worth its memory
	}
}

// isSocket tells whether somebody may listen at path.
func isSocket(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&os.ModeSocket != 0
}
