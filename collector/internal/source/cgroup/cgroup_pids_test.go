package cgroup

import (
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

func TestCgroupPids(t *testing.T) {
	for version, file := range map[int]string{1: "pids/group000/pids.current", 2: "group000/pids.current"} {
		root := sourcetest.CgroupTree(t, version, 1)
		r := sourcetest.Start(t, sourcetest.Setup{Cgroup: root, Sources: []sampler.Source{&cgroupPids{}}})
		r.Ticks(1)
		sourcetest.Write(t, root, file, "12\n")
		r.Ticks(1)
		sourcetest.Write(t, root, file, "nonsense\n")
		r.Ticks(1)
		sourcetest.Write(t, root, file, "3\n")
		r.Ticks(1)
		r.Want("/group000", catalogue.PidsCurrent, 7, 12, 3)
	}
}
