package names

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/kubeapi"
)

// Kubelet queries the kubelet of this node for its pods. Only the kubelet knows who owns a pod.
type Kubelet struct {
	URL       string // "https://127.0.0.1:10250", or the read-only port "http://127.0.0.1:10255"
	TokenFile string // of a service account with access to nodes/proxy or nodes/pods; unused with http
	CAFile    string
	Insecure  bool // do not verify the kubelet's certificate, which is self-signed in many clusters
}

// Name implements Directory.
func (k Kubelet) Name() string { return "kubelet at " + k.URL }

// List requests GET /pods.
func (k Kubelet) List(ctx context.Context) (containers []Container, err error) {
	err = k.Read(ctx, "/pods", func(body io.Reader) (err error) {
		containers, err = parsePods(io.LimitReader(body, maxAnswerBytes))
		return err
	})
	return containers, err
}

// Read passes the kubelet's answer to GET path to parse.
func (k Kubelet) Read(ctx context.Context, path string, parse func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(k.URL, "/")+path, nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{DisableKeepAlives: true}
	if strings.HasPrefix(k.URL, "https:") {
		if transport.TLSClientConfig, err = k.tls(); err != nil {
			return err
		}
		if err := kubeapi.Authorize(request, k.TokenFile); err != nil {
			return fmt.Errorf("%s: %w", k.Name(), err)
		}
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", k.Name(), response.Status)
	}
	return parse(response.Body)
}

func (k Kubelet) tls() (*tls.Config, error) {
	if k.CAFile == "" || k.Insecure {
		return &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: k.Insecure}, nil
	}
	config, err := kubeapi.Trust(k.CAFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.Name(), err)
	}
	return config, nil
}

// pod holds the used fields of a v1.Pod.
type pod struct {
	Metadata struct {
		Name, Namespace, UID string
		CreationTimestamp    time.Time
		Annotations, Labels  map[string]string
		OwnerReferences      []struct {
			Kind, Name string
			Controller bool
		}
	}
	Spec struct {
		Containers, InitContainers, EphemeralContainers []declared
	}
	Status struct {
		Reason, Message, QOSClass string
		Conditions                []condition

		ContainerStatuses, InitContainerStatuses, EphemeralContainerStatuses []containerStatus
	}
}

// declared holds the used fields of a container in a v1.PodSpec.
type declared struct {
	Name, Image string
	Resources   resources
	Ports       []struct {
		Name, Protocol string
		ContainerPort  uint16
	}
}

type containerStatus struct {
	Name, ContainerID, Image string
	RestartCount             int
	State, LastState         struct{ Terminated *terminated }
	Resources                *resources // in effect, since Kubernetes 1.33: those of the spec can be yet to come
}

// parsePods reads a v1.PodList one pod at a time: the list of a full node takes megabytes.
func parsePods(r io.Reader) ([]Container, error) {
	decoder := json.NewDecoder(r)
	for {
		token, err := decoder.Token()
		if err != nil {
			return nil, fmt.Errorf("pod list: %w", notEOF(err))
		}
		if token == "items" {
			break
		}
	}
	if token, err := decoder.Token(); err != nil || token != json.Delim('[') {
		return nil, nil // "items": null on a node without pods
	}
	var containers []Container
	for decoder.More() {
		var p pod
		if err := decoder.Decode(&p); err != nil {
			return nil, fmt.Errorf("pod list: %w", notEOF(err))
		}
		containers = append(containers, p.containers()...)
	}
	return containers, nil
}

func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// containers lists the pod itself and its containers.
func (p *pod) containers() []Container {
	of := Container{PodUID: p.Metadata.UID, Namespace: p.Metadata.Namespace, Pod: p.Metadata.Name, Owner: p.owner(), Said: saidBy(p.Metadata.Labels, p.Metadata.Annotations)}
	if hash := p.Metadata.Annotations["kubernetes.io/config.hash"]; hash != "" {
		of.PodUID = hash // a static pod's cgroup is named after it
	}
	of.Evicted = p.eviction()
	if created := p.Metadata.CreationTimestamp; !created.IsZero() {
		of.Created = created.UTC().Format(time.RFC3339)
	}
	of.Requests.QoS = p.Status.QOSClass
	spec := make(map[string]declared)
	of.Selected = &Selectable{p.Metadata.Labels, map[Port]uint16{}}
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers, p.Spec.EphemeralContainers) {
		spec[c.Name] = c
		for _, port := range c.Ports {
			named := Port{cmp.Or(port.Protocol, "TCP"), port.Name}
			if _, twice := of.Selected.Ports[named]; port.Name != "" && !twice {
				of.Selected.Ports[named] = port.ContainerPort
			}
		}
	}
	found := []Container{of}
	statuses := slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses, p.Status.EphemeralContainerStatuses)
	for _, status := range statuses {
		_, id, ok := strings.Cut(status.ContainerID, "://") // "containerd://0123…"
		if !ok {
			continue
		}
		c := of
		c.ID, c.Name, c.Image, c.Evicted = id, status.Name, status.Image, Eviction{}
		c.Ends = [2]End{status.LastState.Terminated.end(status.RestartCount), status.State.Terminated.end(status.RestartCount)}
		if wanted, known := spec[status.Name]; known {
			c.Image = cmp.Or(wanted.Image, c.Image)
			c.Requests.CPUs, c.Requests.Bytes = wanted.Resources.overriddenBy(status.Resources).requested()
		}
		found = append(found, c)
	}
	return found
}

// owner names the controller that people know: a Deployment, a Rollout, or a CronJob, not what these created for the pod.
func (p *pod) owner() string {
	for _, reference := range p.Metadata.OwnerReferences {
		if reference.Controller {
			return ownerAbove(reference.Kind, reference.Name, p.Metadata.Labels, p.Metadata.CreationTimestamp)
		}
	}
	return ""
}

// LocalKubelet tries the kubelet of this node on its usual ports: the read-only port, then the authenticated one.
type LocalKubelet struct {
	Host     string // address of the node
	Insecure bool
	// ServiceAccount is the folder with token and ca.crt, /var/run/secrets/kubernetes.io/serviceaccount.
	ServiceAccount string
}

// Name implements Directory.
func (l LocalKubelet) Name() string { return "kubelet at " + l.Host }

// List implements Directory; it returns ErrAbsent outside a cluster.
func (l LocalKubelet) List(ctx context.Context) (containers []Container, err error) {
	err = l.Read(ctx, "/pods", func(body io.Reader) (err error) {
		containers, err = parsePods(io.LimitReader(body, maxAnswerBytes))
		return err
	})
	return containers, err
}

// Read is Kubelet.Read; it returns ErrAbsent outside a cluster. In one, a kubelet that does not listen is missing.
func (l LocalKubelet) Read(ctx context.Context, path string, parse func(io.Reader) error) error {
	host := l.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	err := Kubelet{URL: "http://" + host + ":10255"}.Read(ctx, path, parse)
	if err == nil || !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	token := filepath.Join(l.ServiceAccount, "token")
	if _, missing := os.Stat(token); missing != nil {
		return ErrAbsent // not in a cluster, or not permitted
	}
	return Kubelet{
		URL: "https://" + host + ":10250", TokenFile: token, CAFile: filepath.Join(l.ServiceAccount, "ca.crt"), Insecure: l.Insecure,
	}.Read(ctx, path, parse)
}
