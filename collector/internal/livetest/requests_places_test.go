package livetest

import (
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/netns"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

// TestRequestsInOtherPlaces sends requests to servers on one port: in two cgroups at two addresses, and in a network
// namespace.
func TestRequestsInOtherPlaces(t *testing.T) {
	t.Parallel()
	binary := buildWebServer(t)
	first := freeAddress(t, "127.0.0.1")
	_, port, err := net.SplitHostPort(first)
	if err != nil {
		t.Fatal(err)
	}
	second := net.JoinHostPort("127.0.0.2", port)
	firstGroup, firstPath := cgroupFor(t, -1)
	secondGroup, secondPath := cgroupFor(t, -1)
	insideGroup, insidePath := cgroupFor(t, -1)
	startServer(t, inCgroup(firstGroup), binary, first)
	startServer(t, inCgroup(secondGroup), binary, second)
	inside := startServer(t, append(inCgroup(insideGroup), inNamespace(t)...), binary, first)
	o := observe(t, requestSources)
	o.needs("tcp_requests")
	into := newMeasured(t)
	askOnce := func(address string) {
		client := webClient("close", into)
		fetch(t, client, "http://"+address)
	}
	enter := func(times int) error {
		return netns.Do("/proc", inside.Process.Pid, func() error {
			for range times {
				c, err := net.Dial("tcp", first)
				if err != nil {
					return err
				}
				if _, err := io.WriteString(c, "GET / HTTP/1.0\r\n\r\n"); err != nil {
					return err
				}
				if _, err := io.Copy(io.Discard, c); err != nil {
					return err
				}
				_ = c.Close()
			}
			return nil
		})
	}
	keys := map[string]float64{firstPath + ":" + port: 3, secondPath + ":" + port: 5, insidePath + ":" + port: 7}
	waitFor(t, "all are known", func() bool {
		askOnce(first)
		askOnce(second)
		if err := enter(1); err != nil {
			t.Fatal(err)
		}
		for key := range keys {
			if !o.hasResource(key) {
				return false
			}
		}
		return true
	})
	time.Sleep(500 * time.Millisecond)
	from := nextTick()
	for range 3 {
		askOnce(first)
	}
	for range 5 {
		askOnce(second)
	}
	if err := enter(7); err != nil {
		t.Fatal(err)
	}
	time.Sleep(settle)
	o.stop()
	for key, want := range keys {
		if requests, answers := o.sum(key, catalogue.Requests, from), o.sum(key, catalogue.Responses, from); requests != want || answers != want {
			t.Errorf("%s: %v requests, %v answers, %v were made", key, requests, answers, want)
		}
		if parents := o.parents(key); len(parents) < 2 || parents[1] != key[:len(key)-len(port)-1] {
			t.Errorf("%s is below %v", key, parents)
		}
	}
}

// lateCgroup makes a cgroup, and a tree for the collector in which it is found only after appear.
func lateCgroup(t *testing.T) (group, path, root string, appear func()) {
	t.Helper()
	group, path = cgroupFor(t, -1)
	version, cgroups := 1, "cpu"
	if !strings.HasPrefix(group, "/sys/fs/cgroup/cpu/") {
		version, cgroups = 2, ""
	}
	root = sourcetest.CgroupTree(t, version, 0)
	return group, path, root, func() {
		sourcetest.Write(t, root, filepath.Join(cgroups, path, "cgroup.procs"), "")
		for name, text := range sourcetest.GroupFiles[version][cgroups] {
			sourcetest.Write(t, root, filepath.Join(cgroups, path, name), text)
		}
	}
}

// TestServerMovesToItsCgroup: a server whose cgroup is found late is shown below the node until then.
func TestServerMovesToItsCgroup(t *testing.T) {
	t.Parallel()
	group, path, root, appear := lateCgroup(t)
	address := freeAddress(t, "127.0.0.1")
	startServer(t, inCgroup(group), buildWebServer(t), address)
	o := observe(t, requestSources, "-cgroup-root", root)
	o.needs("tcp_requests")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	client := webClient("close", newMeasured(t))
	parents := func() []string {
		fetch(t, client, "http://"+address)
		return o.parents(path + ":" + port)
	}
	waitFor(t, "the server is below the node", func() bool { return len(parents()) == 2 })
	appear()
	waitFor(t, "the server is in its cgroup", func() bool { return slices.Contains(parents(), path) })
}

// TestProcessMovesToItsCgroup: so is a process.
func TestProcessMovesToItsCgroup(t *testing.T) {
	t.Parallel()
	group, path, root, appear := lateCgroup(t)
	server := startServer(t, inCgroup(group), buildWebServer(t), freeAddress(t, "127.0.0.1"))
	o := observe(t, "process,cgroup_cpu", "-cgroup-root", root)
	parents := func() []string { return o.parents(o.processKey(server.Process.Pid)) }
	waitFor(t, "the process is below the node", func() bool { return len(parents()) == 2 })
	appear()
	waitFor(t, "the process is in its cgroup", func() bool { return slices.Contains(parents(), path) })
}

// TestThrottledServerLetsRequestsWait: requests that arrive while the server is throttled wait in the socket.
func TestThrottledServerLetsRequestsWait(t *testing.T) {
	t.Parallel()
	group, path := cgroupFor(t, 5_000) // small enough to be used up on a busy machine, too
	address := freeAddress(t, "127.0.0.1")
	startServer(t, inCgroup(group), buildWebServer(t), address)
	o := observe(t, requestSources)
	o.needs("tcp_requests")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	key := path + ":" + port
	into := newMeasured(t)
	client := webClient("http", into)
	defer client.CloseIdleConnections()
	waitFor(t, "the server is known", func() bool { fetch(t, client, "http://"+address); return o.hasResource(key) })
	time.Sleep(500 * time.Millisecond)
	from := nextTick()
	into.take()
	load(t, 4, 15, func(int, int) {
		fetch(t, client, "http://"+address+"/?spin=5ms")
		time.Sleep(5 * time.Millisecond)
	})
	latencies := into.take()
	time.Sleep(settle)
	o.stop()
	checkRequests(t, o, key, from, latencies)
	wait, waits := o.quantile(key, catalogue.RequestWaitUS, from, 0.95)
	total, _ := o.quantile(key, catalogue.RequestLatencyUS, from, 0.95)
	if waits != len(latencies) || wait < 20_000 || wait > total {
		t.Errorf("p95 of %d waits is %.0f us, of whole requests %.0f us", waits, wait, total)
	}
	if throttled := o.sum(path, catalogue.CPUThrottledPeriods, from); throttled < 1 {
		t.Errorf("%v throttled periods", throttled)
	}
}
