package cgroup

import (
	"context"
	"path/filepath"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("psi", func() sampler.Source { return &psi{} }) }

// psi samples pressure stall totals of the node and of every cgroup in the v2 hierarchy, also next to v1 controllers.
type psi struct {
	registry *sampler.Registry
	node     pressureFiles
	set      sampler.Members[*sampler.Group, pressureFiles]
	buffer   [256]byte
}

// pressureFiles are the cpu, memory and io files of one resource.
type pressureFiles struct {
	files      [3]procfs.Held
	some, full [3]batch.Slot
}

var (
	pressureNames = [3]string{"cpu", "memory", "io"}
	pressureSome  = [3]uint32{catalogue.PSICPUSomeUS, catalogue.PSIMemorySomeUS, catalogue.PSIIOSomeUS}
	pressureFull  = [3]uint32{catalogue.PSICPUFullUS, catalogue.PSIMemoryFullUS, catalogue.PSIIOFullUS}
)

func (p *psi) Name() string { return "psi" }

func (p *psi) Start(_ context.Context, registry *sampler.Registry) error {
	p.registry = registry
	node := p.hold(batch.Node, false, filepath.Join(registry.Roots.Proc, "pressure")+"/", "")
	if node == nil {
		return &sampler.Unavailable{
			Detail: "/proc/pressure cannot be read", Needs: "Linux 4.20 with CONFIG_PSI, and psi=1 on the kernel command line if it is off by default",
		}
	}
	p.node = *node
	p.set = sampler.Members[*sampler.Group, pressureFiles]{Registry: registry, Open: p.open, Shut: (*pressureFiles).shut}
	registry.OnCgroups(p.set.Change)
	return nil
}

func (p *psi) open(group *sampler.Group) *pressureFiles {
	if group.Pressure == "" {
		return nil // v1 has no pressure files
	}
	return p.hold(group.Resource, group.Born, group.Pressure+"/", ".pressure")
}

// hold opens the files; nil if a first read returns nothing (PSI can be compiled in and turned off).
func (p *psi) hold(resource batch.ResourceID, born bool, prefix, suffix string) *pressureFiles {
	held := &pressureFiles{}
	any := false
	buffer := make([]byte, len(p.buffer))
	for i, name := range pressureNames {
		file := procfs.HoldIfExists(prefix + name + suffix)
		text, _ := file.Read(buffer)
		pressure, ok := procfs.ParsePressure(text)
		if !ok {
			file.Close()
			continue
		}
		any = true
		held.files[i] = file
		held.some[i] = p.registry.Counter(resource, pressureSome[i], born)
		if pressure.HasFull {
			held.full[i] = p.registry.Counter(resource, pressureFull[i], born)
		}
	}
	if !any {
		return nil
	}
	return held
}

func (f *pressureFiles) shut() {
	for i := range f.files {
		f.files[i].Close()
	}
}

func (p *psi) Sample(tick sampler.Tick, recorder *sampler.Recorder) {
	p.read(&p.node, recorder)
	for i, files := range p.set.All {
		if tick.Shed < sampler.ShedSlowGauges || tick.Due(i) {
			p.read(files, recorder)
		}
	}
}

func (p *psi) read(files *pressureFiles, recorder *sampler.Recorder) {
	for i := range files.files {
		text, ok := files.files[i].Read(p.buffer[:])
		if !ok {
			continue
		}
		if pressure, ok := procfs.ParsePressure(text); ok {
			recorder.Delta(files.some[i], pressure.SomeUS)
			recorder.Delta(files.full[i], pressure.FullUS)
		}
	}
}

func (p *psi) Close() error {
	p.node.shut()
	p.set.Close()
	return nil
}
