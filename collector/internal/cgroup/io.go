package cgroup

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/jitterscope/jitterscope/collector/internal/decimal"
)

// Device is a disk, identified by its numbers.
type Device struct{ Major, Minor uint32 }

func (d Device) String() string { return fmt.Sprintf("%d:%d", d.Major, d.Minor) }

// DeviceIO is what a cgroup did on a disk.
type DeviceIO struct {
	Device                Device
	ReadBytes, WriteBytes uint64
	Reads, Writes         uint64
}

// IOStat lists the disks of a cgroup. Disks that exceed its capacity are left out.
type IOStat struct {
	Disks [16]DeviceIO
	Count int
}

func (s *IOStat) of(device Device) *DeviceIO {
	for i := range s.Disks[:s.Count] {
		if s.Disks[i].Device == device {
			return &s.Disks[i]
		}
	}
	if s.Count == len(s.Disks) {
		return nil
	}
	s.Disks[s.Count] = DeviceIO{Device: device}
	s.Count++
	return &s.Disks[s.Count-1]
}

// ParseIOStat reads io.stat of v2 ("8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0").
func ParseIOStat(text []byte, stat *IOStat) {
	stat.Count = 0
	for len(text) > 0 {
		var line []byte
		line, text, _ = bytes.Cut(text, []byte{'\n'})
		device, rest, ok := parseDevice(line)
		if !ok {
			continue
		}
		var disk *DeviceIO
		for len(rest) > 0 {
			var field []byte
			field, rest, _ = bytes.Cut(rest, []byte{' '})
			key, number, found := bytes.Cut(field, []byte{'='})
			value, _, ok := decimal.Parse(number)
			if !found || !ok {
				continue
			}
			if disk == nil {
				if disk = stat.of(device); disk == nil {
					return
				}
			}
			switch string(key) {
			case "rbytes":
				disk.ReadBytes = value
			case "wbytes":
				disk.WriteBytes = value
			case "rios":
				disk.Reads = value
			case "wios":
				disk.Writes = value
			}
		}
	}
}

// ParseBlkio reads blkio.throttle.io_service_bytes and io_serviced of v1 ("8:0 Read 4096").
func ParseBlkio(bytesText, requestsText []byte, stat *IOStat) {
	stat.Count = 0
	parseBlkio(bytesText, stat, func(d *DeviceIO) (reads, writes *uint64) { return &d.ReadBytes, &d.WriteBytes })
	parseBlkio(requestsText, stat, func(d *DeviceIO) (reads, writes *uint64) { return &d.Reads, &d.Writes })
}

func parseBlkio(text []byte, stat *IOStat, fields func(*DeviceIO) (reads, writes *uint64)) {
	for len(text) > 0 {
		var line []byte
		line, text, _ = bytes.Cut(text, []byte{'\n'})
		device, rest, ok := parseDevice(line)
		kind, number, found := bytes.Cut(rest, []byte{' '})
		value, _, good := decimal.Parse(number)
		if !ok || !found || !good {
			continue
		}
		disk := stat.of(device)
		if disk == nil {
			return
		}
		reads, writes := fields(disk)
		switch string(kind) {
		case "Read":
			*reads = value
		case "Write":
			*writes = value
		}
	}
}

// parseDevice splits "MAJOR:MINOR " off a line.
func parseDevice(line []byte) (device Device, rest []byte, ok bool) {
	major, rest, ok := decimal.Parse(line)
	if !ok || len(rest) == 0 || rest[0] != ':' {
		return Device{}, nil, false
	}
	minor, rest, ok := decimal.Parse(rest[1:])
	if !ok || len(rest) == 0 || rest[0] != ' ' {
		return Device{}, nil, false
	}
	return Device{uint32(major), uint32(minor)}, rest[1:], true
}

// ParseDevice reads "MAJOR:MINOR", the content of a disk's dev file.
func ParseDevice(text []byte) (Device, bool) {
	device, _, ok := parseDevice(append(bytes.TrimSpace(text), ' '))
	return device, ok
}

// IOLimit are the limits of a cgroup on a disk, per second; 0: none.
type IOLimit struct {
	Device                Device
	ReadBytes, WriteBytes uint64
	Reads, Writes         uint64
}

// ReadIOLimits returns the limits by disk, none if there are none.
func ReadIOLimits(l Location) ([]IOLimit, error) {
	if l.IO == "" {
		return nil, ErrNoController
	}
	if l.Version == 2 {
		text, err := os.ReadFile(l.IO + "/io.max")
		if err != nil {
			return nil, err
		}
		return ParseIOMax(text), nil
	}
	found := make(map[Device]IOLimit)
	var failed error
	for name, set := range map[string]func(*IOLimit, uint64){
		"read_bps":   func(l *IOLimit, v uint64) { l.ReadBytes = v },
		"write_bps":  func(l *IOLimit, v uint64) { l.WriteBytes = v },
		"read_iops":  func(l *IOLimit, v uint64) { l.Reads = v },
		"write_iops": func(l *IOLimit, v uint64) { l.Writes = v },
	} {
		text, err := os.ReadFile(l.IO + "/blkio.throttle." + name + "_device")
		failed = errors.Join(failed, err)
		for _, line := range bytes.Split(text, []byte{'\n'}) {
			device, rest, ok := parseDevice(line)
			value, err := strconv.ParseUint(string(bytes.TrimSpace(rest)), 10, 64)
			if !ok || err != nil {
				continue
			}
			limit := found[device]
			limit.Device = device
			set(&limit, value)
			found[device] = limit
		}
	}
	return sorted(found), failed
}

// ParseIOMax reads io.max of v2 ("8:0 rbps=1048576 wbps=max riops=max wiops=max").
func ParseIOMax(text []byte) []IOLimit {
	found := make(map[Device]IOLimit)
	for _, line := range bytes.Split(text, []byte{'\n'}) {
		device, rest, ok := parseDevice(line)
		if !ok {
			continue
		}
		limit := IOLimit{Device: device}
		for _, field := range bytes.Fields(rest) {
			key, number, _ := bytes.Cut(field, []byte{'='})
			value, err := strconv.ParseUint(string(number), 10, 64)
			if err != nil { // max
				continue
			}
			switch string(key) {
			case "rbps":
				limit.ReadBytes = value
			case "wbps":
				limit.WriteBytes = value
			case "riops":
				limit.Reads = value
			case "wiops":
				limit.Writes = value
			}
		}
		found[device] = limit
	}
	return sorted(found)
}

func sorted(found map[Device]IOLimit) []IOLimit {
	limits := make([]IOLimit, 0, len(found))
	for _, limit := range found {
		limits = append(limits, limit)
	}
	slices.SortFunc(limits, func(a, b IOLimit) int {
		return cmp.Or(cmp.Compare(a.Device.Major, b.Device.Major), cmp.Compare(a.Device.Minor, b.Device.Minor))
	})
	return limits
}
