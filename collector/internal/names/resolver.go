package names

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
)

// Resolver turns cgroup paths into facts. It queries the directories in order; the first that knows a container wins.
type Resolver struct {
	directories []Directory

	mu          sync.Mutex
	containers  map[string]Container
	pods        map[string]Container
	ends        []End
	evicted     []Container
	lastAskedAt time.Time
	kubelet     bool                   // a kubelet has answered
	using       []string               // directories that answered last time
	answers     map[string][]Container // the last one of each directory
	problems    []string
}

const (
	// A container that no directory knows yet is looked up again soon, because the kubelet learns of it late.
	askAgain  = 2 * time.Second
	askAlways = 60 * time.Second
)

// imageID begins what a runtime has instead of the image's name.
const imageID = "sha256:"

// What the chart and the Compose file label as part of the product, its unit cannot say by a label.
const (
	product       = "jitterscope"
	collectorUnit = "jitterscope-collector.service"
)

// NewResolver makes a Resolver.
func NewResolver(directories ...Directory) *Resolver {
	return &Resolver{
		directories: directories,
		containers:  map[string]Container{}, pods: map[string]Container{}, answers: map[string][]Container{},
	}
}

// Due reports whether it is time to query the directories: unknown is true if there is a container that none of them
// knows.
func (r *Resolver) Due(now time.Time, unknown bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	since := now.Sub(r.lastAskedAt)
	return len(r.directories) > 0 && (since >= askAlways || unknown && since >= askAgain)
}

// Ask queries all directories.
func (r *Resolver) Ask(ctx context.Context) {
	containers, pods := make(map[string]Container), make(map[string]Container)
	starts := make(map[[2]string]Container) // of a container of a pod, by names
	var using, problems []string
	var ends []End
	var evicted []Container
	for _, directory := range r.directories {
		found, err := directory.List(ctx)
		last, answered := r.answers[directory.Name()]
		switch {
		case errors.Is(err, ErrAbsent) && !answered:
			continue
		case err != nil:
			// What it said of containers is still true. Without it they would have other facts until it answers again: the
			// runtime, for one, knows an image by its digest, which would be a change that nobody made.
			problems = append(problems, fmt.Sprintf("%s: %v", directory.Name(), err))
			found = last
		default:
			using = append(using, directory.Name())
			r.answers[directory.Name()] = found
		}
		for _, c := range found {
			r.kubelet = r.kubelet || c.Created != ""
			if r.kubelet && c.PodUID != "" && strings.HasPrefix(c.Image, imageID) {
				c.Image = "" // the kubelet will tell its name: until then, an ID would look like a change
			}
			for _, end := range c.Ends {
				if end.ID != "" {
					ends = append(ends, end)
				}
			}
			if c.Evicted.Reason != "" {
				evicted = append(evicted, c)
			}
			if _, known := containers[c.ID]; c.ID != "" && !known {
				containers[c.ID] = c.completed(pods[c.PodUID], starts[[2]string{c.PodUID, c.Name}]).orAsKnown(r.containers[c.ID])
			}
			if _, known := starts[[2]string{c.PodUID, c.Name}]; c.PodUID != "" && !known {
				starts[[2]string{c.PodUID, c.Name}] = c
			}
			if _, known := pods[c.PodUID]; c.PodUID != "" && !known {
				pods[c.PodUID] = Container{
					PodUID: c.PodUID, Namespace: c.Namespace, Pod: c.Pod, Owner: c.Owner, Created: c.Created, Said: c.Said,
					Requests: Requests{QoS: c.Requests.QoS}, Selected: c.Selected,
				}.orAsKnown(r.pods[c.PodUID])
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.containers, r.pods, r.ends, r.evicted = containers, pods, ends, evicted
	r.using, r.problems, r.lastAskedAt = using, problems, time.Now()
}

// completed adds what others know about its pod and about another start of the same container: the runtime, which lists
// a new start first, does not know the controller, and an image only by its digest.
func (c Container) completed(pod, start Container) Container {
	if c.Owner == "" {
		c.Owner = pod.Owner
	}
	if c.Created == "" {
		c.Created = pod.Created
	}
	if c.Said == (Said{}) {
		c.Said = pod.Said
	}
	if c.Selected == nil {
		c.Selected = pod.Selected
	}
	if c.Requests == (Requests{}) {
		c.Requests = start.Requests
		c.Requests.QoS = pod.Requests.QoS
	}
	if start.Image != "" && !c.Sandbox {
		c.Image = start.Image
	}
	return c
}

// orAsKnown returns what was known before if only the kubelet knew it and no longer does: a kubelet that has just started
// lists no pods until the API server has answered it.
func (c Container) orAsKnown(before Container) Container {
	if c.Created == "" && before.Created != "" {
		return before
	}
	return c
}

// Ends returns the latest reported ends of containers.
func (r *Resolver) Ends() []End {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ends
}

// Evicted returns the pods that the latest answers say were evicted.
func (r *Resolver) Evicted() []Container {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.evicted
}

// Status says which directories answered and which did not.
func (r *Resolver) Status() (using, problems string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.using, ", "), strings.Join(r.problems, "; ")
}

// Kind is the kind of a container in the directories' latest answers.
func (r *Resolver) Kind(containerID string) Kind {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, ok := r.containers[containerID]
	switch {
	case !ok:
		return UnknownKind
	case found.Sandbox:
		return Sandbox
	}
	return Workload
}

// IsPartial reports whether only the runtime has listed a container so far, although a kubelet answers: it does not know
// the image's name, nor the pod's controller.
func (r *Resolver) IsPartial(cgroupPath string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, known := r.containers[Identify(cgroupPath).ContainerID]
	return known && r.kubelet && !found.Sandbox && found.PodUID != "" && (found.Created == "" || found.Image == "")
}

// Selectable is what Services find the pod of a container by; nil: not known.
func (r *Resolver) Selectable(containerID string) *Selectable {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.containers[containerID].Selected
}

// Facts returns the workload facts of a cgroup. known is false if a directory should know more than the path shows.
func (r *Resolver) Facts(cgroupPath string) (facts map[string]string, known bool) {
	identity := Identify(cgroupPath)
	facts = map[string]string{catalogue.FactWorkloadManager: identity.Manager}
	set := func(name, value string) {
		if value != "" {
			facts[name] = value
		}
	}
	if identity.Unit != "" {
		set(catalogue.FactWorkloadContainer, identity.Unit)
		if identity.Unit == collectorUnit {
			set(catalogue.FactWorkloadPartOf, product)
		}
		return facts, true
	}
	r.mu.Lock()
	found, ok := r.containers[identity.ContainerID]
	if identity.ContainerID == "" || !ok {
		pod, podKnown := r.pods[identity.PodUID]
		found, ok = pod, podKnown && identity.ContainerID == ""
	}
	r.mu.Unlock()
	set(catalogue.FactWorkloadNamespace, found.Namespace)
	set(catalogue.FactWorkloadPod, found.Pod)
	set(catalogue.FactWorkloadOwner, found.Owner)
	set(catalogue.FactWorkloadCreatedAt, found.Created)
	set(catalogue.FactWorkloadObjective, found.Said.Objective)
	set(catalogue.FactWorkloadVersion, found.Said.Version)
	set(catalogue.FactWorkloadChart, found.Said.Chart)
	set(catalogue.FactWorkloadPartOf, found.Said.PartOf)
	set(catalogue.FactWorkloadRevision, found.Said.Revision)
	if found.PodUID != "" { // sent even if empty: otherwise the first restart would look like the first read
		facts[catalogue.FactWorkloadRestartedAt] = found.Said.Restarted
	}
	set(catalogue.FactWorkloadContainer, found.Name)
	set(catalogue.FactWorkloadImage, found.Image)
	set(catalogue.FactWorkloadRequestedCpus, found.Requests.CPUs)
	set(catalogue.FactWorkloadRequestedBytes, found.Requests.Bytes)
	set(catalogue.FactWorkloadQosClass, found.Requests.QoS)
	if identity.ContainerID != "" && found.Name == "" {
		set(catalogue.FactWorkloadContainer, identity.ContainerID[:12])
	}
	return facts, ok || identity.ContainerID == "" && identity.PodUID == ""
}
