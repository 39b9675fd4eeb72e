package cgroup

import (
	"bytes"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/jitterscope/jitterscope/collector/internal/cgroup"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
)

const mostDisks = 256

// disks are the counters of the node's disks, and their increase in the last tick. Lines keep their order between
// readings unless a disk appears or disappears: then the reading counts as the first one again.
type disks struct {
	file   procfs.Held
	all    [mostDisks]diskCounts
	count  int
	whole  atomic.Pointer[map[cgroup.Device]bool] // disks that are neither partitions nor composed of others; discovery
	buffer [64 << 10]byte
}

type diskCounts struct {
	device cgroup.Device
	total  diskUse // as the kernel counts
	did    diskUse // since the previous reading
	known  bool    // did is known
}

// diskUse is in units of /proc/diskstats.
type diskUse struct{ requests, bytes, requestMS, busyMS uint64 }

func (u diskUse) minus(before diskUse) diskUse {
	return diskUse{u.requests - before.requests, u.bytes - before.bytes, u.requestMS - before.requestMS, u.busyMS - before.busyMS}
}

func (u *diskUse) add(more diskUse) {
	u.requests += more.requests
	u.bytes += more.bytes
	u.requestMS += more.requestMS
	u.busyMS += more.busyMS
}

// read reads the counters; false if they cannot be read.
func (d *disks) read() bool {
	text, ok := d.file.Read(d.buffer[:])
	if !ok {
		return false
	}
	at := 0
	for len(text) > 0 && at < mostDisks {
		var disk procfs.Disk
		if disk, text, ok = procfs.NextDisk(text); !ok {
			continue
		}
		device := cgroup.Device{Major: disk.Major, Minor: disk.Minor}
		total := diskUse{disk.Requests, disk.Bytes, disk.RequestMS, disk.BusyMS}
		counts := &d.all[at]
		same := at < d.count && counts.device == device && total.requests >= counts.total.requests && total.busyMS >= counts.total.busyMS
		*counts = diskCounts{device: device, total: total, did: total.minus(counts.total), known: same}
		at++
	}
	d.count = at
	return true
}

// of is what a disk did since the previous reading.
func (d *disks) of(device cgroup.Device) (did diskUse, ok bool) {
	for i := range d.all[:d.count] {
		if d.all[i].device == device {
			return d.all[i].did, d.all[i].known
		}
	}
	return diskUse{}, false
}

// busiest is what the busiest whole disk did since the previous reading.
func (d *disks) busiest() (did diskUse, ok bool) {
	whole := d.whole.Load()
	for i := range d.all[:d.count] {
		one := &d.all[i]
		if !one.known || whole == nil || !(*whole)[one.device] {
			continue
		}
		if !ok || one.did.busyMS > did.busyMS || one.did.busyMS == did.busyMS && one.did.requests > did.requests {
			did, ok = one.did, true
		}
	}
	return did, ok
}

// list finds the whole disks, those with a device behind them.
func (d *disks) list(sys string) {
	whole := make(map[cgroup.Device]bool)
	entries, _ := os.ReadDir(filepath.Join(sys, "block"))
	for _, entry := range entries {
		folder := filepath.Join(sys, "block", entry.Name())
		if _, err := os.Stat(filepath.Join(folder, "device")); err != nil {
			continue // a loop device, a RAM disk, a volume composed of others
		}
		text, err := os.ReadFile(filepath.Join(folder, "dev"))
		if device, ok := cgroup.ParseDevice(text); err == nil && ok {
			whole[device] = true
		}
	}
	d.whole.Store(&whole)
}

// describe returns the name of a disk, and whether it is rotational ("1", "0", "" if unknown).
func describe(sys string, device cgroup.Device) (name, rotational string) {
	folder := filepath.Join(sys, "dev/block", device.String())
	target, err := os.Readlink(folder)
	if err != nil {
		return "", ""
	}
	text, err := os.ReadFile(filepath.Join(folder, "queue/rotational"))
	if err != nil { // a partition
		text, _ = os.ReadFile(filepath.Join(folder, "../queue/rotational"))
	}
	return filepath.Base(target), string(bytes.TrimSpace(text))
}
