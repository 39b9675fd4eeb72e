package pods

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/kubeapi"
	"github.com/jitterscope/jitterscope/collector/internal/names"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("names", func() sampler.Source { return &workloadNames{} }) }

// workloadNames records what each cgroup runs: container, pod, namespace, owner, image and requests, or the systemd
// unit; and which pods were evicted. It samples nothing on the grid.
type workloadNames struct {
	registry *sampler.Registry
	resolver *names.Resolver
	ends     *names.Ends
	spaces   *namespaces
	asking   sync.WaitGroup
	wake     chan struct{}

	mu       sync.Mutex
	ended    time.Time // when a pod's container ended, if the kubelet has not been queried since; zero: none
	groups   map[string]*sampler.Group
	found    map[string]time.Time
	complete map[string]bool // facts are final
	named    map[string]bool // a directory has known it
	promised map[string]bool // an objective was recorded

	evictions evictions // used by the loop alone
}

const (
	// The kubelet reports how a container ended some seconds later. If many end it is not queried more often than this.
	endSettles = 3 * time.Second
	endsEvery  = 10 * time.Second
	// The runtime lists a new container first. If the kubelet does not list it by then, it is not asked for it alone.
	kubeletTells = 30 * time.Second
)

// nameOptions are the [sources.names] table.
type nameOptions struct {
	Kubelet            string   `toml:"kubelet"` // auto, off, or a URL
	KubeletInsecureTLS bool     `toml:"kubelet_insecure_tls"`
	KubeletTokenFile   string   `toml:"kubelet_token_file"`
	KubeletCAFile      string   `toml:"kubelet_ca_file"`
	DockerSocket       string   `toml:"docker_socket"`
	CRISockets         []string `toml:"cri_sockets"`
}

func (w *workloadNames) Name() string { return "names" }

func (w *workloadNames) Start(ctx context.Context, registry *sampler.Registry) error {
	options := nameOptions{
		Kubelet: "auto", KubeletTokenFile: kubeapi.ServiceAccount + "/token", KubeletCAFile: kubeapi.ServiceAccount + "/ca.crt", DockerSocket: "/run/docker.sock",
		CRISockets: []string{"/run/containerd/containerd.sock", "/run/k3s/containerd/containerd.sock", "/run/crio/crio.sock"},
	}
	if err := registry.Options(&options); err != nil {
		return err
	}
	w.registry, w.evictions = registry, newEvictions(time.Now())
	w.groups, w.found, w.complete = map[string]*sampler.Group{}, map[string]time.Time{}, map[string]bool{}
	w.named, w.promised = map[string]bool{}, map[string]bool{}
	w.resolver = names.NewResolver(options.directories(registry.Roots.Proc)...)
	w.ends = registry.Shared("container_ends", func() any { return &names.Ends{} }).(*names.Ends)
	w.spaces = sharedNamespaces(registry)
	w.wake = make(chan struct{}, 1)
	registry.AskOfContainers(w.resolver.Kind)
	registry.OnCgroups(w.change)
	w.asking.Go(func() { w.loop(ctx) })
	return nil
}

// directories lists the services to query: the kubelet first, because it alone knows the owners of pods.
func (o nameOptions) directories(proc string) []names.Directory {
	var list []names.Directory
	switch o.Kubelet {
	case "off":
	case "auto":
		// JITTERSCOPE_NODE_IP comes from the downward API (status.hostIP) if the collector has its own network.
		host := cmp.Or(os.Getenv("JITTERSCOPE_NODE_IP"), "127.0.0.1")
		list = append(list, names.LocalKubelet{Host: host, Insecure: o.KubeletInsecureTLS, ServiceAccount: kubeapi.ServiceAccount})
	default:
		list = append(list, names.Kubelet{URL: o.Kubelet, TokenFile: o.KubeletTokenFile, CAFile: o.KubeletCAFile, Insecure: o.KubeletInsecureTLS})
	}
	for _, socket := range o.CRISockets {
		list = append(list, names.CRISocket{Path: socket, Proc: proc})
	}
	return append(list, names.DockerSocket{Path: o.DockerSocket, Proc: proc})
}

func (w *workloadNames) change(added, removed []*sampler.Group) {
	w.mu.Lock()
	for _, group := range removed {
		if identity := names.Identify(group.Path); w.ended.IsZero() && identity.PodUID != "" && identity.ContainerID != "" {
			w.ended = time.Now()
		}
		delete(w.groups, group.Path)
		delete(w.found, group.Path)
		delete(w.complete, group.Path)
		delete(w.named, group.Path)
		delete(w.promised, group.Path)
		w.spaces.remove(group.Path)
	}
	for _, group := range added {
		w.groups[group.Path], w.found[group.Path] = group, time.Now()
	}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// loop queries names on its own goroutine: a runtime that hangs must not delay discovery.
func (w *workloadNames) loop(ctx context.Context) {
	ticker := time.NewTicker(2 * time.Second)
	defer ticker.Stop()
	var asked time.Time
	for {
		unknown, now := w.state(), time.Now()
		ended := w.endSettled(now) && now.Sub(asked) >= endsEvery
		if (ended || w.resolver.Due(now, unknown > 0)) && w.askable() {
			if ended {
				asked = now
				w.endAsked()
			}
			w.resolver.Ask(ctx)
			w.ends.Put(w.resolver.Ends())
			w.evictions.report(w.registry, w.resolver.Evicted(), time.Now())
			w.forgetComplete()
			w.report(w.state())
		}
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		case <-ticker.C:
		}
	}
}

// endSettled reports whether the kubelet should know by now how a container ended.
func (w *workloadNames) endSettled(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.ended.IsZero() && now.Sub(w.ended) >= endSettles
}

func (w *workloadNames) endAsked() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = time.Time{}
}

// askable is false if no cgroup can belong to a container: then no service is queried.
func (w *workloadNames) askable() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for path := range w.groups {
		if identity := names.Identify(path); identity.ContainerID != "" || identity.PodUID != "" {
			return true
		}
	}
	return false
}

// state records the facts of all cgroups that lack some and counts those that soon have more.
func (w *workloadNames) state() (unknown int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for path, group := range w.groups {
		if w.complete[path] {
			continue
		}
		facts, known := w.resolver.Facts(path)
		if !known && w.named[path] { // it keeps its name, which its path alone does not show
			unknown++
			continue
		}
		for name, value := range facts {
			w.registry.Fact(group.Resource, name, value)
		}
		w.spaces.put(path, placed{
			group.Resource, path, facts[catalogue.FactWorkloadNamespace], facts[catalogue.FactWorkloadOwner], facts[catalogue.FactWorkloadContainer],
			w.resolver.Selectable(names.Identify(path).ContainerID),
		})
		more := !known || w.resolver.IsPartial(path) && time.Since(w.found[path]) < kubeletTells
		w.complete[path], w.named[path] = !more, known
		if promised := facts[catalogue.FactWorkloadObjective] != ""; known && promised != w.promised[path] {
			w.promised[path] = promised
			if !promised { // the annotation was removed
				w.registry.Fact(group.Resource, catalogue.FactWorkloadObjective, "")
			}
		}
		if more {
			unknown++
		}
	}
	return unknown
}

// forgetComplete makes all facts be recorded again after new answers; unchanged ones are not sent.
func (w *workloadNames) forgetComplete() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.complete)
}

func (w *workloadNames) report(unknown int) {
	using, problems := w.resolver.Status()
	switch {
	case problems != "":
		w.registry.Degraded(problems, "a kubelet that answers /pods (read-only port, or a service account that can get nodes/proxy), or the socket of the container runtime")
	case unknown > 0 && using == "":
		w.registry.Degraded("no source of container names; paths are used", "the kubelet's /pods, or the socket of containerd, CRI-O or Docker")
	case w.registry.MayBeSandboxes() > 0:
		w.registry.Degraded(fmt.Sprintf("cgroups that are either a pod's sandbox or a container that runs `pause`: %d",
			w.registry.MayBeSandboxes()), "the socket of the container runtime")
	default:
		w.registry.Degraded("", "")
	}
}

func (w *workloadNames) Sample(sampler.Tick, *sampler.Recorder) {}

func (w *workloadNames) Close() error {
	w.asking.Wait()
	return nil
}
