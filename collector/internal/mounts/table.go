// Package mounts follows what is mounted in a mount namespace, and what an unmount does to the kernel's dentries.
package mounts

import (
	"strconv"
	"strings"
)

// Mount is a line of /proc/PID/mountinfo.
type Mount struct {
	ID     int
	Device string // "0:25": the file system, which can have several mounts
	Target string
	Type   string
}

// Parse reads a mountinfo: "36 35 98:0 /root /target options optional… - ext4 /dev/sda1 options". Lines that it does
// not understand are skipped.
func Parse(text string) map[int]Mount {
	found := make(map[int]Mount)
	for line := range strings.Lines(text) {
		before, after, ok := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		kind, _, _ := strings.Cut(after, " ")
		if !ok || len(fields) < 6 {
			continue
		}
		id, err := strconv.Atoi(fields[0])
		if err != nil {
			continue
		}
		found[id] = Mount{ID: id, Device: fields[2], Target: unescape(fields[4]), Type: strings.TrimSpace(kind)}
	}
	return found
}

// unescape reads the octal escapes of spaces, tabs, line ends and backslashes.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) {
			if code, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				out.WriteByte(byte(code))
				i += 3
				continue
			}
		}
		out.WriteByte(text[i])
	}
	return out.String()
}

// Gone is a mount that no longer exists.
type Gone struct {
	Mount
	Last bool // it was the last one of its file system, which is then shut down, unless something still uses it
}

// Compare lists the mounts of before that are missing in after.
func Compare(before, after map[int]Mount) []Gone {
	devices := make(map[string]struct{}, len(after))
	for _, mount := range after {
		devices[mount.Device] = struct{}{}
	}
	var gone []Gone
	for id, mount := range before {
		if now, ok := after[id]; ok && now.Device == mount.Device { // the kernel reuses IDs
			continue
		}
		_, left := devices[mount.Device]
		gone = append(gone, Gone{mount, !left})
	}
	return gone
}
