package pods

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/kubeapi"
	"github.com/jitterscope/jitterscope/collector/internal/names"
	"github.com/jitterscope/jitterscope/collector/internal/podmetrics"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("kubelet_metrics", func() sampler.Source { return &kubeletMetrics{} }) }

const maxKubeletPage = 16 << 20

// kubeletMetrics reads from the kubelet of this node how long pods take to start, and the phases of that.
type kubeletMetrics struct {
	page   podPage
	asking sync.WaitGroup
}

// kubeletOptions are the [sources.kubelet_metrics] table.
type kubeletOptions struct {
	URL         string  `toml:"url"` // auto, off, or "https://127.0.0.1:10250"
	TokenFile   string  `toml:"token_file"`
	CAFile      string  `toml:"ca_file"`
	InsecureTLS bool    `toml:"insecure_tls"` // in many clusters the kubelet signs its own certificate
	EverySecs   float64 `toml:"every_s"`
}

func (k *kubeletMetrics) Name() string { return "kubelet_metrics" }

func (k *kubeletMetrics) Start(ctx context.Context, registry *sampler.Registry) error {
	options := kubeletOptions{
		URL: "auto", TokenFile: kubeapi.ServiceAccount + "/token", CAFile: kubeapi.ServiceAccount + "/ca.crt", EverySecs: podPageEvery.Seconds(),
	}
	if err := registry.Options(&options); err != nil {
		return err
	}
	every, err := podInterval(options.EverySecs)
	if err != nil {
		return err
	}
	kubelet := names.Kubelet{URL: options.URL, TokenFile: options.TokenFile, CAFile: options.CAFile, Insecure: options.InsecureTLS}
	get := kubelet.Read
	switch options.URL {
	case "off":
		return &sampler.Off{Detail: "url is off in [sources.kubelet_metrics]"}
	case "auto":
		if !onKubernetes(registry.Roots.Proc) {
			return &sampler.Off{Detail: "this is not a node of a Kubernetes cluster"}
		}
		host := cmp.Or(os.Getenv("JITTERSCOPE_NODE_IP"), "127.0.0.1")
		local := names.LocalKubelet{Host: host, Insecure: options.InsecureTLS, ServiceAccount: kubeapi.ServiceAccount}
		get = func(ctx context.Context, path string, parse func(io.Reader) error) error {
			err := local.Read(ctx, path, parse)
			if errors.Is(err, names.ErrAbsent) {
				return fmt.Errorf("no kubelet answers at %s, or there is no service account to access it", host)
			}
			return err
		}
	}
	k.page = podPage{
		registry: registry, every: every, fact: catalogue.FactNodeKubelet,
		needs: "a service account that can get nodes/metrics, or the kubelet's read-only port",
		read: func(ctx context.Context) (reading *podmetrics.Reading, err error) {
			err = get(ctx, "/metrics", func(text io.Reader) (err error) {
				reading, err = podmetrics.Kubelet(io.LimitReader(text, maxKubeletPage), time.Now())
				return err
			})
			return reading, err
		},
	}
	k.asking.Go(func() { k.page.loop(ctx) })
	return nil
}

func podInterval(seconds float64) (time.Duration, error) {
	if !(seconds >= 0.5 && seconds <= 3600) {
		return 0, fmt.Errorf("every_s is %g; it must lie between 0.5 and 3600", seconds)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// onKubernetes reports whether a kubelet might run here: this is a pod, or the kubelet's folder is on the node.
func onKubernetes(proc string) bool {
	for _, path := range []string{kubeapi.ServiceAccount + "/token", filepath.Join(proc, "1/root/var/lib/kubelet")} {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	return false
}

func (k *kubeletMetrics) Sample(_ sampler.Tick, recorder *sampler.Recorder) { k.page.record(recorder) }

func (k *kubeletMetrics) Close() error {
	k.asking.Wait()
	return nil
}
