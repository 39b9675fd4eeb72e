package cgroup

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"strconv"
)

// CPULimits are the bandwidth settings of one cgroup.
type CPULimits struct {
	QuotaUS  int64 // CPU time per period; -1: no limit
	PeriodUS int64
	BurstUS  int64 // -1: the kernel has no burst (before Linux 5.14)
}

// ErrNoController is returned if the cgroup does not exist in the controller.
var ErrNoController = errors.New("the cgroup is not in this controller")

// ReadCPULimits reads the files of either version.
func ReadCPULimits(l Location) (CPULimits, error) {
	if l.CPU == "" {
		return CPULimits{}, ErrNoController
	}
	if l.Version == 2 {
		text, err := os.ReadFile(l.CPU + "/cpu.max")
		if err != nil {
			return CPULimits{}, err
		}
		limits, err := ParseCPUMax(text)
		limits.BurstUS = readInt(l.CPU + "/cpu.max.burst")
		return limits, err
	}
	quota, err := os.ReadFile(l.CPU + "/cpu.cfs_quota_us")
	if err != nil {
		return CPULimits{}, err
	}
	limits := CPULimits{BurstUS: readInt(l.CPU + "/cpu.cfs_burst_us"), PeriodUS: readInt(l.CPU + "/cpu.cfs_period_us")}
	limits.QuotaUS, err = strconv.ParseInt(string(bytes.TrimSpace(quota)), 10, 64)
	return limits, err
}

// ParseCPUMax reads cpu.max: "QUOTA PERIOD", where QUOTA can be "max".
func ParseCPUMax(text []byte) (CPULimits, error) {
	fields := bytes.Fields(text)
	if len(fields) != 2 {
		return CPULimits{}, errors.New("cpu.max: expected two fields")
	}
	limits := CPULimits{QuotaUS: -1, BurstUS: -1}
	var err error
	if string(fields[0]) != "max" {
		if limits.QuotaUS, err = strconv.ParseInt(string(fields[0]), 10, 64); err != nil {
			return CPULimits{}, err
		}
	}
	limits.PeriodUS, err = strconv.ParseInt(string(fields[1]), 10, 64)
	return limits, err
}

// Idle is the weight of a cgroup that runs only when no other one wants the CPU (cpu.idle, Linux 5.15).
const Idle = "idle"

// ReadCPUWeight returns the share of contended CPU on the scale of v2, where 100 is the default: "100", "0.195", or
// Idle. On v1 it converts cpu.shares, whose default is 1024 and whose minimum is 2.
func ReadCPUWeight(l Location) (string, error) {
	if l.CPU == "" {
		return "", ErrNoController
	}
	if readInt(l.CPU+"/cpu.idle") == 1 {
		return Idle, nil
	}
	name, scale := "/cpu.weight", 1.0
	if l.Version == 1 {
		name, scale = "/cpu.shares", 100.0/1024
	}
	text, err := os.ReadFile(l.CPU + name)
	if err != nil {
		return "", err
	}
	value, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	if err != nil {
		return "", err
	}
	return strconv.FormatFloat(math.Round(float64(value)*scale*1000)/1000, 'f', -1, 64), nil
}

// v1NoLimit is what v1 writes for "no limit": the largest multiple of the page size below 2^63.
const v1NoLimit = 1 << 62

// ReadMemoryLimit returns the limit in bytes, -1 for none.
func ReadMemoryLimit(l Location) (int64, error) {
	if l.Memory == "" {
		return 0, ErrNoController
	}
	name := "/memory.limit_in_bytes"
	if l.Version == 2 {
		name = "/memory.max"
	}
	return readLimit(l.Memory + name)
}

// ReadMemoryHigh reads memory.high in bytes; -1: no limit. Version 1 has none.
func ReadMemoryHigh(l Location) (int64, error) {
	if l.Memory == "" || l.Version != 2 {
		return 0, ErrNoController
	}
	return readLimit(l.Memory + "/memory.high")
}

func readLimit(path string) (int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	text = bytes.TrimSpace(text)
	if string(text) == "max" {
		return -1, nil
	}
	value, err := strconv.ParseInt(string(text), 10, 64)
	if err == nil && value >= v1NoLimit {
		value = -1
	}
	return value, err
}

// readInt returns -1 if the file does not exist or holds no number.
func readInt(path string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return -1
	}
	value, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	if err != nil {
		return -1
	}
	return value
}

// Vanished reports whether err means that the cgroup was removed while it was read.
func Vanished(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoDevice) }
