// Package kubeapi queries the Kubernetes API server for the few facts that no node knows: its version, the size of the
// cluster and its DNS configuration.
package kubeapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ServiceAccount is where a pod finds its token and the cluster's certificate.
const ServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

const (
	timeout        = 10 * time.Second
	maxAnswerBytes = 64 << 20
)

// Server is an API server and its credentials.
type Server struct {
	URL       string // "https://10.96.0.1:443"
	TokenFile string // of a service account; read each time, because it is renewed
	CAFile    string
}

// InCluster returns the API server of the cluster in which this process runs as a pod; ok is false outside a cluster.
func InCluster(serviceAccount string) (server Server, ok bool) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	server = Server{
		URL: "https://" + net.JoinHostPort(host, port), TokenFile: filepath.Join(serviceAccount, "token"),
		CAFile: filepath.Join(serviceAccount, "ca.crt"),
	}
	if host == "" || port == "" {
		return server, false
	}
	_, err := os.Stat(server.TokenFile)
	return server, err == nil
}

// What the server can return instead of an object.
var (
	ErrNotFound  = errors.New("does not exist")
	ErrForbidden = errors.New("is forbidden to this service account")
)

// Get reads the object at a path such as "/api/v1/namespaces/kube-system/configmaps/kube-dns".
func (s Server) Get(ctx context.Context, path string, object any) error {
	return s.read(ctx, path, func(body io.Reader) error { return json.NewDecoder(body).Decode(object) })
}

func (s Server) read(ctx context.Context, path string, decode func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(s.URL, "/")+path, nil)
	if err != nil {
		return err
	}
	if err := Authorize(request, s.TokenFile); err != nil {
		return fmt.Errorf("API server: %w", err)
	}
	request.Header.Set("Accept", "application/json")
	config, err := Trust(s.CAFile)
	if err != nil {
		return fmt.Errorf("API server: %w", err)
	}
	// Called a few times per hour: keeping a connection would cost more than it saves.
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, TLSClientConfig: config},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // would leak it
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("API server: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusOK:
		if err := decode(io.LimitReader(response.Body, maxAnswerBytes)); err != nil {
			return fmt.Errorf("API server, %s: %w", path, err)
		}
		return nil
	case http.StatusNotFound:
		return fmt.Errorf("API server: %s %w", path, ErrNotFound)
	case http.StatusForbidden, http.StatusUnauthorized:
		return fmt.Errorf("API server: %s %w", path, ErrForbidden)
	}
	return fmt.Errorf("API server: %s: %s", path, response.Status)
}

// Version returns gitVersion, "v1.30.5-gke.1014001".
func (s Server) Version(ctx context.Context) (string, error) {
	var version struct{ GitVersion string }
	err := s.Get(ctx, "/version", &version)
	return version.GitVersion, err
}
