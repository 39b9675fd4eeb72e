package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/jitterscope/jitterscope/collector/bench/alternating"
	"github.com/jitterscope/jitterscope/collector/internal/deathsig"
)

const corednsVersion = "v1.12.0"

// findCoreDNS returns the given executable, or builds one into the cache that the labs use too.
func findCoreDNS(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	directory := filepath.Join(cache, "jitterscope", "bin")
	installed := filepath.Join(directory, "coredns-"+corednsVersion)
	if _, err := os.Stat(installed); err == nil {
		return installed, nil
	}
	building := filepath.Join(directory, fmt.Sprintf("building-%d", os.Getpid()))
	if err := os.MkdirAll(building, 0o755); err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(building) }()
	install := exec.Command("go", "install", "github.com/coredns/coredns@"+corednsVersion)
	install.Env = append(os.Environ(), "GOBIN="+building, "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	if out, err := install.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go install coredns: %w: %s", err, out)
	}
	return installed, os.Rename(filepath.Join(building, "coredns"), installed)
}

// server is a running CoreDNS under load.
type server struct {
	command *exec.Cmd
	address *net.UDPAddr
	load    *load
}

const hosts = 1000

// startCoreDNS serves a thousand names, as a small cluster has.
func startCoreDNS(executable, directory string) (*server, error) {
	address, err := freePort()
	if err != nil {
		return nil, err
	}
	var names strings.Builder
	for i := range hosts {
		fmt.Fprintf(&names, "10.0.%d.%d host%d.bench.test\n", i/256, i%256, i)
	}
	hostsFile, corefile := filepath.Join(directory, "hosts"), filepath.Join(directory, "Corefile")
	configuration := fmt.Sprintf("bench.test:%d {\n bind 127.0.0.1\n errors\n hosts %s {\n  no_reverse\n }\n}\n", address.Port, hostsFile)
	if err := os.WriteFile(hostsFile, []byte(names.String()), 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(corefile, []byte(configuration), 0o600); err != nil {
		return nil, err
	}
	s := &server{command: exec.Command(executable, "-conf", corefile), address: address}
	s.command.Env = append(os.Environ(), "GOMAXPROCS=1") // it has one CPU
	if err := deathsig.Start(s.command); err != nil {
		return nil, err
	}
	s.load, err = connect(address.AddrPort())
	if err != nil {
		s.stop()
	}
	return s, err
}

func freePort() (*net.UDPAddr, error) {
	connection, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer func() { _ = connection.Close() }()
	return connection.LocalAddr().(*net.UDPAddr), nil
}

// cpuTime is the CPU time of the server so far.
func (s *server) cpuTime() (time.Duration, error) {
	return alternating.ProcessTime(s.command.Process.Pid)
}

func (s *server) stop() {
	if s.load != nil {
		s.load.close()
	}
	_ = s.command.Process.Kill()
	_ = s.command.Wait()
}
