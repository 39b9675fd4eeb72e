package gometrics

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// TestPagesAreReadAsPrometheusReadsThem compares every sample of the recorded pages with Prometheus' own parser.
func TestPagesAreReadAsPrometheusReadsThem(t *testing.T) {
	pages, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../podmetrics/testdata/*.txt")
	if err != nil || len(pages) < 3 || len(more) < 10 {
		t.Fatalf("%d and %d pages, %v", len(pages), len(more), err)
	}
	for _, path := range append(pages, more...) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, path, string(text))
	}
	compare(t, "odd ones", `# TYPE a counter
a{x="}\"{,\\ y=\"",y=""} 1e-3 1700000000000
# a comment
a{y="2"}   NaN

b -Inf
c{ x = "1" , } 7
`)
}

func compare(t *testing.T, path, text string) {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	want := make(map[string]float64)
	for name, family := range families {
		for _, metric := range family.Metric {
			flatten(name, metric, want)
		}
	}
	got := make(map[string]float64)
	err = EachSample(strings.NewReader(text), func(name, labels, value []byte) {
		number, ok := Number(value)
		if !ok {
			t.Errorf("%s: %s is %q", path, name, value)
		}
		read := make(map[string]string)
		for key := range labelNames(string(labels)) {
			// As a page writes it; Prometheus' parser has removed the escapes.
			read[key] = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n").Replace(string(Label(labels, key)))
		}
		got[sampleKey(string(name), read)] = number
	})
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for key, value := range want {
		if other, ok := got[key]; !ok || other != value && !(math.IsNaN(other) && math.IsNaN(value)) {
			t.Errorf("%s: %s is %v (%v), want %v", path, key, other, ok, value)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d samples, want %d", path, len(got), len(want))
	}
}

// labelNames lists what precedes ="; good enough for the pages here, whose values contain no such text.
func labelNames(labels string) map[string]bool {
	names := make(map[string]bool)
	for _, name := range []string{"x", "y"} {
		if len(Label([]byte(labels), name)) > 0 {
			names[name] = true
		}
	}
	for _, part := range strings.Split(labels, `="`) {
		if at := strings.LastIndexAny(part, `", `); at >= 0 {
			part = part[at+1:]
		}
		if len(Label([]byte(labels), part)) > 0 {
			names[part] = true
		}
	}
	return names
}

func flatten(name string, metric *dto.Metric, into map[string]float64) {
	labels := make(map[string]string)
	for _, pair := range metric.Label {
		if pair.GetValue() != "" { // as if it were absent
			labels[pair.GetName()] = pair.GetValue()
		}
	}
	with := func(name, key string, number float64) string {
		more := maps.Clone(labels)
		more[key] = fmt.Sprint(number)
		if math.IsInf(number, 1) {
			more[key] = "+Inf"
		}
		return sampleKey(name, more)
	}
	switch {
	case metric.Histogram != nil:
		for _, bucket := range metric.Histogram.Bucket {
			into[with(name+"_bucket", "le", bucket.GetUpperBound())] = float64(bucket.GetCumulativeCount())
		}
		into[sampleKey(name+"_sum", labels)] = metric.Histogram.GetSampleSum()
		into[sampleKey(name+"_count", labels)] = float64(metric.Histogram.GetSampleCount())
	case metric.Summary != nil:
		for _, quantile := range metric.Summary.Quantile {
			into[with(name, "quantile", quantile.GetQuantile())] = quantile.GetValue()
		}
		into[sampleKey(name+"_sum", labels)] = metric.Summary.GetSampleSum()
		into[sampleKey(name+"_count", labels)] = float64(metric.Summary.GetSampleCount())
	case metric.Counter != nil:
		into[sampleKey(name, labels)] = metric.Counter.GetValue()
	case metric.Gauge != nil:
		into[sampleKey(name, labels)] = metric.Gauge.GetValue()
	default:
		into[sampleKey(name, labels)] = metric.Untyped.GetValue()
	}
}

// sampleKey writes bounds as numbers: "0.005" and "5e-03" are the same.
func sampleKey(name string, labels map[string]string) string {
	key := name
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		value := labels[label]
		if number, ok := Number([]byte(value)); ok && (label == "le" || label == "quantile") {
			value = fmt.Sprint(number)
		}
		key += fmt.Sprintf(" %s=%q", label, value)
	}
	return key
}
