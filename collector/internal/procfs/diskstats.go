package procfs

import (
	"bytes"

	"github.com/jitterscope/jitterscope/collector/internal/decimal"
)

// Disk is one line of /proc/diskstats. Format: Documentation/admin-guide/iostats.rst.
type Disk struct {
	Major, Minor uint32
	Name         []byte // a slice of the parsed text
	Requests     uint64 // reads, writes and, since Linux 5.5, flushes that completed
	Bytes        uint64 // of these
	RequestMS    uint64 // total time they took
	BusyMS       uint64 // time with requests in flight
}

const sectorBytes = 512

// NextDisk splits the first line off text. ok is false if the line does not have that form.
func NextDisk(text []byte) (disk Disk, rest []byte, ok bool) {
	line, rest, _ := bytes.Cut(text, []byte{'\n'})
	var fields [13]uint64 // without the name
	for i := range fields {
		line = bytes.TrimLeft(line, " ")
		if i == 2 {
			disk.Name, line, _ = bytes.Cut(line, []byte{' '})
		}
		if fields[i], line, ok = decimal.Parse(line); !ok {
			return Disk{}, rest, false
		}
	}
	disk.Major, disk.Minor = uint32(fields[0]), uint32(fields[1])
	disk.Requests = fields[2] + fields[6]
	disk.Bytes = (fields[4] + fields[8]) * sectorBytes
	disk.RequestMS = fields[5] + fields[9]
	disk.BusyMS = fields[11]
	var discards [4]uint64 // since Linux 4.18
	for i := range discards {
		if discards[i], line, ok = decimal.Parse(bytes.TrimLeft(line, " ")); !ok {
			return disk, rest, true
		}
	}
	if flushes, line, ok := decimal.Parse(bytes.TrimLeft(line, " ")); ok {
		tookMS, _, _ := decimal.Parse(bytes.TrimLeft(line, " "))
		disk.Requests += flushes
		disk.RequestMS += tookMS
	}
	return disk, rest, true
}
