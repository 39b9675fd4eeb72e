package names

import "github.com/jitterscope/jitterscope/collector/internal/quantity"

// Requests are what a container requests: "0" if nothing, "" if that is not known. Only the kubelet knows.
type Requests struct {
	CPUs  string // "0.25"
	Bytes string
	QoS   string // of its pod: Guaranteed, Burstable, or BestEffort
}

// resources holds the used fields of a v1.ResourceRequirements. The API server has set a request that is not declared to
// the limit, or to the default of a LimitRange.
type resources struct {
	Requests struct{ CPU, Memory string }
}

func (r resources) overriddenBy(actual *resources) resources {
	if actual == nil {
		return r
	}
	return *actual
}

func (r resources) requested() (cpus, bytes string) {
	return amount(r.Requests.CPU), amount(r.Requests.Memory)
}

func amount(text string) string {
	if text == "" {
		return "0"
	}
	amount, ok := quantity.Parse(text)
	if !ok {
		return ""
	}
	return quantity.Text(amount)
}
