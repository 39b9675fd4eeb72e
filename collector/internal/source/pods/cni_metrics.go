package pods

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/gometrics"
	"github.com/jitterscope/jitterscope/collector/internal/podmetrics"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("cni_metrics", func() sampler.Source { return &cniMetrics{} }) }

// ciliumPorts are the ports on which agents serve metrics: since 1.12, before, and on GKE Dataplane V2.
var ciliumPorts = []uint16{9962, 9090, 9990}

const ciliumNeeds = "prometheus.enabled=true in Cilium's Helm values (--prometheus-serve-addr)"

// cniMetrics reads from the Cilium agent of this node how long the endpoints of new pods take.
type cniMetrics struct {
	page      podPage
	asking    sync.WaitGroup
	proc      string
	found     *gometrics.Page // nil: not found yet
	versionOf int             // the process whose version is known
}

// cniOptions are the [sources.cni_metrics] table.
type cniOptions struct {
	URL       string  `toml:"url"` // auto, off, or "http://127.0.0.1:9962"
	EverySecs float64 `toml:"every_s"`
}

func (c *cniMetrics) Name() string { return "cni_metrics" }

func (c *cniMetrics) Start(ctx context.Context, registry *sampler.Registry) error {
	options := cniOptions{URL: "auto", EverySecs: podPageEvery.Seconds()}
	if err := registry.Options(&options); err != nil {
		return err
	}
	every, err := podInterval(options.EverySecs)
	if err != nil {
		return err
	}
	c.proc = registry.Roots.Proc
	c.page = podPage{registry: registry, every: every, fact: catalogue.FactNodeCilium, needs: ciliumNeeds, read: c.local}
	switch options.URL {
	case "off":
		return &sampler.Off{Detail: "url is off in [sources.cni_metrics]"}
	case "auto":
		if !onKubernetes(c.proc) {
			return &sampler.Off{Detail: "this is not a node of a Kubernetes cluster"}
		}
	default:
		client := &http.Client{Timeout: 5 * time.Second}
		c.page.read = func(ctx context.Context) (*podmetrics.Reading, error) { return readCilium(ctx, client, options.URL) }
	}
	c.asking.Go(func() { c.page.loop(ctx) })
	return nil
}

// readCilium reads the page of an agent at a configured address.
func readCilium(ctx context.Context, client *http.Client, base string) (*podmetrics.Reading, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(base, "/")+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, errors.New(base + "/metrics answered " + response.Status)
	}
	return podmetrics.Cilium(io.LimitReader(response.Body, maxKubeletPage), time.Now())
}

// local reads the page of the agent that runs here; it returns a reading that is not Present if there is none.
func (c *cniMetrics) local(ctx context.Context) (*podmetrics.Reading, error) {
	if c.found == nil {
		pid := processNamed(c.proc, "cilium-agent")
		if pid == 0 {
			return &podmetrics.Reading{}, nil
		}
		c.askVersion(ctx, pid)
		page, err := gometrics.FindWith(ctx, c.proc, pid, ciliumPorts, func(ctx context.Context, page *gometrics.Page) bool {
			reading, err := ciliumPage(ctx, page)
			return err == nil && reading.Present
		})
		if err != nil || page == nil {
			return nil, errors.Join(errors.New("the Cilium agent serves no metrics"), err)
		}
		c.found = page
	}
	reading, err := ciliumPage(ctx, c.found)
	if err != nil {
		c.found.Close()
		c.found = nil
	}
	return reading, err
}

// askVersion records the agent's version, even if it serves no metrics.
func (c *cniMetrics) askVersion(ctx context.Context, pid int) {
	if pid == c.versionOf {
		return
	}
	version, err := ciliumVersion(ctx, c.proc, pid)
	if err != nil {
		return // not served yet, or not accessible: the page might contain it
	}
	c.versionOf = pid
	c.page.registry.Fact(batch.Node, catalogue.FactNodeCilium, version)
}

func ciliumPage(ctx context.Context, page *gometrics.Page) (reading *podmetrics.Reading, err error) {
	err = page.Get(ctx, func(text io.Reader) (err error) {
		reading, err = podmetrics.Cilium(text, time.Now())
		return err
	})
	return reading, err
}

// processNamed is the oldest process with this command name, 0 if there is none.
func processNamed(proc, name string) int {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return 0
	}
	lowest := 0
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || (lowest != 0 && pid > lowest) {
			continue
		}
		if text, err := os.ReadFile(filepath.Join(proc, entry.Name(), "comm")); err == nil && strings.TrimSpace(string(text)) == name {
			lowest = pid
		}
	}
	return lowest
}

func (c *cniMetrics) Sample(_ sampler.Tick, recorder *sampler.Recorder) { c.page.record(recorder) }

func (c *cniMetrics) Close() error {
	c.asking.Wait()
	if c.found != nil {
		c.found.Close()
	}
	return nil
}
