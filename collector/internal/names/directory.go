package names

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/procroot"
)

// Container is what a directory knows about a container or, with an empty ID, about a pod.
type Container struct {
	ID        string
	PodUID    string
	Namespace string
	Pod       string
	Name      string
	Owner     string // "Deployment/coredns"
	Created   string // when its pod was, RFC 3339
	Image     string
	Said      Said
	Sandbox   bool   // the pod's sandbox
	Ends      [2]End // of its previous start, and its own; without an ID: none
	Requests  Requests
	Evicted   Eviction    // of a pod, with an empty ID; without a reason: none
	Selected  *Selectable // its pod's; nil: not known
}

// Selectable is what Services find a pod and its ports by. It stays on the node.
type Selectable struct {
	Labels map[string]string
	Ports  map[Port]uint16
}

// Port is the name of a port of a pod.
type Port struct{ Protocol, Name string }

// Said is what a pod or a Docker container declares about itself: no other label or annotation leaves the node.
type Said struct {
	Objective string // ObjectiveAnnotation
	Version   string // versionLabel
	Chart     string // chartLabel
	PartOf    string // partOfLabel
	Restarted string // restartedAnnotation
	Revision  string // of its pod template: one of revisionLabels
}

// ObjectiveAnnotation holds a latency objective, "p99<50ms".
const ObjectiveAnnotation = "jitterscope.io/objective"

// revisionLabels hold a hash of the pod template: of Deployments, Argo Rollouts, and StatefulSets and DaemonSets.
var revisionLabels = []string{"pod-template-hash", "rollouts-pod-template-hash", "controller-revision-hash"}

const (
	versionLabel        = "app.kubernetes.io/version"
	chartLabel          = "helm.sh/chart"
	partOfLabel         = "app.kubernetes.io/part-of"
	restartedAnnotation = "kubectl.kubernetes.io/restartedAt" // by `kubectl rollout restart`
)

// maxSaidBytes is the longest label, and more than any objective or time takes.
const maxSaidBytes = 64

// saidBy reads what a pod's labels and annotations declare.
func saidBy(labels, annotations map[string]string) Said {
	revision := ""
	for _, label := range revisionLabels {
		revision = cmp.Or(revision, labels[label])
	}
	return Said{
		Revision: bounded(revision), Objective: bounded(annotations[ObjectiveAnnotation]), Version: bounded(labels[versionLabel]),
		Chart: bounded(labels[chartLabel]), PartOf: bounded(labels[partOfLabel]), Restarted: bounded(annotations[restartedAnnotation]),
	}
}

// bounded truncates what is too long: it is then not a valid objective, and the service reports that.
func bounded(value string) string {
	value = strings.TrimSpace(strings.ToValidUTF8(value, ""))
	if len(value) > maxSaidBytes {
		value = strings.ToValidUTF8(value[:maxSaidBytes], "")
	}
	return value
}

// Directory is a service that can list all containers of this node.
type Directory interface {
	// Name identifies it in the log and the UI: "kubelet at http://127.0.0.1:10255".
	Name() string
	List(ctx context.Context) ([]Container, error)
}

// ErrAbsent is returned by List if the service does not exist, which is not an error.
var ErrAbsent = errors.New("not present")

// Maximum length of an answer, and how long to wait for it.
const (
	maxAnswerBytes = 64 << 20
	answerTimeout  = 5 * time.Second
)

// overSocket is a transport to a Unix socket. A container in which the socket is mounted keeps the one that was there
// when it started. After a restart of the service, the new one is at the same path for whoever started the container.
func overSocket(socket, proc string) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			connection, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
			if errors.Is(err, syscall.ECONNREFUSED) {
				if there, instead := procroot.Dial(ctx, proc, os.Getppid(), socket); instead == nil {
					return there, nil
				}
			}
			return connection, err
		},
		DisableKeepAlives: true, // called once a minute: a connection is not worth its memory
	}
}

// isSocket reports whether a service might listen at path.
func isSocket(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&os.ModeSocket != 0
}
