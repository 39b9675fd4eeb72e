package livetest

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// freeAddress finds a port that is free for UDP and TCP on an address.
func freeAddress(t testing.TB, host string) string {
	t.Helper()
	for range 20 {
		udp, err := net.ListenPacket("udp", net.JoinHostPort(host, "0"))
		if err != nil {
			testenv.Skip(t, "no address %s here: %v", host, err)
		}
		address := udp.LocalAddr().String()
		tcp, err := net.Listen("tcp", address)
		_ = udp.Close()
		if err == nil {
			_ = tcp.Close()
			return address
		}
	}
	t.Fatal("no free port")
	return ""
}

// buildDNSServer builds the test server under the name of a well-known one, by which the collector recognizes it.
func buildDNSServer(t testing.TB, flags ...string) string {
	t.Helper()
	return build(t, "unbound", append(flags, "./testdata/dnsserver")...)
}

// buildTestProgram builds a program of testdata.
func buildTestProgram(t testing.TB, name string) string {
	t.Helper()
	return build(t, name, "./testdata/"+name)
}

func build(t testing.TB, name string, arguments ...string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("go", append([]string{"build", "-o", binary}, arguments...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return binary
}

// startServer runs a program that prints "ready" and ends when its standard input is closed. wrap is prepended to the
// command.
func startServer(t testing.TB, wrap []string, binary string, arguments ...string) *exec.Cmd {
	t.Helper()
	line := append(append(append([]string{}, wrap...), binary), arguments...)
	command := exec.Command(line[0], line[1:]...)
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		stubborn := time.AfterFunc(3*time.Second, func() { _ = command.Process.Kill() })
		defer stubborn.Stop()
		_ = command.Wait()
	})
	if text, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || text != "ready\n" {
		t.Fatalf("%s: %q, %v", binary, text, err)
	}
	return command
}

// ask sends one query and returns how long the answer took.
func ask(t testing.TB, network, server, name string) time.Duration {
	t.Helper()
	message := new(dns.Msg)
	message.SetQuestion(name, dns.TypeA)
	client := dns.Client{Net: network, Timeout: 3 * time.Second}
	_, took, err := client.Exchange(message, server)
	if err != nil && !strings.HasPrefix(name, "drop.") {
		t.Fatalf("%s: %v", name, err)
	}
	return took
}

// makeCgroup creates a cgroup that is removed after the test. It skips the test if that is not permitted.
func makeCgroup(t testing.TB, directory string) {
	t.Helper()
	if err := os.Mkdir(directory, 0o755); err != nil {
		testenv.Skip(t, "needs the right to make cgroups: %v", err)
	}
	t.Cleanup(func() {
		for range 50 { // its processes end first
			if os.Remove(directory) == nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Errorf("%s is left behind", directory)
	})
}

var cgroupsMade atomic.Uint32

// newCgroupPath returns a path that no other test has, not even one that starts at the same time on another CPU, or in
// another process namespace.
func newCgroupPath(prefix string) string {
	return fmt.Sprintf("%s-%d-%d-%d", prefix, os.Getpid(), time.Now().UnixNano()%1_000_000, cgroupsMade.Add(1))
}

// cgroupFor creates a cgroup of the cpu controller with a quota, -1 for none. It skips the test if that is not
// permitted.
func cgroupFor(t testing.TB, quotaUS int) (directory, path string) {
	t.Helper()
	path = newCgroupPath("/jitterscope-livetest")
	if _, err := os.Stat("/sys/fs/cgroup/cpu/cgroup.procs"); err == nil {
		directory = "/sys/fs/cgroup/cpu" + path
	} else {
		directory = "/sys/fs/cgroup" + path
	}
	makeCgroup(t, directory)
	file, value := "cpu.cfs_quota_us", fmt.Sprint(quotaUS)
	if _, err := os.Stat(filepath.Join(directory, file)); err != nil {
		file, value = "cpu.max", strings.Replace(fmt.Sprintf("%d 100000", quotaUS), "-1", "max", 1)
	}
	if err := os.WriteFile(filepath.Join(directory, file), []byte(value), 0o644); err != nil {
		testenv.Skip(t, "the cpu controller is not available: %v", err)
	}
	return directory, path
}

// inCgroup is a wrap for startServer.
func inCgroup(directory string) []string {
	return []string{"sh", "-c", `echo $$ > "$0/cgroup.procs" && exec "$@"`, directory}
}
