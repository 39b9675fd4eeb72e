package listening

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestOwnerAmong(t *testing.T) {
	manager := &Process{PID: 1, StartTicks: 1, Cgroup: "/init.scope"}
	master := &Process{PID: 20, StartTicks: 200, Cgroup: "/web"}
	worker := &Process{PID: 21, StartTicks: 210, Cgroup: "/web"}
	for _, c := range []struct {
		holders []*Process
		want    *Process
	}{
		{nil, nil}, {[]*Process{manager}, manager}, {[]*Process{worker, master}, master}, {[]*Process{manager, worker, master}, master},
	} {
		if got := ownerAmong(c.holders); got != c.want {
			t.Errorf("%v of %v", got, c.holders)
		}
	}
}

const listenOnly = "JITTERSCOPE_TEST_LISTEN"

// TestMain runs the tests or, for one of them, a program that listens and says where until its input ends.
func TestMain(m *testing.M) {
	if os.Getenv(listenOnly) == "" {
		os.Exit(m.Run())
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println("port", listener.Addr().(*net.TCPAddr).Port)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// listen starts that program and returns its port.
func listen(t *testing.T) uint16 {
	t.Helper()
	program := exec.Command(os.Args[0])
	program.Env = append(os.Environ(), listenOnly+"=1")
	input, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = input.Close()
		_ = program.Wait()
	})
	var port uint16
	if _, err := fmt.Fscanf(output, "port %d\n", &port); err != nil {
		t.Fatal(err)
	}
	return port
}

func TestANewServerIsFoundWhileTheFullSearchRests(t *testing.T) {
	scanner := NewScanner("/proc")
	defer scanner.Close()
	if _, err := scanner.Scan(t.Context(), false); err != nil {
		t.Skip(err)
	}
	for _, ns := range scanner.namespaces {
		ns.rest = time.Now().Add(time.Hour) // as after a search on a machine with very many descriptors
	}
	port := listen(t)
	sockets, _ := scanner.Scan(t.Context(), false)
	for _, socket := range sockets {
		if socket.Local.Port == port {
			return
		}
	}
	t.Errorf("nobody listens on port %d: %v", port, sockets)
}
