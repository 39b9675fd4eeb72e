package kubeapi

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
)

const system = "/namespaces/kube-system/"

// ConfigMap returns the data of a ConfigMap in kube-system, nil if it does not exist.
func (s Server) ConfigMap(ctx context.Context, name string) (map[string]string, error) {
	var object struct{ Data map[string]string }
	err := s.Get(ctx, "/api/v1"+system+"configmaps/"+name, &object)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return object.Data, err
}

// Replicas returns the desired replicas of a Deployment in kube-system; ok is false if it does not exist.
func (s Server) Replicas(ctx context.Context, name string) (replicas int, ok bool, err error) {
	object := struct{ Spec struct{ Replicas *int } }{}
	err = s.Get(ctx, "/apis/apps/v1"+system+"deployments/"+name, &object)
	if errors.Is(err, ErrNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	if object.Spec.Replicas == nil {
		return 1, true, nil
	}
	return *object.Spec.Replicas, true, nil
}

// Parsed combines the values of a ConfigMap that are JSON texts into one JSON object with the wanted keys; "" if there
// is none.
func Parsed(data map[string]string, wanted ...string) string {
	object := make(map[string]json.RawMessage)
	for _, key := range wanted {
		text := strings.TrimSpace(data[key])
		if text != "" && json.Valid([]byte(text)) {
			object[key] = json.RawMessage(text)
		}
	}
	if len(object) == 0 {
		return ""
	}
	joined, err := json.Marshal(object)
	if err != nil {
		return ""
	}
	return string(joined)
}
