package node

import (
	"context"
	"path/filepath"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("host_cpu", func() sampler.Source { return &hostCPU{} }) }

// hostCPU samples the CPU time of the whole machine.
type hostCPU struct {
	stat, loadavg                                        procfs.Held
	user, system, irq, idle, iowait, steal, runnableSlot batch.Slot
	buffer                                               [512]byte // the first line is enough
	inKernel                                             systemCPU
}

func (h *hostCPU) Name() string { return "host_cpu" }

func (h *hostCPU) Start(_ context.Context, registry *sampler.Registry) error {
	var err error
	if h.stat, err = procfs.Hold(filepath.Join(registry.Roots.Proc, "stat")); err != nil {
		return &sampler.Unavailable{Detail: err.Error(), Needs: "a readable /proc/stat"}
	}
	h.loadavg = procfs.HoldIfExists(filepath.Join(registry.Roots.Proc, "loadavg"))
	series := func(metric uint32) batch.Slot { return registry.Series(batch.Node, metric) }
	h.user, h.system, h.irq = series(catalogue.HostUserUS), series(catalogue.HostSystemUS), series(catalogue.HostIRQUS)
	h.idle, h.iowait, h.steal = series(catalogue.HostIdleUS), series(catalogue.HostIowaitUS), series(catalogue.HostStealUS)
	h.runnableSlot = series(catalogue.HostRunnable)
	return nil
}

func (h *hostCPU) Sample(tick sampler.Tick, recorder *sampler.Recorder) {
	if text, ok := h.stat.Read(h.buffer[:]); ok {
		if cpu, ok := procfs.ParseHostCPU(text); ok {
			recorder.Delta(h.user, cpu.UserUS)
			recorder.Delta(h.system, cpu.SystemUS)
			recorder.Delta(h.irq, cpu.IRQUS)
			recorder.Delta(h.idle, cpu.IdleUS)
			recorder.Delta(h.iowait, cpu.IOWaitUS)
			recorder.Delta(h.steal, cpu.StealUS)
			kernel := cpu.SystemUS + cpu.IRQUS
			if h.inKernel.update(tick.EndUS()+tick.LatenessUS, kernel, kernel+cpu.UserUS+cpu.IdleUS+cpu.IOWaitUS+cpu.StealUS) {
				recorder.Trigger(batch.Node, "system_cpu", tick.StartUS)
			}
		}
	}
	if text, ok := h.loadavg.Read(h.buffer[:]); ok {
		if running, ok := procfs.ParseRunnable(text); ok {
			recorder.Set(h.runnableSlot, float64(running))
		}
	}
}

func (h *hostCPU) Close() error {
	h.stat.Close()
	h.loadavg.Close()
	return nil
}
