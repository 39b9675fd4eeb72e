package livetest

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/journaltest"
)

const kubeletVariable = "JITTERSCOPE_TEST_KUBELET_JOURNAL"

// TestKubeletHelper is the program that TestStartedPodsAreNamed starts under the name of a kubelet: it writes its input
// to the journal.
func TestKubeletHelper(t *testing.T) {
	journal := os.Getenv(kubeletVariable)
	if journal == "" {
		return
	}
	socket, err := net.Dial("unixgram", journal)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if _, err := fmt.Fprintf(socket, "MESSAGE=%s\n", lines.Text()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStartedPodsAreNamed has a kubelet log started pods, to a journal of the test's own.
func TestStartedPodsAreNamed(t *testing.T) {
	t.Parallel()
	run := journaltest.Start(t)
	binary := filepath.Join(t.TempDir(), "kubelet")
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(binary, self, 0o700); err != nil {
		t.Fatal(err)
	}
	kubelet := exec.Command(binary, "-test.run=^TestKubeletHelper$")
	kubelet.Env = append(os.Environ(), kubeletVariable+"="+run+"/systemd/journal/socket")
	log, err := kubelet.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := kubelet.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = log.Close()
		_ = kubelet.Wait()
	}()
	config := filepath.Join(t.TempDir(), "collector.toml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "[sources.pod_starts]\njournal_directory = %q\n", run+"/log/journal"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := observe(t, "pod_starts,self", "-config", config)
	events := func(pod string) (found []*ingestpb.Event) {
		o.each(func(b *ingestpb.Batch) {
			for _, event := range b.Events {
				if event.Kind == "pod.start" && event.Attributes["pod"] == pod {
					found = append(found, event)
				}
			}
		})
		return found
	}
	line := func(pod string) {
		created := time.Now().UTC().Truncate(time.Second).Add(-14 * time.Second)
		began, counted := created.Add(845*time.Millisecond), created.Add(13230915126)
		_, err := fmt.Fprintf(log, "I0225 19:30:12.230929    4509 pod_startup_latency_tracker.go:104] \"Observed pod startup duration\" pod=\"shop/%s\" "+
			"podStartSLOduration=2.471963941 podStartE2EDuration=\"13.230915126s\" podCreationTimestamp=%q firstStartedPulling=\"%s m=+2.98\" "+
			"lastFinishedPulling=\"%s m=+13.74\" observedRunningTime=\"%s m=+14.37\" watchObservedRunningTime=\"%s m=+14.37\"\n",
			pod, created, began, began.Add(10758951186), counted.Add(-134865), counted)
		if err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, "journalctl follows", func() bool {
		line("early")
		return len(events("early")) > 0
	})
	_, _ = fmt.Fprintln(log, `I0225 19:30:13.1 4509 kubelet.go:2] "SyncLoop ADD" source="api" pods=["shop/late"]`)
	line("late")
	waitFor(t, "the pod that started", func() bool { return len(events("late")) == 1 })
	event := events("late")[0]
	for name, want := range map[string]string{"namespace": "shop", "sli_us": "2471829", "total_us": "13230780", "image_pull_us": "10758951"} {
		if got := event.Attributes[name]; got != want {
			t.Errorf("%s: %q instead of %q", name, got, want)
		}
	}
	if event.DurationUs != 13230780 || time.Since(time.UnixMicro(event.StartUs)) > time.Minute {
		t.Errorf("%v", event)
	}
}
