// Package nss inspects the Network Security Services (libnss3) that a running process has loaded: NSS times lookups of
// made-up names when it opens its database, depending on its version, an environment variable and the file system.
package nss

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jitterscope/jitterscope/collector/internal/mounts"
)

// Info describes the NSS of a process. Env is NSS_SDB_USE_CACHE, nil if it is not set.
type Info struct {
	Version    string  `json:"version"`
	Env        *string `json:"env,omitempty"`
	FileSystem string  `json:"file_system,omitempty"`
}

// MadeUp is part of every name that NSS looks up to time it (lib/softoken/sdb.c).
var MadeUp = []byte("_dOeSnotExist_")

const (
	variable = "NSS_SDB_USE_CACHE="
	// In the read-only data of libsoftokn3, which holds the database code, and of libnss3.
	marker     = "Version: NSS "
	mostBytes  = 64 << 20 // of a library
	chunkBytes = 64 << 10
)

// Inspect reads what a process under proc (/proc) has loaded, and the type of the file system that contains path, one
// of the names it looked up. It returns false if the process has no NSS loaded or was gone before it was read:
// short-lived programs often are.
func Inspect(proc string, pid uint32, path string) (Info, bool) {
	dir := filepath.Join(proc, strconv.FormatUint(uint64(pid), 10))
	maps, err := os.ReadFile(filepath.Join(dir, "maps"))
	if err != nil {
		return Info{}, false
	}
	library := libraryIn(string(maps))
	if library == "" {
		return Info{}, false
	}
	// First what disappears with the process; its files stay.
	environment, err := os.ReadFile(filepath.Join(dir, "environ"))
	if err != nil {
		return Info{}, false
	}
	mountinfo, err := os.ReadFile(filepath.Join(dir, "mountinfo"))
	if err != nil {
		return Info{}, false
	}
	version := versionOf(filepath.Join(dir, "root", library))
	if version == "" {
		return Info{}, false
	}
	return Info{version, ValueIn(environment), fileSystemOf(mounts.Parse(string(mountinfo)), path)}, true
}

// libraryIn finds the mapped file with NSS's database code, or else NSS itself.
func libraryIn(maps string) string {
	found := ""
	for line := range strings.Lines(maps) {
		at := strings.IndexByte(line, '/')
		if at < 0 {
			continue
		}
		file := strings.TrimSpace(line[at:])
		switch name := filepath.Base(file); {
		case strings.HasPrefix(name, "libsoftokn3.so"):
			return file
		case strings.HasPrefix(name, "libnss3.so"):
			found = file
		}
	}
	return found
}

// ValueIn is NSS_SDB_USE_CACHE in the contents of /proc/PID/environ, its first 64 bytes; nil if it is not set.
func ValueIn(environment []byte) *string {
	for entry := range bytes.SplitSeq(environment, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(variable)); ok {
			text := string(value[:min(len(value), 64)])
			return &text
		}
	}
	return nil
}

// versionOf finds "3.87.1" after the marker in a file; empty if there is none.
func versionOf(file string) string {
	opened, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer func() { _ = opened.Close() }()
	return versionIn(io.LimitReader(opened, mostBytes))
}

func versionIn(from io.Reader) string {
	const most = 16 // of a version
	buffer := make([]byte, 0, chunkBytes+len(marker)+most)
	for {
		kept := len(buffer)
		read, err := io.ReadFull(from, buffer[kept:kept+chunkBytes])
		buffer = buffer[:kept+read]
		last := err != nil
		if at := bytes.Index(buffer, []byte(marker)); at >= 0 && (last || at+len(marker)+most <= len(buffer)) {
			text := buffer[at+len(marker):]
			end := 0
			for end < len(text) && end < most && (text[end] == '.' || '0' <= text[end] && text[end] <= '9') {
				end++
			}
			return strings.Trim(string(text[:end]), ".")
		}
		if last {
			return ""
		}
		// What might be its beginning is kept for the next round.
		keep := min(len(buffer), len(marker)+most)
		buffer = append(buffer[:0], buffer[len(buffer)-keep:]...)
	}
}

// fileSystemOf is the type of the file system that contains path; empty if path is relative.
func fileSystemOf(table map[int]mounts.Mount, path string) string {
	if !strings.HasPrefix(path, "/") {
		return ""
	}
	best, kind := -1, ""
	for id, mount := range table {
		under := mount.Target == "/" || path == mount.Target || strings.HasPrefix(path, mount.Target+"/")
		// Of several mounts on one target the last one covers the others.
		if weight := len(mount.Target)<<20 + id; under && weight > best {
			best, kind = weight, mount.Type
		}
	}
	return kind
}
