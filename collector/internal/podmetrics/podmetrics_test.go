package podmetrics

import (
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

type parser func(io.Reader, time.Time) (*Reading, error)

func read(t *testing.T, parse parser, file string) *Reading {
	t.Helper()
	text, err := os.Open(filepath.Join("testdata", file+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = text.Close() }()
	reading, err := parse(text, time.Unix(1_795_294_800, 0))
	if err != nil || !reading.Present {
		t.Fatalf("%s: %+v, %v", file, reading, err)
	}
	return reading
}

// valuesOf lists the values of an increment in seconds, sorted.
func valuesOf(i Increment) []float64 {
	var values []float64
	i.EachValue(func(us int64, count uint32) {
		for range count {
			values = append(values, float64(us)/1e6)
		}
	})
	slices.Sort(values)
	return values
}

func sum(values []float64) float64 {
	total := 0.0
	for _, value := range values {
		total += value
	}
	return total
}

// TestReleases reads pages from before and after the start of four pods whose durations are all known.
func TestReleases(t *testing.T) {
	sli := []float64{3.1, 3.4, 3.7, 5.6}
	total := []float64{3.1, 3.4, 3.7, 18.1}
	older := []float64{3.05, 3.35, 3.65, 18.05} // from when the kubelet saw the pod
	sandbox := []float64{1.9, 2.1, 2.2, 2.4}
	container := []float64{0.12, 0.124, 0.136, 0.18, 0.18, 0.186, 0.204, 0.27}
	load := []float64{0.9, 0.95, 1.1}
	for _, c := range []struct {
		name, version string
		parse         parser
		want          map[Phase][]float64
	}{
		{"kubelet-1.15.12", "v1.15.12", Kubelet, map[Phase][]float64{StartTotal: older, Sandbox: sandbox, ImagePull: {12.5}, ContainerStart: container}},
		{"kubelet-1.24.4-gke.300", "v1.24.4-gke.300", Kubelet, map[Phase][]float64{StartTotal: older, Sandbox: sandbox, ImagePull: {12.5}, ContainerStart: container}},
		{"kubelet-1.30.5", "v1.30.5", Kubelet, map[Phase][]float64{StartSLI: sli, StartTotal: total, Sandbox: sandbox, ImagePull: {12.5}, ContainerStart: container}},
		{"kubelet-1.36.1", "v1.36.1", Kubelet, map[Phase][]float64{StartSLI: sli, StartTotal: total, Sandbox: sandbox, ImagePull: {12.5}, ContainerStart: container}},
		{"cilium-1.4.9", "", Cilium, map[Phase][]float64{CNI: {0.02, 1.3, 1.4, 3.2}, BPFLoad: load, BPFCompile: {1.4}}},
		{"cilium-1.12.3", "", Cilium, map[Phase][]float64{CNI: {0.02, 1.3, 1.4, 3.2}, BPFLoad: load, BPFCompile: {1.4}}},
		{"cilium-1.14.1", "1.14.1", Cilium, map[Phase][]float64{CNI: {0.02, 1.3, 1.4, 3.2}, BPFLoad: load, BPFCompile: {1.4}}},
		{"cilium-1.19.3", "1.19.3", Cilium, map[Phase][]float64{CNI: {0.02, 1.3, 1.4, 3.2}, BPFLoad: load, BPFCompile: {1.4}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, after := read(t, c.parse, c.name+"-before"), read(t, c.parse, c.name+"-after")
			if after.Version != c.version {
				t.Errorf("version %q", after.Version)
			}
			for phase, want := range c.want {
				if after.Histograms[phase] == nil {
					t.Fatalf("phase %d is not there", phase)
				}
				grown := after.Histograms[phase].Since(before.Histograms[phase])
				got := valuesOf(grown)
				if len(got) != len(want) {
					t.Fatalf("phase %d: %v instead of %v", phase, got, want)
				}
				for i := range got {
					low, high := bucketOf(grown.Bounds, want[i])
					if got[i] < low-1e-6 || got[i] > min(high, 1e9)+1e-6 {
						t.Errorf("phase %d: %v is not in the bucket of %v, (%v, %v]", phase, got[i], want[i], low, high)
					}
				}
				// The old kubelets' buckets end at 10 s; the sum of values beyond that is still known.
				if math.Abs(sum(got)-sum(want)) > 0.02*sum(want) {
					t.Errorf("phase %d: the values add up to %v instead of %v", phase, sum(got), sum(want))
				}
			}
			for phase := range Phases {
				if _, ok := c.want[phase]; !ok && phase != Cgroup && after.Histograms[phase] != nil {
					t.Errorf("phase %d is there", phase)
				}
			}
		})
	}
}

func bucketOf(bounds []float64, value float64) (low, high float64) {
	for _, bound := range bounds {
		if value <= bound {
			return low, bound
		}
		low = bound
	}
	return low, math.Inf(1)
}

func kubelet(t *testing.T, text string) *Reading {
	t.Helper()
	reading, err := Kubelet(strings.NewReader(text), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return reading
}

const pods = `kubelet_pod_start_sli_duration_seconds_bucket{le="2"} 1
kubelet_pod_start_sli_duration_seconds_bucket{le="3"} 4
kubelet_pod_start_sli_duration_seconds_bucket{le="+Inf"} 4
kubelet_pod_start_sli_duration_seconds_sum 9
kubelet_pod_start_sli_duration_seconds_count 4
`

func TestOneValueIsExact(t *testing.T) {
	after := strings.NewReplacer("\"3\"} 4", "\"3\"} 5", "Inf\"} 4", "Inf\"} 5", "sum 9", "sum 11.123").Replace(pods)
	grown := kubelet(t, after).Histograms[StartSLI].Since(kubelet(t, pods).Histograms[StartSLI])
	if got := valuesOf(grown); len(got) != 1 || math.Abs(got[0]-2.123) > 1e-5 {
		t.Errorf("%v", got)
	}
}

// TestRestart: a restarted kubelet counts from 0; all that it reports is new.
func TestRestart(t *testing.T) {
	again := "kubelet_pod_start_sli_duration_seconds_bucket{le=\"2\"} 0\nkubelet_pod_start_sli_duration_seconds_bucket{le=\"3\"} 2\n" +
		"kubelet_pod_start_sli_duration_seconds_bucket{le=\"+Inf\"} 2\nkubelet_pod_start_sli_duration_seconds_sum 5.2\n"
	grown := kubelet(t, again).Histograms[StartSLI].Since(kubelet(t, pods).Histograms[StartSLI])
	if got := valuesOf(grown); len(got) != 2 || math.Abs(sum(got)-5.2) > 1e-5 {
		t.Errorf("%v", got)
	}
	if got := kubelet(t, pods).Histograms[StartSLI].Since(kubelet(t, pods).Histograms[StartSLI]); got.Total() != 0 {
		t.Errorf("%v where nothing started", got)
	}
}

// TestUselessSum: negative durations made the sum of a kubelet -1.8e10 s for 110 pods; the buckets are right.
func TestUselessSum(t *testing.T) {
	text := strings.Replace(pods, "sum 9", "sum -1.8446742887692856e+10", 1)
	got := valuesOf(kubelet(t, text).Histograms[StartSLI].Since(nil))
	if len(got) != 4 || got[0] != 1 || got[1] <= 2 || got[3] > 3 {
		t.Errorf("%v", got)
	}
}

func TestBeyondTheLastBound(t *testing.T) {
	text := `kubelet_pod_start_duration_seconds_bucket{le="10"} 2
kubelet_pod_start_duration_seconds_bucket{le="+Inf"} 3
kubelet_pod_start_duration_seconds_sum 50
`
	got := valuesOf(kubelet(t, text).Histograms[StartTotal].Since(nil))
	if len(got) != 3 || got[2] != 40 || got[1] > 10 {
		t.Errorf("%v", got)
	}
}

// TestOtherPages: pages with metrics that are not from a kubelet, or not from Cilium.
func TestOtherPages(t *testing.T) {
	text := "go_gc_duration_seconds_count 7\nhubble_flows_processed_total 3\nprocess_start_time_seconds 1.7e9\n"
	for _, parse := range []parser{Kubelet, Cilium} {
		reading, err := parse(strings.NewReader(text), time.Now())
		if err != nil || reading.Present {
			t.Errorf("%+v, %v", reading, err)
		}
	}
}

func FuzzKubelet(f *testing.F) {
	f.Add(pods)
	f.Add("kubelet_pod_start_sli_duration_seconds_bucket{le=\"NaN\"} 1e308\nkubelet_pod_start_sli_duration_seconds_bucket{le=\"-1\"} Inf\n")
	f.Fuzz(func(t *testing.T, text string) {
		reading, err := Kubelet(strings.NewReader(text), time.Now())
		if err != nil {
			return
		}
		for _, histogram := range reading.Histograms {
			if histogram != nil {
				grown := histogram.Since(nil)
				grown.EachValue(func(us int64, count uint32) {
					if count == 0 {
						t.Error("a value that nobody observed")
					}
				})
			}
		}
	})
}
