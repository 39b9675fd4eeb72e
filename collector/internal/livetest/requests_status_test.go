package livetest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/deathsig"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

const nginxConfig = `daemon off; master_process off; pid %[1]s/pid; error_log stderr crit; worker_processes 1;
events {}
http {
  access_log off; sendfile on; client_body_temp_path %[1]s; proxy_temp_path %[1]s; fastcgi_temp_path %[1]s; uwsgi_temp_path %[1]s; scgi_temp_path %[1]s;
  server {
    listen %[2]s; root %[1]s;
    location /large { }
    location /moved { return 301 /; }
    location /missing { return 404 "status 500 is not the status"; }
    location /broken { return 503 "overloaded"; }
    location /upstream { proxy_pass http://127.0.0.1:1; }
    location / { return 200 "HTTP/1.1 500 is in the body"; }
  }
}
`

// startNginx starts an nginx with a file of 4 MiB, which it sends with sendfile.
func startNginx(t *testing.T, address string) *exec.Cmd {
	t.Helper()
	binary, err := exec.LookPath("nginx")
	if err != nil {
		testenv.Skip(t, "needs nginx: run make deps")
	}
	folder := t.TempDir()
	config := filepath.Join(folder, "nginx.conf")
	for name, content := range map[string]string{config: fmt.Sprintf(nginxConfig, folder, address), filepath.Join(folder, "large"): strings.Repeat("HTTP/1.1 500 ", 4<<20/13)} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := exec.Command(binary, "-c", config, "-p", folder, "-g", "user root;")
	server.Stderr = os.Stderr
	if err := deathsig.Start(server); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	waitFor(t, "nginx listens", func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return server
}

// TestStatusOfNginx counts the statuses of a real server, whatever its bodies contain.
func TestStatusOfNginx(t *testing.T) {
	t.Parallel()
	address := freeAddress(t, "127.0.0.1")
	server := startNginx(t, address)
	clients := []*http.Client{{Transport: &http.Transport{}}, {Transport: &http.Transport{DisableKeepAlives: true}}}
	for _, client := range clients {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		defer client.CloseIdleConnections()
	}
	get := func(client int, path string, want int) {
		answer, err := clients[client].Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Fatalf("%s: %s", path, answer.Status)
		}
	}
	o := observe(t, requestSources)
	o.needs("tcp_requests")
	key := serverKey(t, server.Process.Pid, address)
	waitFor(t, "the server is known", func() bool { get(0, "/", 200); return o.hasResource(key) })
	time.Sleep(500 * time.Millisecond)
	from := nextTick()
	const rounds = 50
	for round := range rounds {
		for path, status := range map[string]int{"/": 200, "/moved": 301, "/missing": 404, "/broken": 503, "/upstream": 502} {
			get(round%2, path, status)
		}
		if round%10 == 0 {
			get(round%2, "/large", 200)
		}
	}
	time.Sleep(settle)
	o.stop()
	for metric, want := range map[uint32]float64{
		catalogue.Responses: 5*rounds + 5, catalogue.HttpResponses: 5*rounds + 5,
		catalogue.HttpClientErrors: rounds, catalogue.HttpServerErrors: 2 * rounds,
	} {
		if got := o.sum(key, metric, from); got != want {
			t.Errorf("%s is %v, want %v", catalogue.All[metric].Name, got, want)
		}
	}
}

// TestWhatIsNoHTTPHasNoStatus: for TLS, and if it is turned off, nothing is recorded, not even 0.
func TestWhatIsNoHTTPHasNoStatus(t *testing.T) {
	binary := buildWebServer(t)
	off := filepath.Join(t.TempDir(), "collector.toml")
	if err := os.WriteFile(off, []byte("[sources.tcp_requests]\nread_status = false\nread_kinds = false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, protocol string
		arguments      []string
		want           bool
	}{{"in clear", "http", nil, true}, {"TLS", "tls", nil, false}, {"HTTP2 in clear", "h2c", nil, true}, {"turned off", "http", []string{"-config", off}, false}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			address := freeAddress(t, "127.0.0.1")
			scheme, arguments := "http", []string{address}
			if c.protocol == "tls" {
				scheme, arguments = "https", []string{"-tls", address}
			}
			server := startServer(t, nil, binary, arguments...)
			client := webClient(c.protocol, newMeasured(t))
			defer client.CloseIdleConnections()
			o := observe(t, requestSources, c.arguments...)
			o.needs("tcp_requests")
			key := serverKey(t, server.Process.Pid, address)
			ask := func() { fetch(t, client, scheme+"://"+address+"/?sleep=0") }
			waitFor(t, "the server is known", func() bool { ask(); return o.hasResource(key) })
			client.CloseIdleConnections() // headers of HTTP/2 can be understood from the first one on
			for range 100 {
				ask()
			}
			time.Sleep(settle)
			o.stop()
			if got := len(o.series(key, catalogue.HttpResponses)) > 0; got != c.want {
				t.Errorf("answers with a status are recorded: %v, want %v", got, c.want)
			}
			if got := len(o.events(key, catalogue.EventRequestsKinds)) > 0; got != c.want {
				t.Errorf("kinds of requests are recorded: %v, want %v", got, c.want)
			}
			if len(o.series(key, catalogue.Responses)) == 0 {
				t.Error("no answers are recorded")
			}
		})
	}
}

// TestKindsWithoutStatusesHaveNoErrors: if statuses are not read, errors by kind are not measured, which is different
// from 0.
func TestKindsWithoutStatusesHaveNoErrors(t *testing.T) {
	t.Parallel()
	off := filepath.Join(t.TempDir(), "collector.toml")
	if err := os.WriteFile(off, []byte("[sources.tcp_requests]\nread_status = false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t, "127.0.0.1")
	server := startServer(t, nil, buildWebServer(t), address)
	client := webClient("http", newMeasured(t))
	defer client.CloseIdleConnections()
	o := observe(t, requestSources, "-config", off)
	o.needs("tcp_requests")
	key := serverKey(t, server.Process.Pid, address)
	ask := func() { fetch(t, client, "http://"+address+"/?sleep=0") }
	waitFor(t, "the server is known", func() bool { ask(); return o.hasResource(key) })
	for range 20 {
		ask()
	}
	time.Sleep(settle)
	o.stop()
	told := 0
	for _, event := range o.events(key, catalogue.EventRequestsKinds) {
		var rows [][]any
		if err := json.Unmarshal([]byte(event.Attributes["rows"]), &rows); err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			told += int(row[1].(float64))
			if row[3] != nil || row[4] != nil {
				t.Errorf("errors of %v are %v and %v", row[0], row[3], row[4])
			}
		}
	}
	if told < 20 {
		t.Errorf("%d requests have a kind", told)
	}
}
