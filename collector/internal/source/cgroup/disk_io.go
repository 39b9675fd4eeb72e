package cgroup

import (
	"context"
	"encoding/json"
	"path/filepath"
	"sync/atomic"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/cgroup"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("disk_io", func() sampler.Source { return &diskIO{} }) }

// diskIO samples what cgroups do on disks, and the disks: the one each cgroup uses most, and the busiest of the node.
type diskIO struct {
	registry *sampler.Registry
	set      sampler.Members[*sampler.Group, ioGroup]
	disks    disks
	pace     sampler.Pace
	node     diskSeries
	epoch    uint64
	bytes    [8192]byte
	requests [8192]byte
	stat     cgroup.IOStat
}

type ioGroup struct {
	*sampler.Group
	stat, serviced procfs.Held // v1: bytes and requests
	slots          [4]batch.Slot
	disk           diskSeries
	device         cgroup.Device // that the counters below refer to; the one that is recorded
	used           cgroup.DeviceIO
	last           [len(cgroup.IOStat{}.Disks)]cgroup.DeviceIO
	lasts          int
	known          bool
	activeUntil    uint64                        // tick
	current        atomic.Pointer[cgroup.Device] // for discovery
	told           *cgroup.Device                // discovery
}

// diskSeries are the counters of a disk as one resource sees it; which disk that is can change.
type diskSeries struct {
	slots [4]batch.Slot
	total diskUse
}

func (d *diskIO) Name() string { return "disk_io" }

func (d *diskIO) Start(_ context.Context, registry *sampler.Registry) error {
	var err error
	if d.disks.file, err = procfs.Hold(filepath.Join(registry.Roots.Proc, "diskstats")); err != nil {
		return &sampler.Unavailable{Detail: err.Error(), Needs: "a readable /proc/diskstats"}
	}
	d.registry = registry
	d.disks.list(registry.Roots.Sys)
	d.node = newDiskSeries(registry, batch.Node)
	d.set = sampler.Members[*sampler.Group, ioGroup]{Registry: registry, Open: d.open, Shut: (*ioGroup).shut}
	registry.OnCgroups(d.set.Change)
	return nil
}

func newDiskSeries(registry *sampler.Registry, resource batch.ResourceID) diskSeries {
	var made diskSeries
	for i, metric := range [4]uint32{catalogue.DiskBusyUS, catalogue.DiskRequests, catalogue.DiskRequestUS, catalogue.DiskBytes} {
		made.slots[i] = registry.Counter(resource, metric, true)
	}
	return made
}

func (s *diskSeries) record(did diskUse, recorder *sampler.Recorder) {
	s.total.add(did)
	for i, value := range [4]uint64{s.total.busyMS * 1000, s.total.requests, s.total.requestMS * 1000, s.total.bytes} {
		recorder.Delta(s.slots[i], value)
	}
}

func (d *diskIO) open(group *sampler.Group) *ioGroup {
	if group.IO == "" {
		return nil
	}
	g := &ioGroup{Group: group}
	if group.Version == 2 {
		g.stat = procfs.HoldIfExists(group.IO + "/io.stat")
	} else {
		g.stat = procfs.HoldIfExists(group.IO + "/blkio.throttle.io_service_bytes")
		g.serviced = procfs.HoldIfExists(group.IO + "/blkio.throttle.io_serviced")
	}
	if !g.stat.Open() {
		g.shut()
		return nil
	}
	for i, metric := range [4]uint32{catalogue.DiskReadBytes, catalogue.DiskWrittenBytes, catalogue.DiskReads, catalogue.DiskWrites} {
		g.slots[i] = d.registry.Counter(group.Resource, metric, true)
	}
	g.disk = newDiskSeries(d.registry, group.Resource)
	return g
}

func (g *ioGroup) shut() {
	g.stat.Close()
	g.serviced.Close()
}

// activeTicks is how long a cgroup that used a disk is read at each tick; others are read once a second.
const activeTicks = 100

func (d *diskIO) Sample(tick sampler.Tick, recorder *sampler.Recorder) {
	disks := false
	if d.pace.Begin(tick, 2) {
		disks = d.disks.read()
		d.pace.End()
	}
	if did, known := d.disks.busiest(); disks && known {
		d.node.record(did, recorder)
	}
	for i, g := range d.set.All {
		active := tick.Sequence < g.activeUntil
		if active && disks {
			if did, known := d.disks.of(g.device); known {
				g.disk.record(did, recorder)
			}
		}
		if (!active || tick.Shed >= sampler.ShedSlowGauges) && !tick.Due(i) || !d.readStat(g) {
			continue
		}
		before := g.used
		g.choose(&d.stat)
		if g.device == (cgroup.Device{}) {
			continue // it has not used any disk yet
		}
		if g.used != before {
			g.activeUntil = tick.Sequence + activeTicks
		}
		for i, value := range [4]uint64{g.used.ReadBytes, g.used.WriteBytes, g.used.Reads, g.used.Writes} {
			recorder.Delta(g.slots[i], value)
		}
	}
}

func (d *diskIO) readStat(g *ioGroup) bool {
	text, ok := g.stat.Read(d.bytes[:])
	if !ok {
		return false
	}
	if g.Version == 2 {
		cgroup.ParseIOStat(text, &d.stat)
		return true
	}
	requests, _ := g.serviced.Read(d.requests[:])
	cgroup.ParseBlkio(text, requests, &d.stat)
	return true
}

// choose updates what the cgroup did on each disk. The cgroup is assigned to the disk with most of its requests ever,
// so that a burst elsewhere does not change it.
func (g *ioGroup) choose(stat *cgroup.IOStat) {
	most, at := uint64(0), -1
	for i := range stat.Disks[:stat.Count] {
		if done := stat.Disks[i].Reads + stat.Disks[i].Writes; done > most {
			most, at = done, i
		}
	}
	if at >= 0 && stat.Disks[at].Device != g.device {
		g.device = stat.Disks[at].Device
		device := g.device
		g.current.Store(&device)
	}
	for i := range stat.Disks[:stat.Count] {
		if now := stat.Disks[i]; now.Device == g.device {
			g.add(now)
		}
	}
	g.lasts = copy(g.last[:], stat.Disks[:stat.Count])
	g.known = true
}

// add counts what was done on the disk since the last reading; at the first one nothing is known, except that a new
// cgroup began at zero.
func (g *ioGroup) add(now cgroup.DeviceIO) {
	before, found := cgroup.DeviceIO{}, false
	for i := range g.last[:g.lasts] {
		if g.last[i].Device == now.Device {
			before, found = g.last[i], true
		}
	}
	if !found && !g.known && !g.Born || now.Reads < before.Reads || now.Writes < before.Writes {
		return
	}
	g.used.ReadBytes += now.ReadBytes - before.ReadBytes
	g.used.WriteBytes += now.WriteBytes - before.WriteBytes
	g.used.Reads += now.Reads - before.Reads
	g.used.Writes += now.Writes - before.Writes
}

// limitFact is an entry of the fact disk.limits.
type limitFact struct {
	Device        string `json:"device"`
	Number        string `json:"number"`
	ReadBytes     uint64 `json:"read_bytes_per_s,omitempty"`
	WriteBytes    uint64 `json:"write_bytes_per_s,omitempty"`
	ReadRequests  uint64 `json:"reads_per_s,omitempty"`
	WriteRequests uint64 `json:"writes_per_s,omitempty"`
}

// Discover records the limits and the disk of each cgroup as facts.
func (d *diskIO) Discover(context.Context) {
	d.disks.list(d.registry.Roots.Sys)
	epoch := d.registry.CgroupEpoch()
	changed := epoch != d.epoch
	d.epoch = epoch
	for _, g := range d.set.List() {
		if changed {
			d.tellLimits(g)
		}
		if current := g.current.Load(); current != nil && current != g.told {
			g.told = current
			name, rotational := describe(d.registry.Roots.Sys, *current)
			for fact, value := range map[string]string{catalogue.FactDiskDevice: name, catalogue.FactDiskRotational: rotational} {
				if value != "" {
					d.registry.Fact(g.Resource, fact, value)
				}
			}
		}
	}
}

func (d *diskIO) tellLimits(g *ioGroup) {
	limits, err := cgroup.ReadIOLimits(g.Location)
	if err != nil {
		return
	}
	told := make([]limitFact, 0, len(limits))
	for _, limit := range limits {
		name, _ := describe(d.registry.Roots.Sys, limit.Device)
		told = append(told, limitFact{name, limit.Device.String(), limit.ReadBytes, limit.WriteBytes, limit.Reads, limit.Writes})
	}
	if text, err := json.Marshal(told); err == nil {
		d.registry.Fact(g.Resource, catalogue.FactDiskLimits, string(text))
	}
}

func (d *diskIO) Close() error {
	d.disks.file.Close()
	d.set.Close()
	return nil
}
