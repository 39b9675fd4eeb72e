package cgroup

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"strconv"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/oomlog"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("oom_record", func() sampler.Source { return &oomRecord{} }) }

// oomRecord reads in the kernel's log which process it killed for memory, and why. cgroup_memory, which counts the
// kills, makes the events; kills in cgroups that are not watched become events of the node.
type oomRecord struct {
	registry *sampler.Registry
	records  *oomRecords
	log      *oomlog.Log // nil if no device is available
	ended    chan struct{}
}

// oomRecordOptions is the table [sources.oom_record].
type oomRecordOptions struct {
	Device string `toml:"device"` // where the kernel's log is read; "": found; "syslog": no device, the system call
}

// oomPollEvery is how often the log is read as a whole if there is no device, for kills that no watched cgroup counts.
const oomPollEvery = 20 * time.Second

func (o *oomRecord) Name() string { return "oom_record" }

func (o *oomRecord) Start(ctx context.Context, registry *sampler.Registry) error {
	o.registry, o.records = registry, sharedOOMRecords(registry)
	var options oomRecordOptions
	if err := registry.Options(&options); err != nil {
		return err
	}
	log, err := openLog(options.Device, registry.Roots.Proc)
	o.ended = make(chan struct{})
	if err == nil {
		o.log, log.Others = log, o.other
		go func() {
			defer close(o.ended)
			_ = o.log.Each(o.found)
		}()
	} else {
		buffer, errBuffer := oomlog.OpenBuffer()
		if errBuffer != nil {
			return &sampler.Unavailable{
				Detail: errors.Join(err, errBuffer).Error() + "; OOM kills are counted, not described",
				Needs:  "/dev/kmsg, or CAP_SYSLOG if kernel.dmesg_restrict is set",
			}
		}
		go o.poll(ctx, buffer)
	}
	o.records.setActive()
	return nil
}

// openLog opens the device. A container that shares the host's PID namespace might reach the host's device.
func openLog(device, proc string) (*oomlog.Log, error) {
	switch device {
	case "":
		log, err := oomlog.Open("/dev/kmsg")
		if err != nil {
			if hosts, errHost := oomlog.Open(filepath.Join(proc, "1/root/dev/kmsg")); errHost == nil {
				return hosts, nil
			}
		}
		return log, err
	case "syslog":
		return nil, errors.New("no device is wanted")
	}
	return oomlog.Open(device)
}

// poll reads the log when a cgroup has counted a kill, and periodically.
func (o *oomRecord) poll(ctx context.Context, buffer *oomlog.Buffer) {
	defer close(o.ended)
	ticker := time.NewTicker(oomPollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.records.wanted:
		case <-ticker.C:
		}
		if err := buffer.Poll(o.found); err != nil {
			o.registry.Log.Warn("reading the kernel's log failed", "error", err)
		}
	}
}

func (o *oomRecord) found(kill oomlog.Kill) {
	now := nowUS()
	o.records.add(kill, now)
	if kill.Constraint != "memcg" && kill.Constraint != "" { // the memory of the node, or of some of its CPUs, ran out
		o.registry.Trigger(batch.Node, "oom_kill", now)
	}
}

// other reports which process dropped caches. The kernel logs that when it is done.
func (o *oomRecord) other(text []byte) {
	if drop, ok := oomlog.ParseDrop(text); ok {
		o.registry.Event(batch.Node, catalogue.EventFsDropCaches, nowUS(), 0, map[string]string{
			"command": drop.Command, "pid": strconv.Itoa(drop.PID), "what": strconv.Itoa(drop.What),
		})
	}
}

func (o *oomRecord) Sample(sampler.Tick, *sampler.Recorder) {}

// Discover makes events of the kills that no cgroup claimed.
func (o *oomRecord) Discover(context.Context) {
	watched := func(path string) bool {
		_, ok := o.registry.Cgroup(path)
		return ok
	}
	for _, record := range o.records.unclaimed(nowUS()-oomUnclaimedUS, watched) {
		attributes := killAttributes(&record.kill)
		attributes["count"] = "1"
		if record.kill.Cgroup != "" {
			attributes["cgroup"] = record.kill.Cgroup
		}
		resource := o.nearest(record.kill.Cgroup)
		if resource != batch.Node { // the counters of those above do not include it
			attributes["uncounted_by"] = "kernel_log"
			o.registry.Trigger(resource, "oom_kill", record.atUS)
		}
		o.registry.Event(resource, catalogue.EventMemoryOOMKill, record.atUS, 0, attributes)
	}
}

// nearest returns the watched cgroup that contains this one, or the node.
func (o *oomRecord) nearest(cgroup string) batch.ResourceID {
	for ; len(cgroup) > 1; cgroup = path.Dir(cgroup) {
		if group, ok := o.registry.Cgroup(cgroup); ok {
			return group.Resource
		}
	}
	return batch.Node
}

func (o *oomRecord) Close() error {
	var err error
	if o.log != nil {
		err = o.log.Close()
	}
	<-o.ended
	return err
}
