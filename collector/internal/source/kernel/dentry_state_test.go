package kernel

import (
	"fmt"
	"slices"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

func TestDentryLimitsOfKernels(t *testing.T) {
	for want, files := range map[string]map[string]string{
		"{}":                             {"sys/fs/dentry-state": "1\t1\t45\t0\t0\t0\n"},
		`{"fs.negative-dentry-limit":0}`: {"sys/fs/negative-dentry-limit": "0\n"}, // RHEL 7.8
		`{"fs.dentry-fs-klimit":40000}`:  {"sys/fs/dentry-fs-klimit": "40000\n"},  // RHEL 8.10
		`{"fs.dentry-negative":1}`:       {"sys/fs/dentry-negative": "1\n"},       // Linux 6.11
	} {
		if got := dentryLimitFact(sourcetest.Tree(t, files)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestDentryState(t *testing.T) {
	proc := sourcetest.Tree(t, map[string]string{"sys/fs/dentry-state": "33223\t28631\t45\t0\t6715\t0\n"})
	d := &dentryState{}
	r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Sources: []sampler.Source{d}})
	r.Ticks(1)
	r.Want(sourcetest.Node, catalogue.Dentries, 33223)
	r.Want(sourcetest.Node, catalogue.DentriesUnused, 28631)
	r.Want(sourcetest.Node, catalogue.DentriesNegative, 6715)
	if got := r.Fact(sourcetest.Node, catalogue.FactNodeDentryLimit); got != "{}" {
		t.Errorf("limit %s", got)
	}
	// For the source that runs after it in the same tick.
	if negative := d.shared.negative.Load(); negative != 6715 {
		t.Errorf("%d negative ones are shared", negative)
	}
	for tick := range 30 { // 10,000 more in each tick
		sourcetest.Write(t, proc, "sys/fs/dentry-state", fmt.Sprintf("33223\t28631\t45\t0\t%d\t0\n", 6715+10_000*tick))
		r.Ticks(1)
	}
	if got := r.Triggers(sourcetest.Node); !slices.Equal(got, []string{"dentry_growth"}) {
		t.Errorf("triggers %v", got)
	}
}
