package livetest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

func TestProber(t *testing.T) {
	t.Parallel()
	server := freeAddress(t, "127.0.0.1")
	startServer(t, nil, buildDNSServer(t), server)
	config := filepath.Join(t.TempDir(), "collector.toml")
	text := "[sources.dns_probe]\n"
	for _, name := range []string{"delay-15.example", "servfail", "drop", "nxdomain"} {
		text += fmt.Sprintf("[[sources.dns_probe.targets]]\nname = %q\nserver = %q\ninterval_ms = 100\ntimeout_ms = 300\n", name, server)
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o := observe(t, "dns_probe", "-config", config)
	o.needs("dns_probe")
	time.Sleep(4 * time.Second)
	o.stop()
	for name, fails := range map[string]bool{"delay-15.example": false, "servfail": true, "drop": true, "nxdomain": false} {
		key := name + "/A@" + server
		sent, failed := o.sum(key, catalogue.ProbeSent, time.Time{}.Add(time.Hour)), o.sum(key, catalogue.ProbeFailures, time.Time{}.Add(time.Hour))
		p50, answers := o.quantile(key, catalogue.ProbeLatencyUS, time.Time{}.Add(time.Hour), 0.5)
		if sent < 20 || sent > 45 {
			t.Errorf("%s: %v probes in 4 s", name, sent)
		}
		if fails && (failed < sent-5 || answers != 0) || !fails && (failed != 0 || float64(answers) < sent-5) {
			t.Errorf("%s: %v sent, %v failed, %d answered", name, sent, failed, answers)
		}
		if name == "delay-15.example" && (p50 < 15_000 || p50 > 25_000) {
			t.Errorf("median %v us of a server that takes 15 ms", p50)
		}
	}
}

func TestProberWithoutTargetsIsOff(t *testing.T) {
	t.Parallel()
	o := observe(t, "dns_probe,host_cpu")
	waitFor(t, "the other source runs", func() bool { return len(o.agent.Engine.Status()) > 0 })
	for _, status := range o.agent.Engine.Status() {
		if status.Name == "dns_probe" {
			t.Errorf("%v: nobody asked for probes, that is no fault", status)
		}
	}
	if detail := o.agent.Engine.Off()["dns_probe"]; detail == "" {
		t.Error("it does not say why it is off")
	}
}

func TestProberRefusesNonsense(t *testing.T) {
	t.Parallel()
	for name, target := range map[string]string{
		"type": `name = "a"` + "\ntype = \"NOSUCH\"", "name": `name = ""`, "key": `name = "a"` + "\nnosuch = 1",
	} {
		config := filepath.Join(t.TempDir(), "collector.toml")
		if err := os.WriteFile(config, []byte("[[sources.dns_probe.targets]]\nserver = \"127.0.0.1\"\n"+target+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		o := observe(t, "dns_probe,host_cpu", "-config", config)
		waitFor(t, "the source has a state", func() bool { return len(o.agent.Engine.Status()) == 2 })
		for _, status := range o.agent.Engine.Status() {
			refused := status.State == ingestpb.SourceState_SOURCE_STATE_UNAVAILABLE && status.Detail != ""
			if status.Name == "dns_probe" && !refused {
				t.Errorf("%s: accepted: %v", name, status)
			}
		}
		o.stop()
	}
}
