package pods

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ciliumSocket is where an agent serves its API, in its own mount namespace.
const ciliumSocket = "root/var/run/cilium/cilium.sock"

// ciliumVersion asks an agent over its API for its release: this also works for one that serves no metrics, or is older
// than 1.14 and does not include it there. The status of Cilium itself is {"state": "Ok", "msg": "1.12.3
// (v1.12.3-1c466d2)"}.
func ciliumVersion(ctx context.Context, proc string, pid int) (string, error) {
	socket := filepath.Join(proc, strconv.Itoa(pid), ciliumSocket)
	client := &http.Client{
		Timeout: 5 * time.Second,
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/v1/healthz", nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("brief", "true")
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the Cilium agent's API answered %s", response.Status)
	}
	var status struct{ Cilium struct{ Msg string } }
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&status); err != nil {
		return "", fmt.Errorf("the Cilium agent's API: %w", err)
	}
	version, _, _ := strings.Cut(strings.TrimSpace(status.Cilium.Msg), " ")
	if version == "" || version[0] < '0' || version[0] > '9' {
		return "", fmt.Errorf("the Cilium agent's API reports %q, which is not a version", status.Cilium.Msg)
	}
	return version, nil
}
