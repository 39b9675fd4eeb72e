package kubeapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"

	"github.com/jitterscope/jitterscope/collector/internal/quantity"
)

const nodesPerPage = "200"

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
	next := ""
	for range 100 {
		page := "/api/v1/nodes?limit=" + nodesPerPage
		if next != "" {
			page += "&continue=" + url.QueryEscape(next)
		}
		next = ""
		err := s.read(ctx, page, func(body io.Reader) error {
			return eachNode(body, &next, func(n *node) {
				if n.Spec.Unschedulable {
					return
				}
				nodes++
				milliCPU += milli(n.Status.Allocatable.CPU)
			})
		})
		if err != nil || next == "" {
			return nodes, milliCPU, err
		}
	}
	return nodes, milliCPU, nil
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
		return eachNode(body, &next, func(n *node) { state, found = n.state(), true })
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

// eachNode reads a v1.NodeList.
func eachNode(body io.Reader, next *string, visit func(*node)) error {
	decoder := json.NewDecoder(body)
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return errors.Join(errNoList, err)
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return err
		}
		switch key {
		case "metadata":
			var metadata struct{ Continue string }
			if err := decoder.Decode(&metadata); err != nil {
				return err
			}
			*next = metadata.Continue
		case "items":
			if token, err := decoder.Token(); err != nil || token != json.Delim('[') {
				if token == nil && err == nil {
					continue // null
				}
				return errors.Join(errNoList, err)
			}
			for decoder.More() {
				var n node
				if err := decoder.Decode(&n); err != nil {
					return err
				}
				visit(&n)
			}
			if _, err := decoder.Token(); err != nil {
				return err
			}
		default:
			var skipped json.RawMessage
			if err := decoder.Decode(&skipped); err != nil {
				return err
			}
		}
	}
	return nil
}

var errNoList = errors.New("not a list of nodes")

// milli parses a quantity of CPUs, "4" or "3920m".
func milli(cpus string) int64 {
	amount, _ := quantity.Parse(cpus)
	return int64(math.Round(1000 * amount))
}
