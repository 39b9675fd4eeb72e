package livetest

import (
	"net"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// stopped stops a process for a while, does work meanwhile, and returns when the process was stopped.
func stopped(t *testing.T, command *exec.Cmd, duration time.Duration, work func()) time.Time {
	t.Helper()
	at := time.Now()
	if err := command.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	work()
	time.Sleep(time.Until(at.Add(duration)))
	if err := command.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	return at
}

// flood sends queries as fast as possible and does not wait for answers.
func flood(t *testing.T, server string, count int) {
	t.Helper()
	connection, err := net.Dial("udp", server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	message := new(dns.Msg)
	message.SetQuestion("flood.example.", dns.TypeA)
	for i := range count {
		message.Id = uint16(i)
		wire, err := message.Pack()
		if err != nil {
			t.Fatal(err)
		}
		_, _ = connection.Write(wire)
	}
}
