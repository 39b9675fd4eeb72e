package podmetrics

import (
	"io"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/gometrics"
)

// kubeletFamilies are where a kubelet reports the phases, by release (pkg/kubelet/metrics/metrics.go of Kubernetes):
//   - kubelet_pod_start_sli_duration_seconds: from 1.27 on; labeled by first_with_network in the newest, which is summed.
//   - kubelet_pod_start_total_duration_seconds: since the same release; before it, and still in addition to it,
//     kubelet_pod_start_duration_seconds, counted from when the kubelet first saw the pod. Kubelets before 1.14 have summaries
//     in microseconds instead, which give no distribution of a window.
//   - kubelet_run_podsandbox_duration_seconds is wrong: kubelets read the clock when the call begins (the arguments of a
//     deferred call), and observe microseconds. The runtime operation of that name is right, and has wider buckets.
//   - Cgroups of a pod are created once and updated often: only creations are part of its start.
var kubeletFamilies = []family{
	{phase: StartSLI, name: "kubelet_pod_start_sli_duration_seconds"},
	{phase: StartTotal, name: "kubelet_pod_start_total_duration_seconds"},
	{phase: StartTotal, rank: 1, name: "kubelet_pod_start_duration_seconds"},
	{phase: Sandbox, name: runtimeOperations, label: operation, value: values("run_podsandbox")},
	{phase: ImagePull, name: runtimeOperations, label: operation, value: values("pull_image")},
	{phase: ContainerStart, name: runtimeOperations, label: operation, value: values("create_container", "start_container")},
	{phase: Cgroup, name: "kubelet_cgroup_manager_duration_seconds", label: operation, value: values("create")},
}

const (
	runtimeOperations = "kubelet_runtime_operations_duration_seconds"
	operation         = "operation_type"
)

// Kubelet reads the page of a kubelet, GET /metrics.
func Kubelet(page io.Reader, at time.Time) (*Reading, error) {
	return parse(page, at, kubeletFamilies, func(r *Reading, name string, labels, _ []byte) {
		switch name {
		case "kubernetes_build_info":
			// Label names were camel case before 1.16 (gitVersion).
			r.Version = first(gometrics.Label(labels, "git_version"), gometrics.Label(labels, "gitVersion"))
		case "kubelet_node_name":
			r.Present = true
		}
	})
}

func first(texts ...[]byte) string {
	for _, text := range texts {
		if len(text) > 0 {
			return string(text)
		}
	}
	return ""
}
