package livetest

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/netns"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// inNamespace is a wrap for startServer: its own network namespace, with loopback up.
func inNamespace(t testing.TB) []string {
	t.Helper()
	wrap := []string{"unshare", "--net", "sh", "-c", `ip link set lo up && exec "$@"`, "sh"}
	if out, err := exec.Command(wrap[0], append(wrap[1:], "true")...).CombinedOutput(); err != nil {
		testenv.Skip(t, "needs the right to make network namespaces: %v: %s", err, out)
	}
	return wrap
}

// TestServerInANamespaceOfItsOwn queries a server that is unreachable from the host and, at the same time, one with the
// same address on the host: neither is mistaken for the other.
func TestServerInANamespaceOfItsOwn(t *testing.T) {
	t.Parallel()
	binary := buildDNSServer(t)
	server := freeAddress(t, "127.0.0.1")
	inside := startServer(t, inNamespace(t), binary, server)
	startServer(t, nil, binary, server)
	o := observe(t, dnsSources)
	o.needs("dns_capture")
	var stat unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d/ns/net", inside.Process.Pid), &stat); err != nil {
		t.Fatal(err)
	}
	insideKey := fmt.Sprintf("%s@net:%d", server, stat.Ino)
	waitFor(t, "both servers are known", func() bool { return o.hasResource(server) && o.hasResource(insideKey) })
	time.Sleep(1500 * time.Millisecond)
	from := nextTick()
	err := netns.Do("/proc", inside.Process.Pid, func() error {
		for range 7 {
			ask(t, "udp", server, "delay-25.example.")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		ask(t, "tcp", server, "a.example.")
	}
	time.Sleep(time.Second)
	o.stop()
	for key, want := range map[string]float64{server: 3, insideKey: 7} {
		if got := o.sum(key, catalogue.DNSAnswers, from); got != want {
			t.Errorf("%s: %v answers instead of %v", key, got, want)
		}
	}
	if slow := o.sum(insideKey, catalogue.DNSSlow, from); slow != 7 {
		t.Errorf("%v slow answers inside", slow)
	}
	if sockets := o.fact(insideKey, "dns.udp_sockets"); sockets != "1" {
		t.Errorf("%s sockets inside", sockets)
	}
}

// TestServerBehindAVeth queries a server in a namespace from the host through a pair of interfaces, as pods are
// queried. Its packets pass several interfaces and must be counted once.
func TestServerBehindAVeth(t *testing.T) {
	t.Parallel()
	binary := buildDNSServer(t)
	inNamespace(t)
	// All in one namespace of the test: its "host" side, and the server's, so that nothing on the machine is touched.
	const script = `set -e
ip link set lo up
ip link add outside type veth peer name inside
ip addr add 10.99.0.1/24 dev outside && ip link set outside up
unshare --net sh -c 'echo $$ > "$0"; exec sleep 60' "$0/pid" < /dev/null &
trap 'kill $!' EXIT
while [ ! -s "$0/pid" ]; do sleep 0.01; done
pid=$(cat "$0/pid")
ip link set inside netns "$pid"
nsenter --net="/proc/$pid/ns/net" sh -c 'ip link set lo up; ip addr add 10.99.0.2/24 dev inside; ip link set inside up'
nsenter --net="/proc/$pid/ns/net" "$1" 10.99.0.2:5300
`
	directory := t.TempDir()
	outer := startServer(t, []string{"unshare", "--net", "bash", "-c", script, directory}, binary)
	o := observe(t, dnsSources)
	o.needs("dns_capture")
	const server = "10.99.0.2:5300"
	waitFor(t, "the server is known", func() bool { return o.hasResource(server) })
	var from time.Time
	err := netns.Do("/proc", outer.Process.Pid, func() error {
		ask(t, "udp", server, "warm.example.") // the client's first path
		time.Sleep(time.Second)
		from = nextTick()
		for range 5 {
			ask(t, "udp", server, "a.example.")
			ask(t, "tcp", server, "delay-25.example.")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	o.stop()
	for _, key := range []string{server, "10.99.0.1>" + server} {
		queries, answers, slow := o.sum(key, catalogue.DNSQueries, from), o.sum(key, catalogue.DNSAnswers, from), o.sum(key, catalogue.DNSSlow, from)
		if queries != 10 || answers != 10 || slow != 5 {
			t.Errorf("%s: %v queries, %v answers, %v slow; 10 and 5 were made", key, queries, answers, slow)
		}
	}
}
