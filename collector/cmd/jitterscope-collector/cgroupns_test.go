package main

import (
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const helperVariable = "JITTERSCOPE_TEST_CGROUP_NAMESPACE"

// TestCgroupNamespaceHelper runs in the namespaces that the test below creates.
func TestCgroupNamespaceHelper(t *testing.T) {
	mode := os.Getenv(helperVariable)
	if mode == "" {
		return
	}
	if mode == "enter" {
		enterNodeCgroupNamespace("/proc", slog.New(slog.NewTextHandler(io.Discard, nil)))
	}
	own, err := os.Readlink("/proc/self/ns/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	node, err := os.Readlink("/proc/1/ns/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("namespaces are the same: %t", own == node)
}

func TestRunsInTheCgroupNamespaceOfTheNode(t *testing.T) {
	// Process 1 of a PID namespace is "the node"; inside it the helper starts in its own cgroup namespace. The user
	// namespace makes this possible without root.
	inside := func(mode string, prefix ...string) string {
		arguments := append([]string{"--user", "--map-root-user", "--cgroup", "--pid", "--fork", "--kill-child", "--mount-proc",
			"sh", "-c", `unshare --cgroup "$@"; :`, "sh"}, prefix...)
		command := exec.Command("unshare", append(arguments, os.Args[0], "-test.run=^TestCgroupNamespaceHelper$", "-test.v")...)
		command.Env = append(os.Environ(), helperVariable+"="+mode)
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, output)
		}
		return string(output)
	}
	for _, c := range []struct {
		mode, want string
		prefix     []string
	}{
		{"stay", "same: false", nil},
		{"enter", "same: true", nil},
		{"enter", "same: false", []string{"setpriv", "--bounding-set=-sys_admin", "--inh-caps=-all"}}, // continues without
	} {
		if output := inside(c.mode, c.prefix...); !strings.Contains(output, "namespaces are the "+c.want) {
			t.Errorf("%s %v: %s", c.mode, c.prefix, output)
		}
	}
}
