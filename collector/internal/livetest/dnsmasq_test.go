package livetest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/deathsig"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// dnsmasq returns a dnsmasq and the environment that it needs: JITTERSCOPE_DNSMASQ, the installed one, or Debian's,
// unpacked at first use into the cache that the labs also use. Nothing is installed.
func dnsmasq(t testing.TB) (binary string, environment []string) {
	t.Helper()
	if given := os.Getenv("JITTERSCOPE_DNSMASQ"); given != "" {
		return given, nil
	}
	for _, installed := range []string{"/usr/sbin/dnsmasq", "/usr/local/sbin/dnsmasq"} {
		if _, err := os.Stat(installed); err == nil {
			return installed, nil
		}
	}
	return packaged(t, "dnsmasq-base", "usr/sbin/dnsmasq")
}

// packaged unpacks a Debian package into the cache at first use, and returns a program in it and the environment to set
// so that it finds its libraries.
func packaged(t testing.TB, name, program string) (binary string, environment []string) {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(cache, "jitterscope", "packages", name)
	if _, err := os.Stat(folder); err != nil {
		unpackPackage(t, name, folder)
	}
	libraries, err := filepath.Glob(filepath.Join(folder, "usr/lib/*-linux-*"))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, program), []string{"LD_LIBRARY_PATH=" + strings.Join(libraries, ":")}
}

// unpackPackage downloads a Debian package with those dependencies that are not installed.
func unpackPackage(t testing.TB, name, folder string) {
	t.Helper()
	archives := t.TempDir()
	if err := os.MkdirAll(filepath.Join(archives, "partial"), 0o755); err != nil {
		t.Fatal(err)
	}
	arguments := []string{"-q", "-y", "--no-install-recommends", "--download-only", "-o", "Debug::NoLocking=1", "-o", "Dir::Cache::archives=" + archives, "install", name}
	out, err := exec.Command("apt-get", arguments...).CombinedOutput()
	if err != nil && os.Geteuid() == 0 {
		_ = exec.Command("apt-get", "-q", "update").Run() // the lists can be missing, or name a file that was replaced
		out, err = exec.Command("apt-get", arguments...).CombinedOutput()
	}
	if err != nil {
		testenv.Skip(t, "%s cannot be downloaded: %v: %s", name, err, out)
	}
	files, err := filepath.Glob(filepath.Join(archives, "*.deb"))
	if err != nil || len(files) == 0 {
		testenv.Skip(t, "apt-get downloaded nothing: %s", out)
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		t.Fatal(err)
	}
	partial, err := os.MkdirTemp(filepath.Dir(folder), filepath.Base(folder)+".")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(partial) }()
	for _, file := range files {
		if out, err := exec.Command("dpkg-deb", "-x", file, partial).CombinedOutput(); err != nil {
			testenv.Skip(t, "%s: %v: %s", file, err, out)
		}
	}
	if err := os.Chmod(partial, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(partial, folder); err != nil { // another test was faster
		if _, missing := os.Stat(folder); missing != nil {
			t.Fatal(err)
		}
	}
}

// startDnsmasq runs a dnsmasq as kube-dns does; it forwards everything to upstream.
func startDnsmasq(t testing.TB, wrap []string, address, upstream string, more ...string) *exec.Cmd {
	t.Helper()
	binary, environment := dnsmasq(t)
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	line := append(append([]string{}, wrap...), binary, "-k", "--cache-size=1000", "--no-negcache", "--log-facility=-", "--no-resolv",
		"--server="+strings.Replace(upstream, ":", "#", 1), "--listen-address="+host, "--port="+port, "--bind-interfaces",
		"--conf-file=/dev/null", "--no-hosts", "--user=root", "--group=root", "--pid-file=")
	line = append(line, more...)
	command := exec.Command(line[0], line[1:]...)
	command.Env = append(os.Environ(), environment...)
	command.SysProcAttr = &unix.SysProcAttr{Setpgid: true} // its children end with it
	if err := deathsig.Start(command); err != nil {
		testenv.Skip(t, "dnsmasq: %v", err)
	}
	t.Cleanup(func() {
		_ = unix.Kill(-command.Process.Pid, unix.SIGKILL)
		_ = command.Wait()
	})
	return command
}

// connect opens TCP connections to a server and returns them.
func connect(t testing.TB, server string, count int) []net.Conn {
	t.Helper()
	connections := make([]net.Conn, 0, count)
	for range count {
		c, err := net.DialTimeout("tcp", server, 10*time.Second) // the queue can be full until it is served
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		connections = append(connections, c)
	}
	return connections
}

// processOf finds the resource of the process below which a server was found.
func (o *observer) processOf(server string) string {
	if parents := o.parents(server); len(parents) > 1 {
		return parents[1]
	}
	return ""
}

// last is the newest value of a series.
func (o *observer) last(key string, metric uint32) float64 {
	points := o.series(key, metric)
	if len(points) == 0 {
		return -1
	}
	return points[len(points)-1].value
}

func isOf(process string, pid int) bool { return strings.HasPrefix(process, fmt.Sprint(pid, ":")) }

func split(t testing.TB, address string) (host, port string) {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return host, port
}
