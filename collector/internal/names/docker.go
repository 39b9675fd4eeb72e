package names

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// DockerSocket queries a Docker engine.
type DockerSocket struct {
	Path string
	Proc string // where the kernel shows processes: /proc
}

// Name implements Directory.
func (d DockerSocket) Name() string { return "Docker at " + d.Path }

// List requests GET /containers/json (Docker Engine API 1.24 and later).
func (d DockerSocket) List(ctx context.Context) ([]Container, error) {
	if !isSocket(d.Path) {
		return nil, ErrAbsent
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://docker/v1.24/containers/json", nil)
	if err != nil {
		return nil, err
	}
	response, err := (&http.Client{Transport: overSocket(d.Path, d.Proc)}).Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", d.Name(), response.Status)
	}
	var found []struct {
		ID     string `json:"Id"`
		Names  []string
		Image  string
		Labels map[string]string
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswerBytes)).Decode(&found); err != nil {
		return nil, fmt.Errorf("%s: %w", d.Name(), err)
	}
	containers := make([]Container, 0, len(found))
	for _, c := range found {
		container := Container{ID: c.ID, Image: c.Image, Said: Said{PartOf: bounded(c.Labels[partOfLabel])}}
		if len(c.Names) > 0 {
			container.Name = strings.TrimPrefix(c.Names[0], "/")
		}
		fromLabels(&container, c.Labels)
		containers = append(containers, container)
	}
	return containers, nil
}

// fromLabels reads the labels that the kubelet sets on the containers it creates, with any runtime.
func fromLabels(c *Container, labels map[string]string) {
	if uid := labels["io.kubernetes.pod.uid"]; uid != "" {
		c.PodUID, c.Namespace, c.Pod = uid, labels["io.kubernetes.pod.namespace"], labels["io.kubernetes.pod.name"]
		if name := labels["io.kubernetes.container.name"]; name != "" {
			c.Name = name
		}
		c.Sandbox = labels["io.kubernetes.docker.type"] == "podsandbox" // cri-dockerd
	}
}
