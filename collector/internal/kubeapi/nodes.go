package kubeapi

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/url"

	"github.com/jitterscope/jitterscope/collector/internal/quantity"
)

type node struct {
	Spec struct {
		Unschedulable bool
		Taints        []struct{ Key, Value, Effect string }
	}
	Status struct {
		Allocatable struct{ CPU string }
		Conditions  []struct{ Type, Status string }
	}
}

// Nodes counts the schedulable nodes and their allocatable CPUs, as the cluster-proportional-autoscaler does. The list
// is read in pages, one node at a time.
func (s Server) Nodes(ctx context.Context) (nodes int, milliCPU int64, err error) {
	err = list(ctx, s, "/api/v1/nodes", fromStore, func(n *node) {
		if n.Spec.Unschedulable {
			return
		}
		nodes++
		milliCPU += milli(n.Status.Allocatable.CPU)
	})
	return nodes, milliCPU, err
}

// NodeState is what the cluster says about a node.
type NodeState struct {
	Conditions map[string]string // by type: True, False, or Unknown; besides Ready only what is not False
	Taints     []string          // "KEY=VALUE:EFFECT", without "=" if there is no value
}

// NodeState returns the state of one node. It is listed, not got: who may list nodes needs no other right, and the
// server finds a name without reading the others. Version 0 is whatever the server has cached.
func (s Server) NodeState(ctx context.Context, name string) (state NodeState, err error) {
	path := "/api/v1/nodes?resourceVersion=0&fieldSelector=" + url.QueryEscape("metadata.name="+name)
	found := false
	err = s.read(ctx, path, func(body io.Reader) error {
		var next string
		return eachItem(body, &next, func(n *node) { state, found = n.state(), true })
	})
	if err == nil && !found {
		err = fmt.Errorf("API server: node %s %w", name, ErrNotFound)
	}
	return state, err
}

func (n *node) state() NodeState {
	state := NodeState{Conditions: make(map[string]string), Taints: []string{}}
	for _, one := range n.Status.Conditions {
		if one.Type == "Ready" || one.Status != "False" {
			state.Conditions[one.Type] = one.Status
		}
	}
	for _, one := range n.Spec.Taints {
		value := ""
		if one.Value != "" {
			value = "=" + one.Value
		}
		state.Taints = append(state.Taints, one.Key+value+":"+one.Effect)
	}
	return state
}

// milli parses a quantity of CPUs, "4" or "3920m".
func milli(cpus string) int64 {
	amount, _ := quantity.Parse(cpus)
	return int64(math.Round(1000 * amount))
}
